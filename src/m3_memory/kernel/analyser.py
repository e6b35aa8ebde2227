"""Text to tokens: one analyser for both engines, for documents and for questions.

What a token is made of, so that any index can hold it: letters, marks and digits of any script, pictographs,
and `.` between two digits. No white space, quotes, colons, control characters; MAX_TOKEN_CHARACTERS at most.

* Compatibility forms, case and accents are folded; zero-width and bidi marks vanish; English is stemmed.
* An identifier or path is given whole and in parts. Its whole is its parts without punctuation, except that
  two digits are kept apart by `.`: `foo::bar` is `foobar`, `LED-4102` is `led4102`, `12:30` is `12.30`. So
  `e-mail` finds `email`, and `getusername` finds `getUserName` and `get_user_name`.
* A number of two to four parts is given with its beginnings: 3.11 finds 3.11.7, but 3.11.7 not 3.11.
* Scripts written without spaces (Chinese, Japanese, Korean, Thai …) become pairs of characters; documents
  hold the single characters too, so that a question of one character finds them.
* An emoji is one token a pictograph; other symbols and punctuation are not searchable.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2s
from itertools import pairwise

from m3_memory.kernel.stemmer import stem
from m3_memory.kernel.stopwords import STOP_WORDS
from m3_memory.kernel.text import WITHOUT_INVISIBLE

MAX_TOKEN_CHARACTERS = 64
MARK_PREFIX = "@"
"""No token of a text holds this character: no text can pretend to be in an audience, or said by somebody."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff"  # Thai, Lao, Myanmar, Hangul letters, Khmer
    "\u3005-\u3007\u3041-\u312f\u3131-\u318e\u31f0-\u31ff"  # kana, bopomofo, Hangul compatibility letters
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_PICTOGRAPHS = "\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_MARKS = "\u0900-\u0963\u0966-\u096f\u0971-\u0dff"  # Indic vowel signs, for re no word characters
_LETTER = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}])"
_CONNECTORS = r"[._/\\:'@-]"

_ASCII_CHUNK = re.compile(rf"[A-Za-z0-9]+(?:{_CONNECTORS}+[A-Za-z0-9]+)*")
_CHUNK = re.compile(rf"[{_UNSPACED}]+|[{_PICTOGRAPHS}]|{_LETTER}+(?:{_CONNECTORS}+{_LETTER}+)*")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_SEGMENT_END = re.compile(r"[/\\:@]+")
_WORD_END = re.compile(rf"{_CONNECTORS}+")
_CONTRACTION = re.compile(r"'(?:s|ll|re|ve|d|m)(?![^\W_])", re.IGNORECASE)
_NEGATION = re.compile(r"n't(?![^\W_])", re.IGNORECASE)
_CHAIN = re.compile(r"(?<!\d)(?<!\d[.-])(\d+(?:[.-]\d+){1,3})(?:(?=T\d)|(?![^\W_]|[.-]\d))", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RUN = re.compile(r"\d+|\D+")
_VERSION = re.compile(r"v(\d+)")

_FOLDED = {
    **WITHOUT_INVISIBLE,
    **dict.fromkeys(
        (*range(0x0300, 0x0370), *range(0x064B, 0x0660), 0x0670, 0x0640, *range(0x0591, 0x05C8)), None
    ),
    **{zero + digit: str(digit) for zero in (0x0660, 0x06F0) for digit in range(10)},
    **str.maketrans("łŁøØđĐðÐħĦıŧŦ’ʼ", "lLoOdDdDhHitT''"),
    **{
        ord(letter): plain
        for letter, plain in {"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th"}.items()
    },
}


def analyse(text: str) -> list[str]:
    """The tokens of a document, in order; one that stands there again is given again."""
    return _tokens(text, is_query=False)


def query_terms(text: str) -> list[str]:
    """The distinct tokens of a question, in order, without stop words unless it has no others.

    Each is among the tokens of a document of the same text. Empty if nothing in it is searchable.
    """
    terms = list(dict.fromkeys(_tokens(text, is_query=True)))
    return [term for term in terms if term not in STOP_WORDS] or terms


def audience_token(number: int) -> str:
    """The token that stands for an audience in a word index."""
    return f"{MARK_PREFIX}{number}"


def _tokens(text: str, *, is_query: bool) -> list[str]:
    if text.isascii():
        chunks = _ASCII_CHUNK.findall(text)
    else:
        folded = unicodedata.normalize("NFKD", text).translate(_FOLDED)
        chunks = _CHUNK.findall(unicodedata.normalize("NFC", folded))
    tokens: list[str] = []
    for chunk in chunks:
        tokens += (
            _short_chunk(chunk, is_query) if len(chunk) <= MAX_TOKEN_CHARACTERS else _chunk(chunk, is_query)
        )
    return tokens


def _chunk(chunk: str, is_query: bool) -> tuple[str, ...]:
    if _IS_UNSPACED.match(chunk):
        return _unspaced(chunk, is_query)
    if "'" in chunk:
        chunk = _NEGATION.sub("nt", _CONTRACTION.sub("", chunk))
    words = _words(chunk)
    if len(words) == 1:
        return _word(words[0], is_query)
    tokens = [_whole(words)]
    for segment in _SEGMENT_END.split(chunk):
        tokens += _segment(segment, is_query)
    return tuple(dict.fromkeys(tokens))


_short_chunk = lru_cache(maxsize=16_384)(_chunk)


def _segment(segment: str, is_query: bool) -> list[str]:
    words = _words(segment)
    tokens = [_whole(words)] if len(words) > 1 else []
    chained: set[str] = set()
    for chain in _CHAIN.finditer(segment):
        numbers = re.split("[.-]", chain[1])
        chained.update(numbers)
        shortest = len(numbers) if is_query else 1
        tokens += [_whole(numbers[:count]) for count in range(shortest, len(numbers) + 1)]
    for word in words:
        if not (is_query and word in chained):
            tokens += _word(word, is_query)
    return tokens


def _words(segment: str) -> list[str]:
    return [word for word in _WORD_END.split(segment) if word]


def _word(word: str, is_query: bool) -> tuple[str, ...]:
    """One word without punctuation: whole, and by its humps and its runs of letters and digits."""
    whole = _token(word)
    humps = _HUMP.split(word)
    if len(humps) > 1:
        return (whole, *(token for hump in humps for token in _word(hump, is_query)))
    if word.isalpha() or word.isdigit():
        return (whole,)
    if version := _VERSION.fullmatch(word.casefold()):
        return (whole,) if is_query else (whole, _token(version[1]))
    runs = _RUN.findall(word)
    if len(runs) <= 3 and all(run.isdigit() or len(run) > 1 for run in runs):
        return (whole, *map(_token, runs))
    return (whole,)


def _unspaced(run: str, is_query: bool) -> tuple[str, ...]:
    pairs = tuple(first + second for first, second in pairwise(run))
    return pairs if pairs and is_query else (*pairs, *run)


def _whole(words: list[str]) -> str:
    whole = words[0]
    for word in words[1:]:
        whole += f".{word}" if whole[-1].isdigit() and word[0].isdigit() else word
    return _token(whole)


def _token(word: str) -> str:
    folded = word.casefold()
    if len(folded) > MAX_TOKEN_CHARACTERS:
        digest = blake2s(folded.encode(), digest_size=8).hexdigest()
        return folded[: MAX_TOKEN_CHARACTERS - len(digest)] + digest
    return stem(folded) if folded.isascii() and folded.isalpha() else folded
