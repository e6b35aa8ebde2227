"""How often and when memories were last shown: counters beside the memories, that no read depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from m3_memory.storage.database import Database, Reader

_NOBODY = ""
"""The owner whose transactions count: no user has the empty name, so no user's store time moves."""


class Access(NamedTuple):
    """How often a memory was shown, and when last, in store form."""

    use_count: int
    last_used_at: str


def add(database: Database, uses: Mapping[str, Access], timeout_seconds: float = 0.0) -> None:
    """Adds to the counts of these memories, those that are gone left out; by default waits for no lock.

    Raises StoreBusy when the lock does not come free in time, and what writing raises.
    """
    with database.write(_NOBODY, timeout_seconds) as writer:
        for memory_id, seen in uses.items():
            writer.execute(
                sql(
                    "INSERT INTO memory_access (memory_id, last_used_at, use_count)"
                    " SELECT memory_id, CAST(? AS TEXT), CAST(? AS INTEGER) FROM memory_items"
                    " WHERE memory_id = ? LIMIT 1"
                    " ON CONFLICT (memory_id) DO UPDATE SET"
                    " use_count = memory_access.use_count + excluded.use_count,"
                    " last_used_at = CASE WHEN excluded.last_used_at > memory_access.last_used_at"
                    " THEN excluded.last_used_at ELSE memory_access.last_used_at END",
                    seen.last_used_at,
                    seen.use_count,
                    memory_id,
                )
            )


def accesses(reader: Reader, memory_ids: Sequence[str]) -> dict[str, Access]:
    """What is known of these memories; those never shown are not in it."""
    found = reader.rows(
        sql("SELECT memory_id, use_count, last_used_at FROM memory_access WHERE")
        + any_of("memory_id", tuple(memory_ids))
    )
    return {text(row[0]): Access(number(row[1]), text(row[2])) for row in found}
