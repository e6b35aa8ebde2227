"""What a file says: lines of ours, or the one object that older versions of others export, as entries.

Nothing of it is believed but the statement itself, its world time and its labels: who said it, for whom, how
far it is trusted and when it was stored is the import's to say.
"""

from __future__ import annotations

import json
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

from m3_memory.domains.memories.model import WriteRequest
from m3_memory.domains.privacy.model import (
    EDGE,
    FORMAT,
    HEADING,
    MEMORY,
    VERSION,
    EdgeLine,
    MemoryLine,
    Problem,
)
from m3_memory.errors import InvalidArgument, InvalidId, M3Error, StoreTooNew
from m3_memory.kernel.ids import parse_id
from m3_memory.kernel.interval import parse_moment, parse_time
from m3_memory.kernel.limits import UNSTORABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from m3_memory.domains.privacy.model import Entry

LONGEST_LINE_BYTES = 1_500_000
"""More than the longest memory takes, so that no line of a hostile file fills the memory."""

LARGEST_OBJECT_BYTES = 200_000_000
"""Of an export that is one object: it is read whole."""

_SCOPES = ("agent", "session", "user")
_TEXTS = ("type", "title", "refresh_reason", "conversation_id", "variant", "embed_text", "model_id")
_TIMES = {"valid_from": parse_moment, "valid_to": parse_time, "refresh_on": parse_moment}
_OLDER_TIMES = {"valid_from": "created_at", "valid_to": "expires_at", "refresh_on": "refresh_on"}


def entries_of(lines: Iterable[bytes]) -> Iterator[Entry]:
    """The entries of a file, in its order; a line that is none is a Problem in its place.

    Raises InvalidArgument for what is no export at all, StoreTooNew for one in a newer form.
    """
    said = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    first = list(islice(said, 1))
    if any(b'"format":"m3-store"' in line for _, line in first):
        raise InvalidArgument("this is a whole store, which is not imported", "m3 restore takes it")
    found = chain(first, said)
    is_one_object = any(_begins_object(line) for _, line in first)
    for number, value in _older(found) if is_one_object else found:
        try:
            entry = _entry(number, _object(value))
        except StoreTooNew:
            raise
        except M3Error as error:
            entry = Problem(number, error.code, error.message)
        if entry is not None:
            yield entry


def _begins_object(first: bytes) -> bool:
    """Whether a file whose first line is this one is one object that holds all, perhaps over many lines."""
    found = _json_in(first)
    if isinstance(found, dict):
        return "items" in found
    begun = first.strip()
    goes_on = begun.endswith((b"{", b"[", b",", b":")) or len(first) > LONGEST_LINE_BYTES
    return goes_on and begun.startswith(b"{")


def _json_in(data: bytes | bytearray) -> object:
    """The JSON value; None for what is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _older(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, object]]:
    """What an export in one object says, as our lines would: memories, then the edges; counted by items."""
    data = bytearray()
    for _, line in lines:
        data += line
        if len(data) > LARGEST_OBJECT_BYTES:
            raise InvalidArgument(
                f"an export in one object may have {LARGEST_OBJECT_BYTES:,} bytes",
                "split its items over several files",
            )
    found = _json_in(data)
    items = cast("dict[str, object]", found).get("items") if isinstance(found, dict) else None
    if not isinstance(items, list):
        raise InvalidArgument(
            "this is no export: neither lines of JSON nor an object with items",
            "m3 export writes what can be imported",
        )
    rows = [(n, row) for n, row in enumerate(cast("list[object]", items), 1) if not _is_deleted(row)]
    yield from ((number, _older_memory(row)) for number, row in rows)
    yield from ((number, edge) for number, row in rows for edge in _older_edges(row))


def _is_deleted(row: object) -> bool:
    return isinstance(row, dict) and bool(cast("dict[str, object]", row).get("is_deleted"))


def _older_memory(row: object) -> object:
    """It holds from when it was made until it would have expired; a space may part a date from its time."""
    if not isinstance(row, dict):
        return row
    given = cast("dict[str, Any]", row)
    times = {name: given.get(name) or given.get(older) for name, older in _OLDER_TIMES.items()}
    return {
        **given,
        "kind": MEMORY,
        "metadata": given.get("metadata_json") or given.get("metadata"),
        "scope": given.get("scope") if given.get("scope") in _SCOPES else "",
        **{name: at.replace(" ", "T", 1) if isinstance(at, str) else at for name, at in times.items()},
    }


def _older_edges(row: object) -> Iterator[object]:
    given = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
    edges: object = given.get("relationships")
    for edge in cast("list[object]", edges) if isinstance(edges, list) else ():
        to = cast("dict[str, Any]", edge) if isinstance(edge, dict) else {}
        ends = {"from_id": given.get("id"), "to_id": to.get("to_id")}
        yield {"kind": EDGE, **ends, "type": to.get("relationship_type")}


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, bytes):
        if len(value) > LONGEST_LINE_BYTES:
            raise InvalidArgument("the line is longer than any memory", "")
        value = _json_in(value)
    if not isinstance(value, dict):
        raise InvalidArgument("it is no JSON object", "")
    return cast("dict[str, Any]", value)


def _entry(number: int, given: dict[str, Any]) -> Entry | None:
    match given.get("kind", MEMORY):
        case "memory":
            return MemoryLine(number, _id(given, "id"), _request(given), given.get("pinned") is True)
        case "edge":
            return EdgeLine(number, _id(given, "from_id"), _id(given, "to_id"), _text(given, "type"))
        case "export":
            if given.get("format") != FORMAT or given.get("version") != VERSION:
                raise StoreTooNew(
                    "the export is in a form that this version does not know",
                    "upgrade: pip install --upgrade m3-memory",
                )
            return None
        case _:
            raise InvalidArgument(f"the kind is neither {MEMORY}, {EDGE} nor {HEADING}", "")


def _request(given: dict[str, Any]) -> WriteRequest:
    scope, importance = _text(given, "scope"), given.get("importance")
    if scope and scope not in _SCOPES:
        raise InvalidArgument(f"scope is not one of {', '.join(_SCOPES)}", "")
    if importance is None:
        importance = 0.5
    if isinstance(importance, bool) or not isinstance(importance, int | float) or not 0 <= importance <= 1:
        raise InvalidArgument("importance is no number from 0 to 1", "")
    texts: dict[str, Any] = {name: _text(given, name) for name in _TEXTS}
    times: dict[str, Any] = {name: parse(at) for name, parse in _TIMES.items() if (at := _text(given, name))}
    return WriteRequest(
        content=_text(given, "content"),
        metadata=given.get("metadata"),
        scope=scope,
        importance=float(importance),
        source=_text(given, "source") or "import",
        embed=given.get("embed") is not False,
        **texts,
        **times,
    )


def _id(given: dict[str, Any], name: str) -> str:
    """The id, in canonical form; one that is none stays as given behind a question mark."""
    written = _text(given, name)
    try:
        return parse_id(written)
    except InvalidId:
        return f"?{written}"


def _text(given: dict[str, Any], name: str) -> str:
    value: object = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} is no text", "")
    if UNSTORABLE.search(value):
        raise InvalidArgument(f"{name} holds a NUL or half of a surrogate pair", "")
    return value
