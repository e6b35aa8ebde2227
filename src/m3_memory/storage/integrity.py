"""Whether rows, word index, vectors and history agree: what the doctor reads, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from m3_memory.kernel.clock import seconds_between
from m3_memory.storage import history
from m3_memory.storage.sql import sql
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
    """Everything in the store that does not agree with the rest; empty for a sound store.

    `heads` are the heads of histories noted beside the store, by `origin/user`.
    """
    found = [Fault("file", damage) for damage in reader.dialect.damage(reader)]
    for part, what, counted in _COUNTED:
        row = reader.row(sql(counted))
        if row and number(row[0]):
            found.append(Fault(part, f"{row[0]} {what}"))
    return found + _broken_chains(reader, heads) + _early_store_times(reader, clock_now)


def counts(reader: Reader) -> dict[str, int]:
    """How much the store holds: memories, versions, open beliefs, vectors, events, and jobs by state."""
    tables: dict[str, LiteralString] = {
        "memories": "SELECT count(DISTINCT memory_id) FROM memory_items",
        "versions": "SELECT count(*) FROM memory_items",
        "open_beliefs": "SELECT count(*) FROM memory_validity"
        " WHERE recorded_to = '9999-12-31T23:59:59.999999Z'",
        "vectors": "SELECT count(*) FROM memory_embeddings",
        "without_vectors": "SELECT count(*) FROM memory_items AS i"
        " JOIN memory_validity AS v ON v.item = i.item"
        " AND v.recorded_to = '9999-12-31T23:59:59.999999Z' WHERE i.embed = 1"
        " AND NOT EXISTS (SELECT 1 FROM memory_embeddings AS e WHERE e.item = i.item)",
        "events": "SELECT count(*) FROM memory_history",
        "jobs_waiting": "SELECT count(*) FROM jobs WHERE state <> 'dead'",
        "jobs_dead": "SELECT count(*) FROM jobs WHERE state = 'dead'",
    }
    found: dict[str, int] = {}
    for name, counted in tables.items():
        row = reader.row(sql(counted))
        found[name] = number(row[0]) if row else 0
    return found


def _broken_chains(reader: Reader, heads: Mapping[str, tuple[int, str]]) -> list[Fault]:
    found: list[Fault] = []
    for owner, user_id in reader.rows(sql("SELECT owner, user_id FROM owners ORDER BY owner")):
        broken = history.verify(reader, number(owner), heads.get(f"{reader.origin}/{text(user_id)}"))
        if broken:
            found.append(Fault("history", f"of {user_id}, at event {broken.sequence}: {broken.reason}"))
    return found


def _early_store_times(reader: Reader, clock_now: str) -> list[Fault]:
    row = reader.row(sql("SELECT max(last_store_time) FROM owners"))
    ahead = seconds_between(clock_now, text(row[0])) if row and row[0] is not None else 0.0
    if ahead <= CLOCK_TOLERANCE_SECONDS:
        return []
    return [Fault("clock", f"the last store time is {ahead:.0f} seconds ahead of the clock")]
