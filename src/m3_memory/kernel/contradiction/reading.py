"""A text as a comparison reads it: tokens with classes, values in canonical form, and cues."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from m3_memory.kernel.contradiction import words
from m3_memory.kernel.contradiction.cues import CHANGES, cues_of
from m3_memory.kernel.normal import LOOK_ALIKES, normal_form
from m3_memory.kernel.stemmer import stem
from m3_memory.kernel.text import WITHOUT_UNSEEN

READ_CHARACTERS = 4_000
"""Longer texts are read by their beginnings; they are only ever the same, or distinct."""

_TOKEN = re.compile(
    r"""(?P<path>[a-z][a-z0-9+.-]{0,20}://[^\s,;)`"']{0,300}\w/?|[~.]{0,2}/[\w.@~+*/{}-]{0,200}\w/?
            |[\w.@-]{0,60}\w/[\w.@+*/<>-]{0,200}[\w>]/?
            |[a-zA-Z][\w-]{0,60}(?:\.[\w-]{1,60}){0,6}:\d{2,5}(?!\w))
      |(?P<date>\d{4}-\d\d-\d\d)
      |(?P<clock>\d{1,2}:\d\d)
      |(?P<chain>v\d+(?:\.\d+)*(?!\w)|\d+(?:\.\d+){2,}\w*)
      |(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?P<suffix>%|[^\W\d_]\w*)?
      |(?P<code>\#\d+|--[a-z][\w-]*|\w+(?:\.\w+)+|\w*_\w+|[^\W\d_]+\d\w*)
      |(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)
      |(?P<mark>->|→|[:=%€$£.;!?])""",
    re.VERBOSE,
)
_POSSESSIVE = re.compile(r"['’]s?$")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)$")

QUANTITIES = frozenset({"time", "size", "rate", "share", "money", "length"})
VALUES = QUANTITIES | {"number", "date", "day", "clock", "path", "code"}
"""Kinds of tokens that are values by their form alone."""
CONTENT = VALUES | {"word", "name", "state"}


class Token(NamedTuple):
    key: str
    """Equal for tokens that say the same."""
    kind: str
    text: str
    is_part: bool = False
    """Whether it is one part of a name of several, joined by hyphens."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One text, read."""

    normal: str
    is_whole: bool
    tokens: tuple[Token, ...]
    keys: frozenset[str]
    content: frozenset[str]
    """The keys of all that carries meaning."""
    boundary: int
    """Where what is said of the subject begins: the first verb or colon; the number of tokens if none."""
    cues: frozenset[str]
    negations: int
    weight: float
    qualifiers: dict[int | str, frozenset[str]]
    """Per group of qualifiers, which of its members stand here."""
    kinds: dict[str, str]
    labels: dict[str, frozenset[str]]
    """For each value, the content words beside it."""
    endings: tuple[int, ...]
    """The places of words that say that something ended."""

    @property
    def is_said_to_be(self) -> bool:
        """Whether the verb is a form of `be`."""
        return any(token.text.lower() in _COPULAS for token in self.tokens[self.boundary : self.boundary + 1])

    @property
    def verb(self) -> str:
        """The verb, or the mark in its place; with a form of `be` the participle after it, if one follows."""
        said = [token.text.lower() for token in self.tokens[self.boundary : self.boundary + 2]]
        is_passive = len(said) > 1 and self.is_said_to_be and said[1].endswith(_PARTICIPLE)
        return said[is_passive] if said else ""


_COPULAS = frozenset("is are was were be".split())
_PARTICIPLE = ("ed", "en", "lt", "pt", "nt")


@lru_cache(maxsize=2_048)
def read(text: str) -> Reading:
    """The text, read. Kept for the latest texts."""
    start = text[:READ_CHARACTERS]
    plain = start if start.isascii() and start.isprintable() else _plain(start)
    tokens = _joined(_raw_tokens(plain))
    kinds = {token.key: token.kind for token in tokens if token.kind in CONTENT}
    cues = cues_of(plain)
    return Reading(
        normal=normal_form(text),
        is_whole=start == text,
        tokens=tuple(tokens),
        keys=frozenset(token.key for token in tokens),
        content=frozenset(kinds),
        boundary=_boundary(tokens),
        cues=cues,
        negations=sum(token.kind == "negation" for token in tokens),
        weight=sum(WEIGHTS.get(kind, 1.0) for kind in kinds.values()),
        qualifiers=_qualifiers(tokens),
        kinds=kinds,
        labels=_labels(tokens),
        endings=_endings(tokens, cues),
    )


WEIGHTS = {"name": 1.5, "path": 1.5, "code": 1.5, "state": 0.5} | dict.fromkeys(QUANTITIES, 0.5)
"""How much a token of a kind tells about the subject; 1 for others."""


_PLAIN = {
    **WITHOUT_UNSEEN,
    **{ord(raised): f"^{digit}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{0x2080 + digit: f"_{digit}" for digit in range(10)},
    **LOOK_ALIKES,
    **{ord(chr(letter).upper()): ord(chr(like).upper()) for letter, like in LOOK_ALIKES.items()},
}


def _plain(text: str) -> str:
    """Without invisible marks, full-width forms and look-alikes of Latin letters; case as it is.

    Raised and lowered digits stay what they are: a power is no digit more. In a word with Latin letters a
    letter of another script is taken for one of them, also where it is too common to be so in its own.
    """
    latin = _MIXED.sub(lambda word: word[0].translate(_IN_LATIN), text)
    return unicodedata.normalize("NFKC", latin.translate(_PLAIN))


_IN_LATIN = str.maketrans("пոօսұηїάⲟᎪƒ", "nnouuniaoAf")
_MIXED = re.compile(rf"\b(?=\w*[a-zA-Z])(?=\w*[{''.join(map(chr, _IN_LATIN))}])\w+")


def _raw_tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    starts_sentence = True
    for found in _TOKEN.finditer(text):
        kind, said = found.lastgroup or "", found[0]
        kind = "number" if kind == "suffix" else kind
        if kind == "word":
            tokens += _part(said, found, starts_sentence) or _worded(said, starts_sentence)
        elif kind == "number":
            tokens += _number(found["number"], found["suffix"] or "")
        elif kind == "chain":
            tokens.append(Token(said.lower().removeprefix("v"), "number", said))
        elif kind in ("path", "code"):
            tokens.append(Token(said.lower().rstrip("/"), kind, said))
        else:
            tokens.append(Token(said, kind, said))
        starts_sentence = said in _SENTENCE_ENDS
    return tokens


_SENTENCE_ENDS = frozenset(".;!?")


_ELIDED = frozenset("dlmosty")
"""Letters that are small words somewhere, or beside an apostrophe; alone they name one of several."""


def _part(said: str, found: re.Match[str], starts_sentence: bool) -> list[Token]:
    """The token of a word in a compound; empty for one that stands alone, or is a number's or a date's.

    Whatever the word is elsewhere, in `de-api`, `invoice-api` or `api-no` it is a piece of the name.
    """
    start, text = found.start(), found.string
    if "-" not in (text[start - 1 : start], text[found.end() : found.end() + 1]):
        return []
    before = _PART_BEFORE.search(text[max(0, start - 20) : start])
    behind = _PART_BEHIND.match(text, found.end())
    if not (before or behind):
        return []
    lower = normal_form(_POSSESSIVE.sub("", said))
    if said[:1].isupper() and (lower in words.MONTHS or lower in words.WEEKDAYS):
        return []
    beside = [each[1].lower() for each in (before, behind) if each]
    if lower in words.NUMBERS and any(each in _NUMERIC for each in beside):
        return []
    key = stem(lower) if lower.isascii() else lower
    kind = "name" if said[:1].isupper() and not starts_sentence else "word"
    return [Token(key, kind, said, is_part=True)]


_PART_BEFORE = re.compile(r"(\w+)-$")
_PART_BEHIND = re.compile(r"-(\w+)")
_NUMERIC = words.NUMBERS.keys() | words.UNITS.keys() | words.MULTIPLIERS.keys()


def _worded(said: str, starts_sentence: bool) -> list[Token]:
    lower = said.lower()
    if lower.endswith(("n't", "n’t")):
        return [_word(said[:-3], starts_sentence), Token("not", "negation", "not")]
    if len(said) == 1 and lower in _ELIDED:
        return [Token(lower, "name", said)]
    return [_word(_POSSESSIVE.sub("", said.split("’")[0].split("'")[0]) or said, starts_sentence)]


def _word(said: str, starts_sentence: bool) -> Token:
    lower = normal_form(said)
    if lower in words.MONTHS and said[:1].isupper():
        return Token(f"month{words.MONTHS[lower]}", "date", said)
    if lower in words.WEEKDAYS:
        return Token(f"day{words.WEEKDAYS[lower]}", "day", said)
    if lower in words.NUMBERS:
        return Token(str(words.NUMBERS[lower]), "numeral", said)
    root = stem(lower) if lower.isascii() else lower
    if root in words.NEGATIONS:
        return Token("not", "negation", said)
    if state := words.STATES.get(lower):
        group, member = state
        return Token(f"{group}:{member}", "state", said)
    if root in words.FUNCTION and not (
        said.isupper() and (len(said) > 1 or _is_label(said, starts_sentence))
    ):
        return Token(root, "function", said)
    if root in words.LIGHT and lower not in words.QUALIFIERS:
        return Token(root, "light", said)
    root = words.SYNONYMS.get(lower, root)
    is_name = (
        said[:1].isupper()
        and not starts_sentence
        and lower not in words.SYNONYMS
        and lower not in words.QUALIFIERS
    )
    return Token(root, "name" if is_name else "word", said)


def _is_label(letter: str, starts_sentence: bool) -> bool:
    """Whether a capital by itself names one of several, as in "service A"."""
    return letter != "I" and not starts_sentence


def _number(digits: str, suffix: str) -> list[Token]:
    plain = digits.replace(",", "")
    if not suffix or _ORDINAL.fullmatch(suffix):
        return [Token(plain, "number", digits)]
    lower = suffix.lower()
    if lower in words.UNITS or lower in words.MULTIPLIERS:
        return [Token(plain, "number", digits), Token(lower, "unit", suffix)]
    return [Token(f"{plain}{lower}", "code", digits + suffix)]


def _joined(raw: list[Token]) -> list[Token]:
    """Number words to numbers, numbers and units to quantities, days and months to dates."""
    tokens: list[Token] = []
    place = 0
    while place < len(raw):
        token = raw[place]
        if (
            token.text.lower() == "one"
            and not token.is_part
            and (place + 1 == len(raw) or raw[place + 1].kind not in _COUNTED)
        ):
            token = token._replace(key="one", kind="function")
        if token.kind in ("number", "numeral"):
            place = _quantity(raw, place, tokens)
            continue
        place += 1
        if token.text in _CURRENCIES and place < len(raw) and raw[place].kind == "number":
            amount = raw[place]
            tokens.append(Token(f"money{float(amount.key):g}", "money", token.text + amount.text))
            place += 1
        elif token.kind != "mark" or token.text in _DIVIDERS:
            is_state = (
                token.key == "on" and not token.is_part and bool(tokens) and tokens[-1].text in _SWITCHED
            )
            tokens.append(Token(_STATE_ON, "state", "on") if is_state else token)
    return tokens


_STATE_ON = f"{words.STATES['enabled'][0]}:{words.STATES['enabled'][1]}"
_COUNTED = frozenset({"word", "name", "unit", "numeral", "code"})
_CURRENCIES = frozenset("€$£")
_DIVIDERS = frozenset((":", "->", "→", "="))


def _quantity(raw: list[Token], place: int, tokens: list[Token]) -> int:
    """Reads one number and what belongs to it; returns the place after it."""
    end, value, in_words = _counted(raw, place)
    key = f"{value:g}" if in_words else raw[place].key
    text = " ".join(part.text for part in raw[place:end])
    following = raw[end].text.lower() if end < len(raw) else ""
    if unit := words.UNITS.get(following):
        said = f"{text} {raw[end].text}"
        tokens.append(Token(f"{unit[0]}{value * unit[1]:g}", unit[0], said))
        return end + 1
    if end < len(raw) and raw[end].kind == "date" and following in words.MONTHS:
        tokens.append(Token(f"date{words.MONTHS[following]}-{key}", "date", f"{text} {raw[end].text}"))
        return end + 1
    if tokens and tokens[-1].key.startswith("month") and value <= 31 and not in_words:
        month = tokens.pop()
        tokens.append(Token(f"date{month.key[5:]}-{key}", "date", f"{month.text} {text}"))
        return end
    is_year = len(key) == 4 and 1990 <= value <= 2100 and not in_words
    tokens.append(Token(f"year{key}" if is_year else key, "date" if is_year else "number", text))
    return end


def _counted(raw: list[Token], place: int) -> tuple[int, float, bool]:
    """Where a number ends, what it comes to, and whether words are part of it."""
    value, in_words, end = 0.0, raw[place].kind == "numeral", place
    if not in_words:
        value, end = float(raw[place].key) if raw[place].key.count(".") < 2 else 0.0, place + 1
    while end < len(raw):
        part = raw[end]
        if part.kind == "numeral" and in_words:
            value += float(part.key)
        elif end > place and (factor := words.MULTIPLIERS.get(part.text.lower())):
            value, in_words = max(value, 1) * factor, True
        elif not (in_words and part.text == "and" and _follows_numeral(raw, end)):
            break
        end += 1
    return end, value, in_words


def _follows_numeral(raw: list[Token], place: int) -> bool:
    return place + 1 < len(raw) and raw[place + 1].kind == "numeral"


def _boundary(tokens: list[Token]) -> int:
    least = 2 if tokens and tokens[0].key == "to" else 1
    for place, token in enumerate(tokens):
        if place >= least and (token.kind == "mark" or _is_verb(tokens, place)):
            return place
    return len(tokens)


def _is_verb(tokens: list[Token], place: int) -> bool:
    """A known verb that follows no article, or a word in -s after a word and before a small word or a number:
    `the client ticks at`.
    """
    token = tokens[place]
    if token.is_part:
        return False
    if token.text.lower() in _DIVIDING:
        return tokens[place - 1].key not in _DETERMINERS or tokens[place - 1].is_part
    return (
        token.kind in ("word", "light")
        and token.text.endswith("s")
        and not token.text.endswith("ss")
        and tokens[place - 1].kind in ("word", "name", "code")
        and place + 1 < len(tokens)
        and (tokens[place + 1].kind in VALUES or tokens[place + 1].key in _AFTER_VERBS)
    )


_SWITCHED = frozenset("switched turned set is are stays remains =".split())
_DIVIDING = words.VERBS | words.PAST
_DETERMINERS = frozenset("a an the our each everi thi it no".split())
_AFTER_VERBS = frozenset("a an the at to from with as via into".split())


def _endings(tokens: list[Token], cues: frozenset[str]) -> tuple[int, ...]:
    ending = words.ENDINGS | words.LEAVING if cues & CHANGES else words.ENDINGS
    return tuple(place for place, token in enumerate(tokens) if token.text.lower() in ending)


def _qualifiers(tokens: list[Token]) -> dict[int | str, frozenset[str]]:
    found: dict[int | str, set[str]] = {}
    before = ""
    for token in tokens:
        lower = token.text.lower()
        if hit := words.QUALIFIERS.get(lower) or words.QUALIFIERS.get(lower.removesuffix("s")):
            found.setdefault(hit[0], set()).add(hit[1])
        if token.kind == "number" and before in words.NUMBERED:
            found.setdefault(before, set()).add(token.key)
        before = lower
    return {group: frozenset(members) for group, members in found.items()}


def _labels(tokens: list[Token]) -> dict[str, frozenset[str]]:
    spoken = [(place, token.key) for place, token in enumerate(tokens) if token.kind in _LABELLING]
    found: dict[str, frozenset[str]] = {}
    for place, token in enumerate(tokens):
        if token.kind in VALUES:
            before = [key for at, key in spoken if at < place][-3:]
            after = [key for at, key in spoken if place < at <= place + 2]
            found[token.key] = frozenset((*before, *after))
    return found


_LABELLING = frozenset({"word", "name", "code"})
