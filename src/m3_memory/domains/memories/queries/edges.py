"""SQL over edges: opening and closing them, and which there were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import Edge
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.predicates import held, is_open
from m3_memory.storage.sql import Row, Sql, any_of, in_parts, sql, values_of
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View

_EDGE = sql(
    "SELECT e.relationship, e.from_id, e.to_id, e.type, e.recorded_from, e.recorded_to, e.opened_by,"
    " e.closed_by FROM memory_relationships AS e WHERE"
)


CHANGED_BELIEF = sql(
    "EXISTS (SELECT 1 FROM memory_validity AS v WHERE v.opened_by = h.event OR v.closed_by = h.event)"
)
CHANGED_EDGE = sql(
    "EXISTS (SELECT 1 FROM memory_relationships AS e WHERE (e.opened_by = h.event OR e.closed_by = h.event)"
)
"""What an event, `memory_history AS h`, changed; that of an edge is left open for more to be asked of it."""


def newest_edge_to(reader: Reader, to_id: str, kind: str) -> Edge | None:
    """The open edge of this type that came to a memory last, of any audience."""
    where = sql("e.to_id = ? AND e.type = ? AND", to_id, kind) + is_open("e")
    row = reader.row(_EDGE + where + sql("ORDER BY e.relationship DESC LIMIT 1"))
    return _edge(row) if row else None


def open_edges_from(reader: Reader, from_ids: Iterable[str], kind: str) -> list[Edge]:
    """The open edges of this type that start at these memories."""
    rest = sql("AND e.type = ? AND", kind) + is_open("e")
    parts = [any_of("e.from_id", part) for part in in_parts(sorted(from_ids))]
    return [_edge(row) for part in parts for row in reader.rows(_EDGE + part + rest)]


def leads_elsewhere(view: View) -> Sql:
    """That an event, `memory_history AS h`, changed edges alone, none of which has both ends held."""
    from_held = sql("AND EXISTS (SELECT 1 FROM") + held(view) + sql("WHERE held.memory_id = e.from_id)")
    to_held = sql("AND EXISTS (SELECT 1 FROM") + held(view) + sql("WHERE held.memory_id = e.to_id)")
    edge, belief = CHANGED_EDGE + sql(")"), CHANGED_BELIEF
    both_held = CHANGED_EDGE + from_held + to_held + sql(")")
    return sql("(") + edge + sql("AND NOT") + belief + sql("AND NOT") + both_held + sql(")")


def close_edges(writer: Writer, closed: Sequence[tuple[int, int]]) -> None:
    """Closes open edges, each given as (relationship, event), from this transaction's store time on."""
    for part in in_parts(closed):
        writer.execute(
            sql(
                "UPDATE memory_relationships SET recorded_to = ?, closed_by = given.column2 FROM (",
                writer.store_time,
            )
            + values_of(part)
            + sql(") AS given WHERE relationship = given.column1 AND")
            + is_open("memory_relationships")
        )


def open_edges(writer: Writer, opened: Iterable[tuple[tuple[str, str, str], int]]) -> None:
    """Opens edges, each a (from, to, type) with its event, from this transaction's store time on."""
    insert_rows(
        writer,
        sql("INSERT INTO memory_relationships (from_id, to_id, type, opened_by, recorded_from, recorded_to)"),
        [(*between, event, writer.store_time, FOREVER) for between, event in opened],
    )


def edges_changed_by(reader: Reader, events: Sequence[int]) -> list[Edge]:
    """Edges that these events opened or closed, each once."""
    found: dict[int, Edge] = {}
    for part in in_parts(events):
        for column in (any_of("e.opened_by", part), any_of("e.closed_by", part)):
            found |= {number(row[0]): _edge(row) for row in reader.rows(_EDGE + column)}
    return list(found.values())


def edges_between(reader: Reader, pairs: Sequence[tuple[str, str, str]]) -> list[Edge]:
    """Every edge there ever was between these, each a (from, to, type); oldest first."""
    wanted = frozenset(pairs)
    found: list[Edge] = []
    for part in in_parts(sorted({to_id for _, to_id, _ in pairs})):
        rows = reader.rows(_EDGE + any_of("e.to_id", part))
        found += [edge for edge in map(_edge, rows) if edge.between in wanted]
    return sorted(found, key=lambda edge: edge.relationship)


def _edge(row: Row) -> Edge:
    *named, opened_by, closed_by = row
    closer = None if closed_by is None else number(closed_by)
    return Edge(number(named[0]), *map(text, named[1:]), opened_by=number(opened_by), closed_by=closer)
