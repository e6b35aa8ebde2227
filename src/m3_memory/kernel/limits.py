"""How much a call may bring, and the checks that refuse what no store can keep."""

from __future__ import annotations

import itertools
import json
import math
import re
import unicodedata
from typing import TypeAlias, cast

from m3_memory.errors import InvalidArgument, InvalidContent, InvalidMetadata

MAX_CONTENT_CHARACTERS = 50_000
MAX_TITLE_CHARACTERS = 500
MAX_QUERY_CHARACTERS = 2_000
MAX_LABEL_CHARACTERS = 200
MAX_REASON_CHARACTERS = 1_000
MAX_METADATA_CHARACTERS = 20_000
MAX_METADATA_DEPTH = 20
MAX_MARKS_IN_A_ROW = 64
MAX_LINKS = 5_000
MIN_METADATA_INTEGER = -(2**63)
MAX_METADATA_INTEGER = 2**64 - 1

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What no store can keep: NUL, and half of a surrogate pair."""

_PERHAPS_MARKS = re.compile(f"(?:[^\\w\x00-\u02ff]|[\uff9e\uff9f]){{{MAX_MARKS_IN_A_ROW + 1},}}+")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # fillers that Unicode counts as letters
_TOO_MANY_MARKS = f"more than {MAX_MARKS_IN_A_ROW} combining marks in a row"
_STORED_TEXTS = frozenset({"content", "title"})

RESERVED_METADATA_KEYS = frozenset(
    (
        *("user_id", "agent_id", "actor_id", "requesting_agent", "change_agent"),
        *("audience", "circle", "scope", "owner_id", "org_id", "tenant_id", "project_id"),
        *("grants", "is_operator", "trust", "trust_state", "trust_level", "trusted"),
        *("verified", "is_verified", "verified_by", "confidence", "importance", "actionable"),
    )
)
"""Keys, compared without case and separators, by which metadata could pretend to set what it never sets.

