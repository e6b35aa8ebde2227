"""SQL of the retrieval slice: pages of what a view shows, and what it shows of given items.

In a page a row stands where its belief was recorded, rows of one moment by their id. What changes while
somebody pages keeps the place it had when the first page was read: a belief that was closed since then stands
for the one that took its place.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, LiteralString, cast

from m3_memory.domains.memories.model.record import actionable
from m3_memory.domains.retrieval.model import ListRequest, Order, Place, Row, TypeCount
from m3_memory.kernel.clock import FOREVER
from m3_memory.kernel.decay import Importance
from m3_memory.kernel.interval import shown
from m3_memory.storage.predicates import View, audience_numbers, visible
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, real, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader
    from m3_memory.storage.sql import Row as Found

WHOLE = 1_000_000_000
"""More characters than any content has."""


def page(
    reader: Reader, view: View, request: ListRequest, after: Place | None, as_listed_at: str, limit: int
) -> list[tuple[Place, int]]:
    """The next rows after a place as (place, item), in order: at most `limit`.

    `as_listed_at` is the store time at which the list was begun; empty for the first page and for a list of
    what was known at a past moment, in which nothing moves.
    """
    asked = _shown(view, request)
    standing, moved = (
        _within(rows, request) + _beyond(rows, request.order, after) + sql("LIMIT ?", limit)
        for rows in _PLACED
    )
    found = list[tuple[Place, int]]()
    for audience in audience_numbers(reader, view):
        found += _taken(reader, _standing(asked, audience, as_listed_at) + standing)
        if as_listed_at:
            found += _taken(reader, _moved(asked, audience, as_listed_at) + moved)
    return sorted(found, reverse=request.order is Order.NEWEST)[:limit]


def counted(reader: Reader, view: View, request: ListRequest) -> tuple[int, str]:
    """How many rows the list has now, and when the last one was recorded, within its bounds or not."""
    (row,) = reader.rows(
        sql("SELECT count(*) FILTER (WHERE 1 = 1")
        + _within("visible", request)
        + sql("), coalesce(max(visible.recorded_from), '') FROM")
        + _shown(view, request)
    )
    return number(row[0]), text(row[1])


def counted_by_type(reader: Reader, view: View, request: ListRequest) -> list[TypeCount]:
    """The same, apart for each type, the most frequent first."""
    found = reader.rows(
        sql("SELECT visible.type, count(*) AS rows_of_it FROM")
        + _shown(view, request)
        + _within("visible", request)
        + sql("GROUP BY visible.type ORDER BY rows_of_it DESC, visible.type")
    )
    return [TypeCount(text(row[0]), number(row[1])) for row in found]


def rows(reader: Reader, view: View, items: Sequence[int], longest: int = WHOLE) -> dict[int, Row]:
    """What the view shows of these items as rows, of their content no more than `longest` characters.

    Whole ones have metadata and source too. The items are looked up first, and each of them in the view, and
    are named for both: else either engine may read all that the audiences hold.
    """
    found = reader.rows(_rows(view, items, longest))
    return {number(row[0]): _row(row, longest == WHOLE) for row in found}


def importances(reader: Reader, items: Sequence[int]) -> dict[int, Importance]:
    """How important the memories of these visible items are, and what slows the decay of that."""
    found = reader.rows(
        sql(
            "SELECT said.item, coalesce(state.importance, 0.5), coalesce(state.pinned, 0),"
            " coalesce(used.use_count, 0), coalesce(used.last_used_at, ''),"
            " (SELECT max(recorded_from) FROM memory_validity AS belief WHERE belief.item = said.item),"
            " coalesce((SELECT max(h.store_time) FROM memory_history AS h"
            " WHERE h.memory_id = said.memory_id AND h.kind = 'importance'), '') FROM memory_items AS said"
            " LEFT JOIN memory_state AS state ON state.memory_id = said.memory_id"
            " LEFT JOIN memory_access AS used ON used.memory_id = said.memory_id WHERE"
        )
        + any_of("said.item", tuple(items))
    )
    return {
        number(item): Importance(real(stored), bool(pinned), number(uses), max(map(text, times)))
        for item, stored, pinned, uses, *times in found
    }


def item_of(reader: Reader, view: View, memory_id: str) -> int | None:
    """The item by which the view shows a memory."""
    found = reader.row(sql("SELECT item FROM") + visible(view) + sql("WHERE memory_id = ?", memory_id))
    return number(found[0]) if found else None


def has_any(reader: Reader, view: View) -> bool:
    """Whether the view shows anything at all."""
    return reader.row(sql("SELECT 1 FROM") + visible(view) + sql("LIMIT 1")) is not None


def _taken(reader: Reader, statement: Sql) -> list[tuple[Place, int]]:
    return [(Place(text(row[0]), text(row[1])), number(row[2])) for row in reader.rows(statement)]


_PLACED: tuple[LiteralString, LiteralString] = ("visible", "earlier")
"""How rows are called that stand where they were recorded, and those that stand where they were before."""


def _standing(asked: Sql, audience: int, as_listed_at: str) -> Sql:
    """Rows that stand where they stood when the list was begun, or, on its first page, stand."""
    rows = sql("SELECT visible.recorded_from, visible.memory_id, visible.item FROM") + asked
    then = sql("AND visible.recorded_from <= ?", as_listed_at) if as_listed_at else sql("")
    return rows + sql("AND visible.audience = ?", audience) + then


def _moved(asked: Sql, audience: int, as_listed_at: str) -> Sql:
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
    return earlier + asked + now


def _beyond(rows: LiteralString, order: Order, place: Place | None) -> Sql:
    """The rows of this name after the place, in order."""
    than, way = ("<", "DESC") if order is Order.NEWEST else (">", "ASC")
    ordered = Sql(f"ORDER BY {rows}.recorded_from {way}, {rows}.memory_id {way}")
    if place is None:
        return ordered
    moment, memory_id = place
    reached = Sql(f"AND {rows}.recorded_from {than}= ?", (moment,))
    beyond = Sql(f"AND ({rows}.recorded_from {than} ? OR {rows}.memory_id {than} ?)", (moment, memory_id))
    return reached + beyond + ordered


def _within(rows: LiteralString, request: ListRequest) -> Sql:
    since = Sql(f"AND {rows}.recorded_from >= ?", (request.since,)) if request.since else sql("")
    until = Sql(f"AND {rows}.recorded_from < ?", (request.until,)) if request.until else sql("")
    return since + until


def _shown(view: View, request: ListRequest) -> Sql:
    """What the view shows and the request's ranking leaves, up to and with `WHERE`."""
    found = visible(view)
    if request.min_importance is None and request.pinned is None:
        return found + sql("WHERE 1 = 1")
    found += sql("LEFT JOIN memory_state AS state ON state.memory_id = visible.memory_id WHERE 1 = 1")
    if request.min_importance is not None:
        found += sql("AND coalesce(state.importance, 0.5) >= ?", request.min_importance)
    if request.pinned is not None:
        found += sql("AND coalesce(state.pinned, 0) = ?", int(request.pinned))
    return found


