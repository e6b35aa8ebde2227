"""SQL over what stands beside versions: state, edges, sightings, events, names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import HistoryEvent, State
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage.predicates import held
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, real, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View

_BELIEF = sql(
    "belief, memory_id, item, version, valid_from, valid_to, recorded_from, recorded_to, trust_state,"
    " expires_at,"
    " audience, type, agent_id, conversation_id, variant, opened_by, closed_by"
)
_OPEN = sql("recorded_to = '9999-12-31T23:59:59.999999Z'")


def state_of(reader: Reader, memory_id: str) -> State:
    """What ranks, reminds or protects a memory; the defaults for one without a state."""
    row = reader.row(
        sql(
            "SELECT importance, pinned, refresh_on, refresh_reason FROM memory_state WHERE memory_id = ?",
            memory_id,
        )
    )
    return State(real(row[0]), bool(row[1]), text(row[2]), text(row[3])) if row else State()


def put_state(writer: Writer, memory_id: str, state: State) -> None:
    """Sets the state of a memory."""
    writer.execute(
        sql(
            "INSERT INTO memory_state (memory_id, importance, pinned, refresh_on, refresh_reason)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (memory_id) DO UPDATE SET importance ="
            " excluded.importance,"
            " pinned = excluded.pinned, refresh_on = excluded.refresh_on, refresh_reason ="
            " excluded.refresh_reason",
            memory_id,
            state.importance,
            int(state.pinned),
            state.refresh_on,
            state.refresh_reason,
        )
    )


def closing_kind(reader: Reader, event: int) -> str:
    """The kind of the event that closed a belief."""
    row = reader.row(sql("SELECT kind FROM memory_history WHERE event = ?", event))
    return text(row[0]) if row else ""


def events_of(reader: Reader, view: View, memory_id: str, limit: int) -> tuple[list[HistoryEvent], int]:
    """The newest events of a memory up to the view's known_at, and how many there are.

    The memory's own audience is not checked here; the other memory of an event shows where it is held.
    """
    until = view.filter.known_at or FOREVER
    counted = reader.row(
        sql(
            "SELECT count(*) FROM memory_history AS h WHERE h.memory_id = ? AND h.store_time <= ? AND",
            memory_id,
            until,
        )
        + _own(view)
    )
    found = reader.rows(
        sql(
            "SELECT h.sequence, h.store_time, h.kind, h.version, coalesce(a.agent_id, ''), h.surface,"
            " h.operation_id, h.reason, CASE WHEN EXISTS (SELECT 1 FROM"
        )
        + held(view)
        + sql(
            "WHERE held.memory_id = h.other_id) THEN h.other_id ELSE '' END FROM memory_history AS h"
            " LEFT JOIN agents AS a ON a.agent = h.agent WHERE h.memory_id = ? AND h.store_time <= ? AND",
            memory_id,
            until,
        )
        + _own(view)
        + sql("ORDER BY h.event DESC LIMIT ?", limit)
    )
    events = [
        HistoryEvent(
            number(r[0]),
            text(r[1]),
            text(r[2]),
            number(r[3]),
            text(r[4]),
            text(r[5]),
            text(r[6]),
            text(r[8]) or None,
            text(r[7]) or None,
        )
        for r in found
    ]
    return events, number(counted[0]) if counted else 0


def _own(view: View) -> Sql:
    """Events of the caller's own user alone."""
    return sql("h.owner IN (SELECT owner FROM owners WHERE user_id = ?)", view.caller.user_id)


def predecessors(reader: Reader, memory_id: str) -> list[str]:
    """Ids that this memory supersedes now; of any audience: show only what the caller sees."""
    found = reader.rows(
        sql("SELECT to_id FROM memory_relationships WHERE from_id = ? AND type = 'supersedes' AND", memory_id)
        + _OPEN
    )
    return [text(row[0]) for row in found]


def successors(reader: Reader, memory_id: str) -> list[str]:
    """Ids that supersede this memory now, newest first; of any audience: show only what the caller sees."""
    found = reader.rows(
        sql("SELECT from_id FROM memory_relationships WHERE to_id = ? AND type = 'supersedes' AND", memory_id)
        + _OPEN
        + sql("ORDER BY relationship DESC")
    )
    return [text(row[0]) for row in found]


def open_edge(writer: Writer, from_id: str, to_id: str, kind: str, event: int) -> None:
    """Opens an edge from this transaction's store time on."""
    writer.execute(
        sql(
            "INSERT INTO memory_relationships (from_id, to_id, type, recorded_from, recorded_to, opened_by)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            from_id,
            to_id,
            kind,
            writer.store_time,
            FOREVER,
            event,
        )
    )


def insert_sighting(writer: Writer, memory_id: str, caller: Caller, event: int) -> None:
    """Counts that the caller said again what a memory says."""
    writer.execute(
        sql(
            "INSERT INTO memory_corroborations (memory_id, agent_id, conversation_id, agrees, trust,"
            " recorded_at, event) VALUES (?, ?, ?, 1, 1.0, ?, ?)",
            memory_id,
            caller.agent_id,
            caller.conversation_id,
            writer.store_time,
            event,
        )
    )


def audience_number(writer: Writer, name: str) -> int:
    """The number of an audience, given to it at its first write."""
    row = writer.row(sql("SELECT audience FROM audiences WHERE name = ?", name))
    if row:
        return number(row[0])
    return writer.insert(
        sql("INSERT INTO audiences (owner, name) VALUES (?, ?) RETURNING audience", writer.owner, name)
    )


def audience_names(reader: Reader, numbers: Sequence[int]) -> dict[int, str]:
    """The texts of audiences by their numbers."""
    found = reader.rows(
        sql("SELECT audience, name FROM audiences WHERE") + any_of("audience", tuple(numbers))
    )
    return {number(row[0]): text(row[1]) for row in found}


def agent_number(writer: Writer, caller: Caller) -> int:
    """The number of the caller's agent, given to it at its first write."""
    row = writer.row(
        sql("SELECT agent FROM agents WHERE owner = ? AND agent_id = ?", writer.owner, caller.agent_id)
    )
    if row:
        return number(row[0])
    return writer.insert(
        sql(
            "INSERT INTO agents (owner, agent_id, circle, grants, trust, first_seen_at)"
            " VALUES (?, ?, ?, '', 1.0, ?) RETURNING agent",
            writer.owner,
            caller.agent_id,
            caller.circle,
            writer.store_time,
        )
    )
