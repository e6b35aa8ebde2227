"""Text to word pieces as BERT's models were trained on, each word with its place in the text.

Source: J. Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (2019), section 3, and
the WordPiece segmentation of Y. Wu et al., "Google's Neural Machine Translation System" (2016), section 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, normalize

LONGEST_WORD = 100  # characters; a longer one is a single unknown piece, as in training
CACHED_WORDS = 8192
CACHED_CHARACTERS = 4096

_SPACES = " \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PUNCTUATION = r"!-/:-@\[-`{-~"
_RUN = re.compile(f"[{_PUNCTUATION}]|[^{_PUNCTUATION}{_SPACES}]+")
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class Word(NamedTuple):
    """A stretch of the text, `text[start:end]`, and the numbers of its pieces (at least one)."""

    start: int
    end: int
    pieces: tuple[int, ...]


class WordPiece:
    """A vocabulary and its rules. Safe to call from several threads.

    What stands in the text never becomes a special piece: `[SEP]` in a text is five ordinary words. Read is
    lower case without accents.
    Raises ValueError for a vocabulary without `[UNK]`, `[CLS]` or `[SEP]`.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._longest_piece = max(map(len, vocabulary))
        missing = [piece for piece in ("[UNK]", "[CLS]", "[SEP]") if piece not in self._numbers]
        if missing:
            raise ValueError(f"the vocabulary has no {' and no '.join(missing)}")
        self._unknown = (self._numbers["[UNK]"],)
        self.opening = (self._numbers["[CLS]"],)
        self.closing = (self._numbers["[SEP]"],)
        self._known: Callable[[str], tuple[int, ...]] = lru_cache(CACHED_WORDS)(self._segmented)

    def words(self, text: str) -> list[Word]:
        """The words of `text` in order.

        A word does not depend on its neighbours: a text cut where a word starts keeps its words.
        """
        found: list[Word] = []
        for match in _RUN.finditer(text):
            run = match.group()
            if run.isascii() and run.isprintable():
                found.append(Word(match.start(), match.end(), self._pieces(run.lower())))
            else:
                found.extend(self._split(run, match.start()))
        return found

    def _split(self, run: str, offset: int) -> Iterator[Word]:
        start, letters = 0, ""
        for place, character in enumerate(run):
            if not _stands_alone(character):
                letters += _folded(character)
                continue
            if letters:
                yield Word(offset + start, offset + place, self._pieces(letters))
            yield Word(offset + place, offset + place + 1, self._pieces(_folded(character)))
            start, letters = place + 1, ""
        if letters:
            yield Word(offset + start, offset + len(run), self._pieces(letters))

    def _pieces(self, word: str) -> tuple[int, ...]:
        return self._known(word) if len(word) <= LONGEST_WORD else self._unknown

    def _segmented(self, word: str) -> tuple[int, ...]:
        """The longest known piece first, then the longest that continues it; all or unknown."""
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(min(len(word), start + self._longest_piece), start, -1):
                number = self._numbers.get(mark + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(pieces)


@lru_cache(CACHED_CHARACTERS)
def _folded(character: str) -> str:
    """The character in lower case without accents; empty for what is not text."""
    if character == "\ufffd" or category(character).startswith("C"):
        return ""
    bare = "".join(part for part in normalize("NFD", character) if category(part) != "Mn")
    return "".join(part.lower() for part in bare)


@lru_cache(CACHED_CHARACTERS)
def _stands_alone(character: str) -> bool:
    """Whether the character is a word by itself: punctuation, or an ideograph."""
    if any(first <= ord(character) <= last for first, last in _IDEOGRAPHS):
        return True
    folded = _folded(character)
    return bool(folded) and _is_punctuation(folded[0])


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return category(character).startswith("P")
