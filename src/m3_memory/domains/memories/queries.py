"""SQL of the memories slice: one function per question or change; models out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import Belief, Draft, HistoryEvent, State, Version
from m3_memory.kernel.analyser import audience_token
from m3_memory.kernel.clock import FOREVER
from m3_memory.kernel.contradiction import Statement
from m3_memory.storage.predicates import View, held, visible
from m3_memory.storage.sql import Row, Sql, any_of, sql
from m3_memory.storage.transaction import number, real, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader, Writer

_BELIEF = sql(
    "belief, memory_id, item, version, valid_from, valid_to, recorded_from, recorded_to, trust_state, expires_at,"
    " audience, type, agent_id, conversation_id, variant, opened_by, closed_by"
)
_OPEN = sql("recorded_to = '9999-12-31T23:59:59.999999Z'")


def visible_belief(reader: Reader, view: View, memory_id: str) -> Belief | None:
    """The memory's belief that this view shows."""
    row = reader.row(sql("SELECT") + _BELIEF + sql("FROM") + visible(view) + sql("WHERE memory_id = ?", memory_id))
    return _belief(row) if row else None


def newest_belief(reader: Reader, view: View, memory_id: str) -> Belief | None:
    """The last thing this store came to believe of a memory in an audience the caller holds, seen or not."""
    row = reader.row(
        sql("SELECT")
        + _BELIEF
        + sql("FROM")
        + held(view)
        + sql("WHERE memory_id = ? ORDER BY belief DESC LIMIT 1", memory_id)
    )
    return _belief(row) if row else None


def ids_beginning(reader: Reader, view: View, prefix: str, limit: int) -> list[str]:
    """Ids in held audiences that begin so, in order."""
    found = reader.rows(
        sql("SELECT DISTINCT memory_id FROM")
        + held(view)
        + sql("WHERE memory_id >= ? AND memory_id < ? ORDER BY memory_id LIMIT ?", prefix, prefix + "g", limit)
    )
    return [text(row[0]) for row in found]


def version_of(reader: Reader, item: int) -> Version:
    row = reader.row(
        sql(
            "SELECT item, memory_id, version, type, title, content, content_hash, normal_hash, metadata, scope,"
            " audience, agent_id, circle, project, conversation_id, source, model_id, variant, embed, embed_text"
            " FROM memory_items WHERE item = ?",
            item,
        )
    )
    assert row is not None, f"belief of a version that is not there: {item}"
    return _version(row)


def last_version(reader: Reader, memory_id: str) -> int:
    row = reader.row(sql("SELECT max(version) FROM memory_items WHERE memory_id = ?", memory_id))
    return number(row[0]) if row and row[0] is not None else 0


def state_of(reader: Reader, memory_id: str) -> State:
    row = reader.row(
        sql(
            "SELECT importance, pinned, refresh_on, refresh_reason FROM memory_state WHERE memory_id = ?", memory_id
        )
    )
    return State(real(row[0]), bool(row[1]), text(row[2]), text(row[3])) if row else State()


def closing_kind(reader: Reader, event: int) -> str:
    """The kind of the event that closed a belief."""
    row = reader.row(sql("SELECT kind FROM memory_history WHERE event = ?", event))
    return text(row[0]) if row else ""


def successors(reader: Reader, memory_id: str) -> list[str]:
    """Ids that supersede this memory now, newest first; of any audience: show only what the caller sees."""
    found = reader.rows(
        sql("SELECT from_id FROM memory_relationships WHERE to_id = ? AND type = 'supersedes' AND", memory_id)
        + _OPEN
        + sql("ORDER BY relationship DESC")
    )
    return [text(row[0]) for row in found]


def has_open_successor(reader: Reader, memory_id: str) -> bool:
    """Whether a memory that the store still believes supersedes this one."""
    return bool(
        reader.row(
            sql(
                "SELECT 1 FROM memory_relationships AS r JOIN memory_validity AS v ON v.memory_id = r.from_id"
                " AND v.recorded_to = '9999-12-31T23:59:59.999999Z'"
                " WHERE r.to_id = ? AND r.type = 'supersedes' AND r.recorded_to = '9999-12-31T23:59:59.999999Z'",
                memory_id,
            )
        )
    )


