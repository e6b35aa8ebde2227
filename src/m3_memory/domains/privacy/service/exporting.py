"""Export: everything the caller may see, in one canonical order, as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from m3_memory.catalog.answers import LIST_BYTES, size_bytes
from m3_memory.domains.privacy import queries
from m3_memory.domains.privacy.model import EDGE, FORMAT, HEADING, MEMORY, VERSION, ExportPage
from m3_memory.errors import InvalidArgument
from m3_memory.storage.predicates import view_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from m3_memory.context import Context
    from m3_memory.domains.privacy.model import ExportLine
    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import Filter, View

Key: TypeAlias = "tuple[str] | tuple[str, str, str]"

_KEYS = 5_000
"""Memories found by one statement at most."""

_TEXTS = 100
"""Of those, so many have their texts read at once: that is what is held in memory."""


def export_page(ctx: Context, narrowing: Filter, since: str, cursor: str, limit: int) -> ExportPage:
    """The next lines after the cursor, at most `limit`, and fewer where they are long.

    `since` is a store time, `cursor` where the page before ended. Each page is read at a moment of its own;
    `known_at` makes all of them one. Raises InvalidArgument for a cursor that no page gave.
    """
    key = _key(cursor)
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, narrowing)
        shown, more = _fitting(_lines(reader, view, since, key, limit + 1), limit)
        return ExportPage(shown, list(view.audiences), _cursor(shown[-1]) if more else None)


def export_all(ctx: Context, narrowing: Filter, since: str) -> Iterator[ExportLine]:
    """Every line, all of one moment; the first one says what the others are."""
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, narrowing)
        yield {"kind": HEADING, "format": FORMAT, "version": VERSION, "origin": reader.origin}
        yield from _lines(reader, view, since, ("",), _KEYS)


def _fitting(lines: Iterable[ExportLine], limit: int) -> tuple[list[ExportLine], bool]:
    """The first lines, one at the least and no more than an answer takes; and whether there are others."""
    shown: list[ExportLine] = []
    spent = 0
    for line in lines:
        spent += size_bytes(line)
        if shown and (len(shown) == limit or spent > LIST_BYTES):
            return shown, True
        shown.append(line)
    return shown, False


def _lines(reader: Reader, view: View, since: str, key: Key, most: int) -> Iterator[ExportLine]:
    """Memories by id, then edges by their ends, after the key; `most` is how many are wanted at most."""
    limit = min(most, _KEYS)
    if len(key) == 1:
        while found := queries.beliefs_after(reader, view, since, key[0], limit):
            for start in range(0, len(found), _TEXTS):
                beliefs = [belief for _, belief in found[start : start + _TEXTS]]
                yield from queries.memory_lines(reader, view, beliefs)
            key = (found[-1][0],)
        key = ("", "", "")
    while edges := queries.edges_after(reader, view, since, key, limit):
        yield from edges
        key = _ends(edges[-1])


def _cursor(line: ExportLine) -> str:
    return ":".join((MEMORY, line["id"]) if line["kind"] == MEMORY else (EDGE, *_ends(line)))


def _key(cursor: str) -> Key:
    """The key of the line before: a memory's id, or an edge's ends and type."""
    match cursor.split(":"):
        case [""]:
            return ("",)
        case ["memory", memory_id]:
            return (memory_id,)
        case ["edge", from_id, to_id, type_]:
            return from_id, to_id, type_
        case _:
            raise InvalidArgument(
                "the cursor is none that an export gave", "pass next_cursor of the page before, unchanged"
            )


def _ends(line: ExportLine) -> tuple[str, str, str]:
    return line["from_id"], line["to_id"], line["type"]
