"""SQL over beliefs: which are seen, opening and closing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from m3_memory.domains.memories.model import Belief
from m3_memory.domains.memories.queries.edges import in_parts
from m3_memory.domains.memories.queries.versions import note_change
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.predicates import View, held, visible
from m3_memory.storage.sql import Row, any_of, sql, values_of
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3_memory.storage.database import Reader, Writer

_BELIEF = sql(
    "belief, memory_id, item, version, valid_from, valid_to, recorded_from, recorded_to, trust_state,"
    " expires_at,"
    " audience, type, agent_id, conversation_id, variant, opened_by, closed_by"
)
_OPEN = sql("recorded_to = '9999-12-31T23:59:59.999999Z'")


def visible_belief(reader: Reader, view: View, memory_id: str) -> Belief | None:
    """The memory's belief that this view shows."""
    row = reader.row(
        sql("SELECT") + _BELIEF + sql("FROM") + visible(view) + sql("WHERE memory_id = ?", memory_id)
    )
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


def newest_beliefs(reader: Reader, view: View, memory_ids: Sequence[str]) -> dict[str, Belief]:
    """As `newest_belief` for each memory that has one: those that are open by one question."""
    found = reader.rows(
        sql("SELECT")
        + _BELIEF
        + sql("FROM")
        + held(view)
        + sql("WHERE")
        + _OPEN
        + sql("AND")
        + any_of("memory_id", memory_ids)
    )
    beliefs = {text(row[1]): _belief(row) for row in found}
    for memory_id in memory_ids:
        if memory_id not in beliefs and (closed := newest_belief(reader, view, memory_id)):
            beliefs[memory_id] = closed
    return beliefs


def ids_beginning(reader: Reader, view: View, prefix: str, limit: int) -> list[str]:
    """Ids in held audiences that begin so, in order."""
    found = reader.rows(
        sql("SELECT DISTINCT memory_id FROM")
        + held(view)
        + sql(
            "WHERE memory_id >= ? AND memory_id < ? ORDER BY memory_id LIMIT ?", prefix, prefix + "g", limit
        )
    )
    return [text(row[0]) for row in found]


def is_believed(reader: Reader, memory_id: str) -> bool:
    """Whether the store holds an open belief in this memory, for whatever time and audience."""
    return (
        reader.row(
            sql("SELECT 1 FROM memory_validity WHERE memory_id = ? AND", memory_id)
            + _OPEN
            + sql("AND trust_state <> 'rejected'")
        )
        is not None
    )


def open_beliefs_of(reader: Reader, memory_ids: Sequence[str]) -> dict[str, Belief]:
    """What the store believes of these memories now, by their ids; of any audience: show what is visible."""
    found = reader.rows(
        sql("SELECT")
        + _BELIEF
        + sql("FROM memory_validity WHERE")
        + _OPEN
        + sql("AND")
        + any_of("memory_id", memory_ids)
    )
    return {text(row[1]): _belief(row) for row in found}


def open_belief(writer: Writer, belief: Belief) -> None:
    """Opens a belief from this transaction's store time on; its number and store interval are given here."""
    insert_beliefs(writer, [belief])
    note_change(writer, belief.item, "belief")


def insert_beliefs(writer: Writer, beliefs: Sequence[Belief]) -> None:
    """As `open_belief` for each, but tells no index: for who notes more changes at once."""
    now = writer.store_time
    insert_rows(
        writer,
        sql(
            "INSERT INTO memory_validity (memory_id, item, version, valid_from, valid_to, recorded_from,"
            " recorded_to,"
            " trust_state, expires_at, audience, type, agent_id, conversation_id, variant, opened_by)"
        ),
        [
            (
                *(new.memory_id, new.item, new.version, new.valid_from, new.valid_to, now, FOREVER),
                *(new.trust_state, new.expires_at, new.audience, new.type, new.agent_id),
                *(new.conversation_id, new.variant, new.opened_by),
            )
            for new in beliefs
        ],
    )


def close_belief(writer: Writer, belief: Belief, event: int) -> bool:
    """Closes an open belief, once; False if it was closed before."""
    closed = writer.execute(
        sql("UPDATE memory_validity SET recorded_to = ?, closed_by = ?", writer.store_time, event)
        + sql("WHERE belief = ? AND", belief.belief)
        + _OPEN
    )
    note_change(writer, belief.item, "belief")
    return closed == 1


def close_beliefs(writer: Writer, closed: Sequence[tuple[int, int]]) -> int:
    """As `close_belief` for each, a (belief, event), but tells no index; returns how many it closed."""
    count = 0
    for part in in_parts(closed):
        count += writer.execute(
            sql(
                "UPDATE memory_validity SET recorded_to = ?, closed_by = given.column2 FROM (",
                writer.store_time,
            )
            + values_of(part)
            + sql(") AS given WHERE belief = given.column1 AND")
            + _OPEN
        )
    return count


def beliefs_of(reader: Reader, memory_ids: Iterable[str]) -> list[Belief]:
    """Every belief ever held of these memories, oldest first, of any audience."""
    found: list[Belief] = []
    for part in in_parts(sorted(memory_ids)):
        rows = reader.rows(
            sql("SELECT") + _BELIEF + sql("FROM memory_validity WHERE") + any_of("memory_id", part)
        )
        found += map(_belief, rows)
    return sorted(found, key=lambda belief: belief.belief)


def _belief(row: Row) -> Belief:
    belief, memory_id, item, version, *held, opened_by, closed_by = row
    texts: tuple[Any, ...] = (*map(text, held[:6]), number(held[6]), *map(text, held[7:]))
    closer = None if closed_by is None else number(closed_by)
    of = number(belief), text(memory_id), number(item), number(version)
    return Belief(*of, *texts, opened_by=number(opened_by), closed_by=closer)
