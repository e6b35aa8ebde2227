"""SQL over questions for a person: which wait, what they name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.correction.model import ReviewItem
from m3_memory.storage.predicates import of_user
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader

_ITEM = sql(
    "SELECT item.review_id, item.audience, item.kind, item.evidence, item.plan, item.state, item.decision,"
    " item.decided_by, item.decided_at, item.opened_at, item.lapses_at, coalesce(a.agent_id, ''),"
    " place.name FROM review_items AS item JOIN audiences AS place ON place.audience = item.audience"
    " LEFT JOIN memory_history AS h ON h.event = item.opened_by LEFT JOIN agents AS a ON a.agent = h.agent"
)
_BELIEVED = sql(
    "NOT EXISTS (SELECT 1 FROM review_memories AS m WHERE m.review_id = item.review_id AND NOT EXISTS"
    " (SELECT 1 FROM memory_validity AS v WHERE v.memory_id = m.memory_id"
    " AND v.recorded_to = '9999-12-31T23:59:59.999999Z' AND v.trust_state <> 'rejected'"
    " AND (item.kind NOT IN ('conflict', 'candidate') OR v.valid_to >"
)
_AS_PLANNED = sql(
    "NOT EXISTS (SELECT 1 FROM review_memories AS m JOIN memory_validity AS v ON v.memory_id = m.memory_id"
    " AND v.recorded_to = '9999-12-31T23:59:59.999999Z' WHERE m.review_id = item.review_id"
    """ AND item.plan LIKE '%"' || m.memory_id || '": "%' AND item.plan NOT LIKE"""
    """ '%"' || m.memory_id || '": "' || CAST(v.version AS TEXT) || '@' || v.recorded_from || '"%')"""
)
"""That the plan's marks (`mark_of`, in `plan_text`) are still those of the memories it names."""


def waiting(reader: Reader, audiences: Sequence[int], memory_id: str = "") -> Sql:
    """Open questions of these audiences, all of whose memories the store still believes; of one memory.

    A contradiction is none any more once one side has ended.
    """
    found = sql("item.state = 'open' AND item.lapses_at > ? AND", reader.now)
    found += any_of("item.audience", tuple(audiences)) + sql("AND") + _BELIEVED + sql("?)))", reader.now)
    if memory_id:
        found += sql(
            "AND EXISTS (SELECT 1 FROM review_memories AS m WHERE m.review_id = item.review_id"
            " AND m.memory_id = ?)",
            memory_id,
        )
    return found


def decidable(which: Sql) -> Sql:
    """Of these questions those whose memories stand as they did when it was asked."""
    return which + sql("AND") + _AS_PLANNED


def overdue(reader: Reader) -> Sql:
    """The ids of open questions of the reader's user whose time is over."""
    late = sql("SELECT review_id FROM review_items WHERE state = 'open' AND lapses_at <= ? AND", reader.now)
    return late + of_user(reader)


def count(reader: Reader, which: Sql) -> int:
    """How many questions these are."""
    row = reader.row(sql("SELECT count(*) FROM review_items AS item WHERE") + which)
    return number(row[0]) if row else 0


def page(reader: Reader, which: Sql, limit: int, offset: int) -> list[ReviewItem]:
    """Some of these questions, those about one subject together, the oldest subject first."""
    subject = sql("LEFT JOIN review_memories AS s ON s.review_id = item.review_id AND s.place = 0 WHERE")
    order = sql("ORDER BY s.memory_id, item.opened_at, item.review_id LIMIT ? OFFSET ?", limit, offset)
    return _items(reader, subject + which + order)


def named(reader: Reader, review_ids: Sequence[str]) -> list[ReviewItem]:
    """Those of these questions that there are, of any audience, whatever became of them."""
    return _items(reader, sql("WHERE") + any_of("item.review_id", tuple(review_ids)))


def _items(reader: Reader, rest: Sql) -> list[ReviewItem]:
    rows = reader.rows(_ITEM + rest)
    items = [ReviewItem(text(row[0]), number(row[1]), *map(text, row[2:]), memories=()) for row in rows]
    if not items:
        return []
    memories: dict[str, list[str]] = {}
    for review_id, memory_id in reader.rows(
        sql("SELECT review_id, memory_id FROM review_memories WHERE")
        + any_of("review_id", tuple(item.review_id for item in items))
        + sql("ORDER BY review_id, place")
    ):
        memories.setdefault(text(review_id), []).append(text(memory_id))
    return [replace(item, memories=tuple(memories.get(item.review_id, ()))) for item in items]
