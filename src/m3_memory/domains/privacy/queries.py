"""SQL of the privacy slice: what leaves, and what of a file is here already."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, LiteralString

from m3_memory.domains.privacy.model import EDGE, MEMORY, Doomed, ExportLine
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage.predicates import View, held, is_open, of_user, visible
from m3_memory.storage.sql import Row, Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader

_SAID = sql(
    "SELECT visible.memory_id, visible.version, visible.type, said.title, said.content, said.metadata,"
    " said.scope, visible.valid_from, visible.recorded_from, visible.trust_state,"
    " coalesce(state.importance, 0.5), coalesce(state.pinned, 0), visible.agent_id, said.source, said.origin,"
    " said.embed, visible.valid_to, visible.expires_at, coalesce(state.refresh_on, ''),"
    " coalesce(state.refresh_reason, ''), visible.conversation_id, visible.variant, said.project,"
    " said.model_id, said.embed_text FROM"
)
_ALWAYS = (
    *("id", "version", "type", "title", "content", "metadata", "scope", "valid_from", "recorded_at"),
    *("trust_state", "importance", "pinned", "agent_id", "source", "origin"),
)
_SOMETIMES = (
    *("embed", "valid_to", "expires_at", "refresh_on", "refresh_reason", "conversation_id", "variant"),
    *("project", "model_id", "embed_text"),
)
_BESIDE = sql(
    "JOIN memory_items AS said ON said.item = visible.item"
    " LEFT JOIN memory_state AS state ON state.memory_id = visible.memory_id WHERE"
)


def beliefs_after(reader: Reader, view: View, since: str, after: str, limit: int) -> list[tuple[str, int]]:
    """The next visible memories by their ids: (id, belief) of those the store came to believe since then."""
    found = reader.rows(
        sql("SELECT visible.memory_id, visible.belief FROM")
        + visible(view)
        + sql("WHERE visible.memory_id > ? AND visible.recorded_from >= ?", after, since)
        + sql("ORDER BY visible.memory_id LIMIT ?", limit)
    )
    return [(text(row[0]), number(row[1])) for row in found]


def memory_lines(reader: Reader, view: View, beliefs: Sequence[int]) -> list[ExportLine]:
    """What the view shows of these beliefs, as lines in the order of ids."""
    chosen = any_of("visible.belief", tuple(beliefs)) + sql("ORDER BY visible.memory_id")
    return [_memory(row) for row in reader.rows(_SAID + visible(view) + _BESIDE + chosen)]


def edges_after(reader: Reader, view: View, since: str, after: Sequence[str], limit: int) -> list[ExportLine]:
    """The next edges by their ends and type, as lines: held then, and both ends visible."""
    found = reader.rows(
        sql(
            "SELECT edge.from_id, edge.to_id, edge.type, edge.recorded_from FROM memory_relationships AS edge"
            " WHERE (edge.from_id, edge.to_id, edge.type) > (?, ?, ?) AND edge.recorded_from >= ? AND",
            *after,
            since,
        )
        + _believed(view)
        + sql("AND edge.from_id IN (SELECT visible.memory_id FROM")
        + visible(view)
        + sql(") AND edge.to_id IN (SELECT visible.memory_id FROM")
        + visible(view)
        + sql(") ORDER BY edge.from_id, edge.to_id, edge.type LIMIT ?", limit)
    )
    names = ("from_id", "to_id", "type", "recorded_at")
    return [{"kind": EDGE, **dict(zip(names, map(text, row), strict=True))} for row in found]


def known(reader: Reader, view: View, ids: Sequence[str]) -> dict[str, set[str] | None]:
    """Those of the ids that name a memory of this store, and what it ever said, as content hashes.

    None for a memory that the caller does not hold.
    """
    found: dict[str, set[str] | None] = {}
    rows = reader.rows(
        sql("SELECT said.memory_id, said.content_hash, said.memory_id IN (SELECT held.memory_id FROM")
        + held(view)
        + sql(") FROM memory_items AS said WHERE")
        + any_of("said.memory_id", tuple(ids))
    )
    for memory_id, digest, is_held in rows:
        hashes = found.setdefault(text(memory_id), set() if is_held else None)
        if hashes is not None:
            hashes.add(text(digest))
    return found


def memories_of(reader: Reader, column: LiteralString, names: Sequence[str]) -> list[str]:
    """The user's memories of which some version has one of these in that column; without a name, all."""
    named = sql("AND") + any_of(column, tuple(names)) if names else sql("")
    every = (
        sql("SELECT DISTINCT memory_id FROM memory_items WHERE")
        + of_user(reader)
        + named
        + sql("ORDER BY memory_id")
    )
    return [text(row[0]) for row in reader.rows(every)]


def newest_of(reader: Reader, memory_ids: Sequence[str]) -> list[Doomed]:
    """What these memories say, as the store last had them, in this order."""
    rows = reader.rows(
        sql(
            "SELECT said.memory_id, said.title, said.content, said.type, said.project, held.trust_state"
            " FROM memory_items AS said JOIN memory_validity AS held ON held.item = said.item WHERE"
        )
        + any_of("said.memory_id", tuple(memory_ids))
        + sql("ORDER BY held.belief")
    )
    newest = {row[0]: [*map(text, row)] for row in rows}
    told = (newest[id_] for id_ in memory_ids if id_ in newest)
    return [
        Doomed(id_, f"{title}: {content}" if title else content, type_, project, trust_state)
        for id_, title, content, type_, project, trust_state in told
    ]


def _believed(view: View) -> Sql:
    """Edges that the store held at the view's known_at."""
    known_at = view.filter.known_at
    if not known_at:
        return is_open("edge")
    return sql("edge.recorded_from <= ? AND edge.recorded_to > ?", known_at, known_at)


def _memory(row: Row) -> ExportLine:
    """One memory as its line: what has nothing to say is left out."""
    said: ExportLine = dict(zip((*_ALWAYS, *_SOMETIMES), row, strict=True))
    said |= {"metadata": json.loads(said["metadata"]), "pinned": bool(said["pinned"])}
    said |= {"kind": MEMORY, "embed": bool(said["embed"])}
    silent = {name for name in _SOMETIMES if said[name] in ("", FOREVER, True)}
    return {name: said[name] for name in said if name not in silent}
