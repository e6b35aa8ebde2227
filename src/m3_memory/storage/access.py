"""How often and when memories were last shown: counters beside the memories, that no read depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from m3_memory.storage.sql import sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.storage.database import Database

_NOBODY = ""
"""The owner whose transactions count: no user has the empty name, so no user's store time moves."""


class Access(NamedTuple):
    """How often a memory was shown, and when last, in store form."""

    use_count: int
    last_used_at: str


def add(database: Database, uses: Mapping[str, Access]) -> None:
    """Adds to the counts of these memories, those that are gone left out; waits for no lock.

    Raises StoreBusy when the lock is taken, and what writing raises.
    """
    with database.write(_NOBODY, timeout_seconds=0.0) as writer:
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
