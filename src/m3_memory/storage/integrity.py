"""Whether rows, word index, vectors and history agree: what the doctor reads, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from m3_memory.kernel.clock import seconds_between
from m3_memory.storage import history, queue
from m3_memory.storage.predicates import is_open
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.storage.database import Reader

CLOCK_TOLERANCE_SECONDS = 60.0

_COUNTED: tuple[tuple[str, str, LiteralString], ...] = (
    (
        "rows",
        "versions that no belief was ever held of",
        "SELECT count(*) FROM memory_items AS i WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_validity AS v WHERE v.item = i.item)",
    ),
    (
        "rows",
        "beliefs of a version that is not there",
        "SELECT count(*) FROM memory_validity AS v WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_items AS i WHERE i.item = v.item)",
    ),
    (
        "rows",
        "beliefs whose opening or closing is not in the history",
        "SELECT count(*) FROM memory_validity AS v WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_history AS h WHERE h.event = v.opened_by)"
        " OR (v.closed_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory_history AS h WHERE h.event ="
        " v.closed_by))",
    ),
    (
        "rows",
        "memories without their state",
        "SELECT count(DISTINCT v.memory_id) FROM memory_validity AS v WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_state AS s WHERE s.memory_id = v.memory_id)",
    ),
    (
        "index",
        "versions without their words",
        "SELECT count(*) FROM memory_items AS i WHERE NOT EXISTS"
        " (SELECT 1 FROM search_documents AS d WHERE d.item = i.item)",
    ),
    (
        "index",
        "words of a version that is not there",
        "SELECT count(*) FROM search_documents AS d WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_items AS i WHERE i.item = d.item)",
    ),
    (
        "index",
        "documents that the totals miss or have too many",
        "SELECT abs((SELECT count(*) FROM search_documents) - (SELECT coalesce(sum(documents), 0) FROM"
        " search_totals))",
    ),
    (
        "vectors",
        "vectors of a version that is not there",
        "SELECT count(*) FROM memory_embeddings AS e WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_items AS i WHERE i.item = e.item)",
    ),
    (
        "vectors",
        "versions whose vectors have a gap",
        "SELECT count(*) FROM (SELECT item, space FROM memory_embeddings GROUP BY item, space"
        " HAVING count(*) <> max(window_number) + 1) AS gaps",
    ),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not agree; `part` is rows, index, vectors, history, file or clock."""

    part: str
    detail: str


def faults(reader: Reader, heads: Mapping[str, tuple[int, str]], clock_now: str) -> list[Fault]:
    """What in the store does not agree with the rest; empty for a sound store.

    Rows, indexes and files are looked at whole, and no row is named; of histories and clocks, the user's own
    alone. `heads` are the heads noted beside the store, by `origin/user`; they are to be read before the
    transaction begins, since a commit in between moves them on.
    """
    found = [Fault("file", damage) for damage in reader.dialect.damage(reader)]
    for part, what, counted in _COUNTED:
        row = reader.row(sql(counted))
        if row and number(row[0]):
            found.append(Fault(part, f"{row[0]} {what}"))
    return found + _broken_chain(reader, heads) + _early_store_time(reader, clock_now)


def counts(reader: Reader) -> dict[str, int]:
    """How much the reader's user has: memories, versions, open beliefs, vectors, events, jobs by state."""
    owner = sql("(SELECT owner FROM owners WHERE user_id = ?)", reader.user_id)
    theirs = sql("(SELECT * FROM memory_items WHERE owner =") + owner + sql(") AS i")
    believed = theirs + sql("JOIN memory_validity AS v ON v.item = i.item AND") + is_open("v")
    tables: dict[str, Sql] = {
        "memories": sql("SELECT count(DISTINCT i.memory_id) FROM") + theirs,
        "versions": sql("SELECT count(*) FROM") + theirs,
        "open_beliefs": sql("SELECT count(*) FROM") + believed,
        "vectors": sql("SELECT count(*) FROM")
        + theirs
        + sql("JOIN memory_embeddings AS e ON e.item = i.item"),
        "without_vectors": sql("SELECT count(*) FROM")
        + believed
        + sql(
            "WHERE i.embed = 1 AND NOT EXISTS (SELECT 1 FROM memory_embeddings AS e WHERE e.item = i.item)"
        ),
        "events": sql("SELECT count(*) FROM memory_history WHERE owner =") + owner,
    }
    found: dict[str, int] = {}
    for name, counted in tables.items():
        row = reader.row(counted)
        found[name] = number(row[0]) if row else 0
    jobs = queue.counts(reader)
    return found | {"jobs_waiting": jobs["waiting"] + jobs["running"], "jobs_dead": jobs["dead"]}


def _broken_chain(reader: Reader, heads: Mapping[str, tuple[int, str]]) -> list[Fault]:
    head = heads.get(f"{reader.origin}/{reader.user_id}")
    row = reader.row(sql("SELECT owner FROM owners WHERE user_id = ?", reader.user_id))
    broken = history.verify(reader, number(row[0]) if row else 0, head)
    return [Fault("history", f"at event {broken.sequence}: {broken.reason}")] if broken else []


def _early_store_time(reader: Reader, clock_now: str) -> list[Fault]:
    row = reader.row(sql("SELECT last_store_time FROM owners WHERE user_id = ?", reader.user_id))
    ahead = seconds_between(clock_now, text(row[0])) if row else 0.0
    if ahead <= CLOCK_TOLERANCE_SECONDS:
        return []
    return [Fault("clock", f"the last store time is {ahead:.0f} seconds ahead of the clock")]
