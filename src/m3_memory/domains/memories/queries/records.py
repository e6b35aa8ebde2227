"""SQL over what stands beside versions: state, edges, sightings, events, names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import HistoryEvent, State
from m3_memory.domains.memories.queries.edges import leads_elsewhere
from m3_memory.kernel.clock import FOREVER, plus
from m3_memory.storage.inserts import insert_returning, insert_rows
from m3_memory.storage.predicates import held, of_user
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number, real, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View

_SEEN_SECONDS = 60.0
_OPEN = sql("recorded_to = '9999-12-31T23:59:59.999999Z'")


def state_of(reader: Reader, memory_id: str) -> State:
    """What ranks, reminds or protects a memory; the defaults for one without a state."""
    return states_of(reader, [memory_id])[memory_id]


def states_of(reader: Reader, memory_ids: Sequence[str]) -> dict[str, State]:
    """As `state_of` for each."""
    found = reader.rows(
        sql("SELECT memory_id, importance, pinned, refresh_on, refresh_reason FROM memory_state WHERE")
        + any_of("memory_id", memory_ids)
    )
    states = {text(r[0]): State(real(r[1]), bool(r[2]), text(r[3]), text(r[4])) for r in found}
    return dict.fromkeys(memory_ids, State()) | states


def put_state(writer: Writer, memory_id: str, state: State) -> None:
    """Sets the state of a memory."""
    put_states(writer, [(memory_id, state)])


def put_states(writer: Writer, states: Sequence[tuple[str, State]]) -> None:
    """Sets the states of memories, each named once."""
    insert_rows(
        writer,
        sql("INSERT INTO memory_state (memory_id, importance, pinned, refresh_on, refresh_reason)"),
        [(m, s.importance, int(s.pinned), s.refresh_on, s.refresh_reason) for m, s in states],
        sql(
            "ON CONFLICT (memory_id) DO UPDATE SET importance = excluded.importance,"
            " pinned = excluded.pinned, refresh_on = excluded.refresh_on,"
            " refresh_reason = excluded.refresh_reason"
        ),
    )


def closing_kind(reader: Reader, event: int) -> str:
    """The kind of the event that closed a belief."""
    row = reader.row(sql("SELECT kind FROM memory_history WHERE event = ?", event))
    return text(row[0]) if row else ""


def events_of(reader: Reader, view: View, memory_id: str, limit: int) -> tuple[list[HistoryEvent], int]:
    """The newest events of a memory up to the view's known_at, and how many there are.

    The memory's own audience is not checked here; the other memory of an event shows where it is held, and an
    event that only concerns edges to what is not held does not.
    """
    until = view.filter.known_at or FOREVER
    told = of_user(reader, "h.owner") + sql("AND NOT") + leads_elsewhere(view)
    counted = reader.row(
        sql(
            "SELECT count(*) FROM memory_history AS h WHERE h.memory_id = ? AND h.store_time <= ? AND",
            memory_id,
            until,
        )
        + told
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
        + told
        + sql("ORDER BY h.event DESC LIMIT ?", limit)
    )
    events = [
        HistoryEvent(
            *(number(sequence), text(at), text(kind), number(version), text(agent), text(surface)),
            *(text(operation), text(other) or None, text(reason) or None),
        )
        for sequence, at, kind, version, agent, surface, operation, reason, other in found
    ]
    return events, number(counted[0]) if counted else 0


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


def audience_numbers(writer: Writer, names: Sequence[str]) -> dict[str, int]:
    """The numbers of audiences, each given to it at its first write."""
    known = known_audiences(writer, names)
    missing = [(writer.owner, name) for name in dict.fromkeys(names) if name not in known]
    added = insert_returning(
        writer, sql("INSERT INTO audiences (owner, name)"), missing, sql("RETURNING name, audience")
    )
    return known | {text(row[0]): number(row[1]) for row in added}


def known_audiences(reader: Reader, names: Sequence[str]) -> dict[str, int]:
    """The numbers of those audiences that have been written to."""
    found = reader.rows(sql("SELECT name, audience FROM audiences WHERE") + any_of("name", names))
    return {text(row[0]): number(row[1]) for row in found}


def audience_names(reader: Reader, numbers: Sequence[int]) -> dict[int, str]:
    """The texts of audiences by their numbers."""
    found = reader.rows(
        sql("SELECT audience, name FROM audiences WHERE") + any_of("audience", tuple(numbers))
    )
    return {number(row[0]): text(row[1]) for row in found}


def agent_number(writer: Writer, caller: Caller) -> tuple[int, bool]:
    """The number of the caller's agent, given to it at its first write; whether it was seen this minute."""
    row = writer.row(
        sql(
            "SELECT agent, last_seen_at FROM agents WHERE owner = ? AND agent_id = ?",
            *(writer.owner, caller.agent_id),
        )
    )
    if row:
        return number(row[0]), text(row[1]) >= plus(writer.store_time, -_SEEN_SECONDS)
    agent = writer.insert(
        sql(
            "INSERT INTO agents (owner, agent_id, circle, grants, trust, first_seen_at, last_seen_at)"
            " VALUES (?, ?, ?, '', 1.0, ?, ?) RETURNING agent",
            *(writer.owner, caller.agent_id, caller.circle, writer.store_time, writer.store_time),
        )
    )
    return agent, True


def put_seen(writer: Writer, agent: int) -> None:
    """Notes that the agent was seen now."""
    writer.put(
        sql("UPDATE agents SET last_seen_at = ?, state = '' WHERE agent = ?", writer.store_time, agent)
    )
