"""SQL that undo asks: which events, what they changed, and what else happened to that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.memories.queries.edges import CHANGED_BELIEF, CHANGED_EDGE, in_parts, leads_elsewhere
from m3_memory.storage.predicates import of_user
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View


@dataclass(frozen=True, slots=True)
class Act:
    """One event of the owner's history as undo sees it. `event` numbers it here, `sequence` for people."""

    event: int
    sequence: int
    kind: str
    memory_id: str
    agent_id: str
    operation_id: str
    other_id: str
    reason: str


_ACT = sql(
    "SELECT h.event, h.sequence, h.kind, h.memory_id, coalesce(a.agent_id, ''), h.operation_id, h.other_id,"
    " h.reason FROM memory_history AS h LEFT JOIN agents AS a ON a.agent = h.agent WHERE"
)


def act_at(reader: Reader, sequence: int) -> Act | None:
    """The user's event of this sequence."""
    found = _acts(reader, of_user(reader, "h.owner") + sql("AND h.sequence = ?", sequence))
    return found[0] if found else None


def acts_of_operation(reader: Reader, operation_id: str) -> list[Act]:
    """The user's events of one call, in order."""
    return _acts(reader, of_user(reader, "h.owner") + sql("AND h.operation_id = ?", operation_id))


def acts_of_agent(reader: Reader, agent_id: str, since: str, until: str, limit: int) -> list[Act]:
    """What an agent did from one store time to another, that one left out; the first `limit` of it."""
    first, end = _sequence_at(reader, since), _sequence_at(reader, until)
    return _acts(
        reader,
        of_user(reader, "h.owner")
        + sql("AND h.sequence >= ? AND h.sequence < ? AND a.agent_id = ?", first, end, agent_id),
        sql("LIMIT ?", limit),
    )


def acts(reader: Reader, events: Iterable[int]) -> list[Act]:
    """These events."""
    return [act for part in in_parts(sorted(events)) for act in _acts(reader, any_of("h.event", part))]


def last_change(reader: Reader, view: View, memory_id: str) -> Act | None:
    """The last event of a memory that opened or closed a belief, or an edge to one that is held."""
    of_it = of_user(reader, "h.owner") + sql("AND h.memory_id = ? AND (", memory_id)
    changed = CHANGED_BELIEF + sql("OR") + CHANGED_EDGE + sql(")) AND NOT") + leads_elsewhere(view)
    found = _acts(reader, of_it + changed, sql("DESC LIMIT 1"))
    return found[0] if found else None


def normal_hashes(reader: Reader, items: Iterable[int]) -> dict[int, str]:
    """The normal form's digest of versions, by item."""
    select = sql("SELECT item, normal_hash FROM memory_items WHERE")
    parts = [any_of("item", part) for part in in_parts(sorted(items))]
    return {number(item): text(digest) for part in parts for item, digest in reader.rows(select + part)}


def _acts(reader: Reader, where: Sql, order: Sql | None = None) -> list[Act]:
    tail = sql("ORDER BY h.event") + (order or sql(""))
    rows = reader.rows(_ACT + where + tail)
    return [Act(number(event), number(sequence), *map(text, rest)) for event, sequence, *rest in rows]


def _sequence_at(reader: Reader, moment: str) -> int:
    """The first sequence of the user's history at this store time or later: both grow together."""
    row = reader.row(sql("SELECT owner, last_sequence FROM owners WHERE user_id = ?", reader.user_id))
    owner, last = row or (0, 0)
    low, high = 1, number(last) + 1
    while low < high:
        middle = (low + high) // 2
        found = reader.row(
            sql("SELECT store_time FROM memory_history WHERE owner = ? AND sequence = ?", owner, middle)
        )
        if found and text(found[0]) < moment:
            low = middle + 1
        else:
            high = middle
    return low