def _rows(view: View, items: Sequence[int], longest: int) -> Sql:
    return (
        sql(
            "SELECT visible.item, visible.memory_id, visible.version, visible.type, said.title,"
            " substr(said.content, 1, CAST(? AS INTEGER)), length(said.content), visible.valid_from,"
            " visible.valid_to, visible.recorded_from, visible.agent_id, visible.trust_state,"
            " visible.expires_at, visible.conversation_id, visible.variant, said.scope, said.metadata,"
            " said.source, coalesce(state.importance, 0.5), coalesce(state.pinned, 0),"
            " coalesce(used.use_count, 0), coalesce(used.last_used_at, ''),"
            " coalesce(state.refresh_on, '') <> '' AND state.refresh_on <= ?"
            " FROM memory_items AS said CROSS JOIN",
            longest,
            view.now,
        )
        + visible(view)
        + sql(
            "LEFT JOIN memory_state AS state ON state.memory_id = said.memory_id"
            " LEFT JOIN memory_access AS used ON used.memory_id = said.memory_id"
            " WHERE visible.item = said.item AND"
        )
        + any_of("said.item", tuple(items))
        + sql("AND")
        + any_of("visible.item", tuple(items))
    )


def _row(r: Found, whole: bool) -> Row:
    length = number(r[6])
    content = text(r[5])
    return Row(
        id=text(r[1]),
        version=number(r[2]),
        type=text(r[3]),
        title=text(r[4]),
        content=content,
        scope=text(r[15]),
        agent_id=text(r[10]),
        trust_state=text(r[11]),
        actionable=actionable(text(r[11]), is_disputed=False),
        importance=real(r[18]),
        pinned=bool(r[19]),
        valid_from=text(r[7]),
        recorded_at=text(r[9]),
        valid_to=shown(text(r[8])),
        expires_at=shown(text(r[12])),
        conversation_id=text(r[13]) or None,
        variant=text(r[14]) or None,
        cut_from=length if length > len(content) else None,
        metadata=cast("dict[str, Any]", json.loads(text(r[16]))) if whole else None,
        source=text(r[17]) if whole else None,
        use_count=number(r[20]) or None,
        last_used_at=text(r[21]) or None,
        stale=bool(r[22]) or None,
    )