def standing(reader: Reader, audience: int, kind: str, variant: str, normal_hash: str) -> list[Statement]:
    """Open, unrejected statements of one audience, type and variant with this normal form."""
    found = reader.rows(
        sql(
            "SELECT v.memory_id, v.type, i.normal_hash, v.valid_from, v.valid_to FROM memory_items AS i"
            " JOIN memory_validity AS v ON v.item = i.item WHERE i.normal_hash = ? AND i.audience = ?"
            " AND v.recorded_to = '9999-12-31T23:59:59.999999Z' AND v.trust_state <> 'rejected'"
            " AND v.type = ? AND v.variant = ? AND v.expires_at > ?",
            normal_hash,
            audience,
            kind,
            variant,
            reader.now,
        )
    )
    return [Statement(text(r[0]), text(r[1]), text(r[2]), text(r[3]), text(r[4])) for r in found]


def superseded_with(reader: Reader, audience: int, draft: Draft) -> list[str]:
    """Memories of this audience, type and variant with exactly this content that another memory supersedes now."""
    found = reader.rows(
        sql(
            "SELECT DISTINCT i.memory_id FROM memory_items AS i JOIN memory_relationships AS r"
            " ON r.to_id = i.memory_id AND r.type = 'supersedes'"
            " AND r.recorded_to = '9999-12-31T23:59:59.999999Z'"
            " WHERE i.content_hash = ? AND i.audience = ? AND i.type = ? AND i.variant = ? ORDER BY i.memory_id",
            draft.content_hash,
            audience,
            draft.type,
            draft.variant,
        )
    )
    return [text(row[0]) for row in found]


def audience_number(writer: Writer, name: str) -> int:
    """The number of an audience, given to it at its first write."""
    row = writer.row(sql("SELECT audience FROM audiences WHERE name = ?", name))
    if row:
        return number(row[0])
    return writer.insert(
        sql("INSERT INTO audiences (owner, name) VALUES (?, ?) RETURNING audience", writer.owner, name)
    )


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


def insert_version(writer: Writer, version: Version) -> int:
    """Adds a version (its `item` is given here) and returns the item."""
    return writer.insert(
        sql(
            "INSERT INTO memory_items (memory_id, version, type, title, content, content_hash, normal_hash, metadata,"
            " scope, audience, agent_id, circle, project, conversation_id, source, model_id, variant, embed,"
            " embed_text, owner, origin, recorded_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING item",
            version.memory_id,
            version.version,
            version.type,
            version.title,
            version.content,
            version.content_hash,
            version.normal_hash,
            version.metadata,
            version.scope,
            version.audience,
            version.agent_id,
            version.circle,
            version.project,
            version.conversation_id,
            version.source,
            version.model_id,
            version.variant,
            int(version.embed),
            version.embed_text,
            writer.owner,
            writer.origin,
            writer.store_time,
        )
    )


def insert_document(writer: Writer, item: int, audience: int, tokens: Sequence[str]) -> None:
    """Makes a version findable by its words, the audience being one of them."""
    joined = " ".join((audience_token(audience), *tokens))
    writer.execute(
        sql("INSERT INTO search_documents (item, tokens, token_count) VALUES (?, ?, ?)", item, joined, len(tokens))
    )
    writer.execute(
        sql(
            "INSERT INTO search_totals (audience, documents, tokens) VALUES (?, 1, ?) ON CONFLICT (audience)"
            " DO UPDATE SET documents = search_totals.documents + 1,"
            " tokens = search_totals.tokens + excluded.tokens",
            audience,
            len(tokens),
        )
    )


def open_belief(writer: Writer, belief: Belief) -> None:
    """Opens a belief from this transaction's store time on; its number and store interval are given here."""
    writer.execute(
        sql(
            "INSERT INTO memory_validity (memory_id, item, version, valid_from, valid_to, recorded_from, recorded_to,"
            " trust_state, expires_at, audience, type, agent_id, conversation_id, variant, opened_by)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            belief.memory_id,
            belief.item,
            belief.version,
            belief.valid_from,
            belief.valid_to,
            writer.store_time,
            FOREVER,
            belief.trust_state,
            belief.expires_at,
            belief.audience,
            belief.type,
            belief.agent_id,
            belief.conversation_id,
            belief.variant,
            belief.opened_by,
        )
    )
    note_change(writer, belief.item, "belief")


def close_belief(writer: Writer, belief: Belief, event: int) -> bool:
    """Closes an open belief, once; False if it was closed before."""
    closed = writer.execute(
        sql("UPDATE memory_validity SET recorded_to = ?, closed_by = ?", writer.store_time, event)
        + sql("WHERE belief = ? AND", belief.belief)
        + _OPEN
    )
    note_change(writer, belief.item, "belief")
    return closed == 1


