"""What a store holds and whether it looks sound, by questions that are quick in a large one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.kernel.caller import Caller
from m3_memory.storage import queue
from m3_memory.storage.heads import HOW_TO_ACCEPT, lost_head
from m3_memory.storage.integrity import Fault, early_store_time
from m3_memory.storage.predicates import Filter, View, clauses, is_open, of_user, relation
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.storage.database import Reader
    from m3_memory.storage.heads import Head


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts of the reader's user, over all projects; `faults` are those that a few rows show.

    `current` are memories that a default read somewhere returns now, `memories` all that were ever written
    and not erased, `without_vectors` open beliefs that search by meaning can't find yet.
    """

    schema_version: int
    current: int
    memories: int
    without_vectors: int
    jobs_waiting: int
    jobs_dead: int
    faults: tuple[Fault, ...]


def overview(reader: Reader, heads: Mapping[str, Head], clock_now: str) -> Overview:
    """The store at a glance: some tenths of a second for 100,000 memories.

    `heads` is to be read before the transaction begins.
    """
    jobs = queue.counts(reader)
    return Overview(
        schema_version=_counted(reader, sql("SELECT schema_version FROM stores")),
        current=_counted(reader, sql("SELECT count(DISTINCT visible.memory_id) FROM") + _current(reader)),
        memories=_counted(
            reader, sql("SELECT count(DISTINCT i.memory_id) FROM memory_items AS i WHERE") + of_user(reader)
        ),
        without_vectors=without_vectors(reader),
        jobs_waiting=jobs["waiting"] + jobs["running"],
        jobs_dead=jobs["dead"],
        faults=(*_lost(reader, heads), *_loose_end(reader), *early_store_time(reader, clock_now)),
    )


def _current(reader: Reader) -> Sql:
    """The beliefs that default reads of this user return, in whatever audience and variant."""
    everywhere = sql("belief.audience IN (SELECT a.audience FROM audiences AS a WHERE")
    theirs = everywhere + of_user(reader) + sql(")")
    conditions = clauses(View(Caller(reader.user_id, "", ""), Filter(), reader.now))
    return relation([theirs, *(conditions[name] for name in ("belief", "expiry", "trust"))])


def without_vectors(reader: Reader, space: int | None = None) -> int:
    """How many open beliefs of the reader's user want a vector and have none: in this space, or in any."""
    there = sql("NOT EXISTS (SELECT 1 FROM memory_embeddings AS e WHERE e.item = i.item")
    missing = there + (sql(")") if space is None else sql("AND e.space = ?)", space))
    return _counted(
        reader,
        sql("SELECT count(*) FROM memory_items AS i JOIN memory_validity AS v ON v.item = i.item AND")
        + is_open("v")
        + sql("WHERE i.embed = 1 AND")
        + of_user(reader)
        + sql("AND")
        + missing,
    )


def _counted(reader: Reader, question: Sql) -> int:
    row = reader.row(question)
    return number(row[0]) if row else 0


def _lost(reader: Reader, heads: Mapping[str, Head]) -> list[Fault]:
    lost = lost_head(reader, heads)
    return [Fault("history", f"{lost}; {HOW_TO_ACCEPT}")] if lost else []


def _loose_end(reader: Reader) -> list[Fault]:
    """Whether the last event is the one that the owner's record names; the doctor walks the whole chain."""
    row = reader.row(
        sql(
            "SELECT o.last_sequence FROM owners AS o WHERE o.user_id = ? AND o.last_sequence > 0"
            " AND NOT EXISTS (SELECT 1 FROM memory_history AS h WHERE h.owner = o.owner"
            " AND h.sequence = o.last_sequence AND h.hash = o.last_hash)",
            reader.user_id,
        )
    )
    return [Fault("history", "the history does not end where its owner's record says")] if row else []
