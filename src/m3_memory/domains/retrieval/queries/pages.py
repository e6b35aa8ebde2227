"""Pages of what a view shows, in the order of the index over open beliefs.

A row stands where its belief was recorded, rows of one moment by their id. What changes while somebody pages
keeps the place it had when the first page was read: a belief that was closed since then stands for the one
that took its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString, NamedTuple

from m3_memory.domains.retrieval.model import ListRequest, Order, TypeCount
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage.predicates import View, audience_numbers, visible
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from m3_memory.storage.database import Reader


class Place(NamedTuple):
    """Where a row stands in a list."""

    recorded_from: str
    memory_id: str


def page(
    reader: Reader, view: View, request: ListRequest, after: Place | None, as_listed_at: str, limit: int
) -> list[tuple[Place, int]]:
    """The next rows after a place as (place, item), in order: at most `limit`.

    `as_listed_at` is the store time at which the list was begun; empty for the first page and for a list of
    what was known at a past moment, in which nothing moves.
    """
    asked = _Asked(view, request, after, limit)
    found = list[tuple[Place, int]]()
    for audience in audience_numbers(reader, view):
        found += _taken(reader, _standing(asked, audience, as_listed_at))
        if as_listed_at:
            found += _taken(reader, _moved(asked, audience, as_listed_at))
    return sorted(found, reverse=request.order is Order.NEWEST)[:limit]


def newest_place(reader: Reader, view: View, request: ListRequest) -> str:
    """The latest store time at which a row of the list was recorded; empty for an empty list."""
    asked = ListRequest(filter=request.filter, order=Order.NEWEST)
    last = page(reader, view, asked, None, "", 1)
    return last[0][0].recorded_from if last else ""


def counted(reader: Reader, view: View, request: ListRequest) -> int:
    """How many rows the list has now."""
    row = reader.row(sql("SELECT count(*) FROM") + _shown(view, request) + _within("visible", request))
    return number(row[0]) if row else 0


def counted_by_type(reader: Reader, view: View, request: ListRequest) -> list[TypeCount]:
    """The same, apart for each type, the most frequent first."""
    found = reader.rows(
        sql("SELECT visible.type, count(*) AS rows_of_it FROM")
        + _shown(view, request)
        + _within("visible", request)
        + sql("GROUP BY visible.type ORDER BY rows_of_it DESC, visible.type")
    )
    return [TypeCount(text(row[0]), number(row[1])) for row in found]


class _Asked(NamedTuple):
    view: View
    request: ListRequest
    after: Place | None
    limit: int


def _taken(reader: Reader, statement: Sql) -> list[tuple[Place, int]]:
    return [(Place(text(row[0]), text(row[1])), number(row[2])) for row in reader.rows(statement)]


def _standing(asked: _Asked, audience: int, as_listed_at: str) -> Sql:
    """Rows that stand where they stood when the list was begun, or, on its first page, stand."""
    rows = sql("SELECT visible.recorded_from, visible.memory_id, visible.item FROM") + _shown(
        asked.view, asked.request
    )
    then = sql("AND visible.recorded_from <= ?", as_listed_at) if as_listed_at else sql("")
    return rows + sql("AND visible.audience = ?", audience) + then + _bounded("visible", asked)


def _moved(asked: _Asked, audience: int, as_listed_at: str) -> Sql:
    """Rows that were recorded anew since the list was begun, at the place they had then."""
    earlier = sql(
        "SELECT earlier.recorded_from, earlier.memory_id, visible.item FROM (SELECT memory_id, recorded_from"
        " FROM memory_validity WHERE audience = ? AND recorded_to > ? AND recorded_to < ?"
        " AND recorded_from <= ?) AS earlier CROSS JOIN",
        audience,
        as_listed_at,
        FOREVER,
        as_listed_at,
    )
    now = sql("AND visible.memory_id = earlier.memory_id AND visible.recorded_from > ?", as_listed_at)
    return earlier + _shown(asked.view, asked.request) + now + _bounded("earlier", asked)


def _bounded(rows: LiteralString, asked: _Asked) -> Sql:
    """The rows of this name that the request asks for, after the place, in order."""
    limit = sql("LIMIT ?", asked.limit)
    if asked.request.order is Order.NEWEST:
        order = Sql(f"ORDER BY {rows}.recorded_from DESC, {rows}.memory_id DESC")
        return _within(rows, asked.request) + _beyond(rows, "<", asked.after) + order + limit
    order = Sql(f"ORDER BY {rows}.recorded_from, {rows}.memory_id")
    return _within(rows, asked.request) + _beyond(rows, ">", asked.after) + order + limit


def _beyond(rows: LiteralString, than: LiteralString, place: Place | None) -> Sql:
    if place is None:
        return sql("")
    moment, memory_id = place
    reached = Sql(f"AND {rows}.recorded_from {than}= ?", (moment,))
    return reached + Sql(
        f"AND ({rows}.recorded_from {than} ? OR {rows}.memory_id {than} ?)", (moment, memory_id)
    )


def _within(rows: LiteralString, request: ListRequest) -> Sql:
    since = Sql(f"AND {rows}.recorded_from >= ?", (request.since,)) if request.since else sql("")
    until = Sql(f"AND {rows}.recorded_from < ?", (request.until,)) if request.until else sql("")
    return since + until


def _shown(view: View, request: ListRequest) -> Sql:
    """What the view shows and the request's ranking leaves, up to and with `WHERE`."""
    if request.min_importance is None and request.pinned is None:
        return visible(view) + sql("WHERE 1 = 1")
    joined = sql("LEFT JOIN memory_state AS state ON state.memory_id = visible.memory_id WHERE 1 = 1")
    weighty = sql("AND coalesce(state.importance, 0.5) >= ?", request.min_importance)
    pinned = sql("AND coalesce(state.pinned, 0) = ?", int(request.pinned or 0))
    return (
        visible(view)
        + joined
        + (sql("") if request.min_importance is None else weighty)
        + (sql("") if request.pinned is None else pinned)
    )