def note_change(writer: Writer, item: int, kind: str) -> None:
    writer.execute(sql("INSERT INTO search_changes (item, kind) VALUES (?, ?)", item, kind))


def put_state(writer: Writer, memory_id: str, state: State) -> None:
    writer.execute(
        sql(
            "INSERT INTO memory_state (memory_id, importance, pinned, refresh_on, refresh_reason)"
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (memory_id) DO UPDATE SET importance = excluded.importance,"
            " pinned = excluded.pinned, refresh_on = excluded.refresh_on, refresh_reason = excluded.refresh_reason",
            memory_id,
            state.importance,
            int(state.pinned),
            state.refresh_on,
            state.refresh_reason,
        )
    )


def open_edge(writer: Writer, from_id: str, to_id: str, kind: str, event: int) -> None:
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
            "INSERT INTO memory_corroborations (memory_id, agent_id, conversation_id, agrees, trust, recorded_at,"
            " event) VALUES (?, ?, ?, 1, 1.0, ?, ?)",
            memory_id,
            caller.agent_id,
            caller.conversation_id,
            writer.store_time,
            event,
        )
    )


def last_ending(reader: Reader, memory_id: str) -> tuple[int, str] | None:
    """The event that last ended a memory without a successor of its own: (event, kind)."""
    row = reader.row(
        sql(
            "SELECT h.event, h.kind FROM memory_validity AS v JOIN memory_history AS h ON h.event = v.closed_by"
            " WHERE v.memory_id = ? ORDER BY v.belief DESC LIMIT 1",
            memory_id,
        )
    )
    return (number(row[0]), text(row[1])) if row else None


def events_of(reader: Reader, memory_id: str, limit: int, known_at: str) -> tuple[list[HistoryEvent], int]:
    """The newest events of a memory up to a store time, and how many there are; no check of audience here."""
    until = known_at or FOREVER
    counted = reader.row(
        sql("SELECT count(*) FROM memory_history WHERE memory_id = ? AND store_time <= ?", memory_id, until)
    )
    found = reader.rows(
        sql(
            "SELECT h.sequence, h.store_time, h.kind, h.version, coalesce(a.agent_id, ''), h.surface,"
            " h.operation_id, h.other_id, h.reason FROM memory_history AS h"
            " LEFT JOIN agents AS a ON a.agent = h.agent WHERE h.memory_id = ? AND h.store_time <= ?"
            " ORDER BY h.event DESC LIMIT ?",
            memory_id,
            until,
            limit,
        )
    )
    events = [
        HistoryEvent(
            number(r[0]), text(r[1]), text(r[2]), number(r[3]), text(r[4]), text(r[5]), text(r[6]),
            text(r[7]) or None, text(r[8]) or None,
        )
        for r in found
    ]  # fmt: skip
    return events, number(counted[0]) if counted else 0


def beliefs_where(reader: Reader, condition: Sql) -> list[Belief]:
    """Beliefs in the order they were opened, by a condition over memory_validity."""
    found = reader.rows(
        sql("SELECT") + _BELIEF + sql("FROM memory_validity WHERE") + condition + sql("ORDER BY belief")
    )
    return [_belief(row) for row in found]


def beliefs_opened_by(reader: Reader, event: int) -> list[Belief]:
    return beliefs_where(reader, sql("opened_by = ?", event))


def beliefs_closed_by(reader: Reader, event: int) -> list[Belief]:
    return beliefs_where(reader, sql("closed_by = ?", event))


def audience_names(reader: Reader, numbers: Sequence[int]) -> dict[int, str]:
    found = reader.rows(sql("SELECT audience, name FROM audiences WHERE") + any_of("audience", tuple(numbers)))
    return {number(row[0]): text(row[1]) for row in found}


def _belief(row: Row) -> Belief:
    return Belief(
        number(row[0]), text(row[1]), number(row[2]), number(row[3]), text(row[4]), text(row[5]), text(row[6]),
        text(row[7]), text(row[8]), text(row[9]), number(row[10]), text(row[11]), text(row[12]), text(row[13]),
        text(row[14]), number(row[15]), None if row[16] is None else number(row[16]),
    )  # fmt: skip


def _version(row: Row) -> Version:
    return Version(
        number(row[0]), text(row[1]), number(row[2]), text(row[3]), text(row[4]), text(row[5]), text(row[6]),
        text(row[7]), text(row[8]), text(row[9]), number(row[10]), text(row[11]), text(row[12]), text(row[13]),
        text(row[14]), text(row[15]), text(row[16]), text(row[17]), bool(row[18]), text(row[19]),
    )  # fmt: skip