Words of everyday records (`status`, `owner`, `created_by`) are not among them: as labels they set nothing.
"""

_RESERVED = {key.replace("_", ""): key for key in RESERVED_METADATA_KEYS}


def checked_text(text: str, name: str, limit: int) -> str:
    """The text exactly as given, if it says something and every store can keep it.

    Refused: nothing visible in it, more than `limit` characters (code points), NUL, lone surrogates. Other
    control characters stay as written. Refused too are more than MAX_MARKS_IN_A_ROW combining marks in a row:
    normal forms sort them in quadratic time. (The Stream-Safe Text Format, UAX #15 section 13, allows 30.)
    Raises InvalidContent for content and title, else InvalidArgument.
    """
    if len(text) > limit:
        raise _refusal(
            name,
            f"{name} has {len(text):,} characters; the limit is {limit:,}",
            "shorten it, or split it into several memories",
        )
    if UNSTORABLE.search(text):
        raise _refusal(
            name,
            f"{name} holds a NUL or half of a surrogate pair, which no store can keep",
            "remove it and send again",
        )
    if _has_too_many_marks(text):
        raise _refusal(name, f"{name} has {_TOO_MANY_MARKS}", "remove most of them and send again")
    if not any(map(_is_visible, text)):
        raise _refusal(name, f"{name} is empty", f"give a {name} with at least one visible character")
    return text


def checked_metadata(value: object) -> dict[str, JsonValue]:
    """A copy of a JSON object, given as one or as its JSON text; `{}` for None and the empty text.

    Nulls are kept as written. Refused, so that no stored row can ever make a read fail: anything but an
    object, keys twice, NaN and numbers too large for a float, integers beyond 64 bits, NUL and lone
    surrogates, more than MAX_METADATA_DEPTH levels or MAX_METADATA_CHARACTERS as JSON; and keys that would
    set identity, trust, confidence or importance. Raises InvalidMetadata.
    """
    if value is None or value == "":
        return {}
    parsed = _parsed(value) if isinstance(value, str) else value
    if not isinstance(parsed, dict):
        raise InvalidMetadata(
            "metadata is not a JSON object", 'give an object such as {"ticket": "LED-4102"}'
        )
    checked = _checked_object(cast("dict[object, object]", parsed), 1)
    for key in checked:
        if reserved := _RESERVED.get(_folded_key(key)):
            raise InvalidMetadata(
                f"metadata may not set {key!r}",
                f"{reserved} is the connection's or the store's to say; for a label of yours use another key",
            )
    size = len(json.dumps(checked, ensure_ascii=False, separators=(",", ":")))
    if size > MAX_METADATA_CHARACTERS:
        raise InvalidMetadata(
            f"metadata has {size:,} characters as JSON; the limit is {MAX_METADATA_CHARACTERS:,}",
            "keep long text in the content",
        )
    return checked


def _has_too_many_marks(text: str) -> bool:
    if text.isascii():
        return False
    runs = (run for found in _PERHAPS_MARKS.finditer(text) for run in itertools.groupby(found[0], _is_mark))
    return any(is_mark and sum(1 for _ in marks) > MAX_MARKS_IN_A_ROW for is_mark, marks in runs)


def _is_mark(character: str) -> bool:
    """Whether its normal form begins with what combines with the character before."""
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) != 0


def _is_visible(character: str) -> bool:
    return (
        unicodedata.category(character) not in _INVISIBLE_CATEGORIES and character not in _INVISIBLE_LETTERS
    )


def _refusal(name: str, message: str, hint: str) -> InvalidContent | InvalidArgument:
    kind = InvalidContent if name in _STORED_TEXTS else InvalidArgument
    return kind(message, hint)


def _parsed(text: str) -> object:
    if len(text) > 2 * MAX_METADATA_CHARACTERS:
        raise InvalidMetadata(
            f"metadata is longer than {MAX_METADATA_CHARACTERS:,} characters", "keep long text in the content"
        )
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidMetadata(
            "metadata is not JSON text", "give an object, or valid JSON text of one"
        ) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidMetadata("metadata names a key twice", "give every key once")
    return found


def _no_constant(name: str) -> object:
    raise InvalidMetadata(
        f"metadata holds {name}, which is no JSON number", "give a finite number, a text or null"
    )


def _checked_object(value: dict[object, object], depth: int) -> dict[str, JsonValue]:
    return {_checked_key(key): _checked_value(item, depth) for key, item in value.items()}


def _checked_key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidMetadata(f"metadata has a key that is no text: {key!r:.40}", "JSON keys are text")
    if _has_too_many_marks(key):
        raise InvalidMetadata(f"metadata has a key with {_TOO_MANY_MARKS}", "remove most of them")
    return _storable(key)


def _checked_value(value: object, depth: int) -> JsonValue:
    match value:
        case None | bool():
            return value
        case str():
            return _storable(value)
        case int() | float():
            return _bounded(value)
        case dict() | list():
            return _checked_container(cast("dict[object, object] | list[object]", value), depth + 1)
        case _:
            raise InvalidMetadata(
                f"metadata holds a {type(value).__name__}, which is no JSON value", "give JSON values"
            )


def _checked_container(value: dict[object, object] | list[object], depth: int) -> JsonValue:
    if depth > MAX_METADATA_DEPTH:
        raise InvalidMetadata(
            f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels", "make it flatter"
        )
    if isinstance(value, dict):
        return _checked_object(value, depth)
    return [_checked_value(item, depth) for item in value]


def _storable(text: str) -> str:
    if UNSTORABLE.search(text):
        raise InvalidMetadata(
            "metadata holds a NUL or half of a surrogate pair, which no store can keep",
            "remove it and send again",
        )
    return text


def _bounded(number: float) -> float:
    if isinstance(number, int):
        if not MIN_METADATA_INTEGER <= number <= MAX_METADATA_INTEGER:
            raise InvalidMetadata("metadata holds a whole number beyond 64 bits", "give it as a text")
    elif not math.isfinite(number):
        raise InvalidMetadata("metadata holds a number that is not finite", "give a finite number or a text")
    return number


def _folded_key(key: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", key).casefold()))
