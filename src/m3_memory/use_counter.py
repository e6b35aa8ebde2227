"""Which memories answers showed, kept until they can be counted in the store without anybody waiting."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from m3_memory.errors import M3Error, StoreBusy
from m3_memory.storage import access
from m3_memory.storage.access import Access

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from m3_memory.kernel.clock import Clock
    from m3_memory.opened_stores import OpenedStores

MAX_KEPT = 10_000
"""So many memories are kept for one store; what is shown beyond them is not counted."""

THREAD = "m3-uses"
PAUSE_SECONDS = 2.0
"""How long counts are gathered before they are written."""


class UseCounter:
    """Counts of memories shown, by store; threads share it.

    They are written by a thread of its own a little after an answer, and once more at the end. No lock is
    ever waited for: what can't be written now waits for the next time, and at the end it is lost, as are the
    last seconds of a process that is killed.
    """

    def __init__(self, stores: OpenedStores, clock: Clock) -> None:
        self._stores = stores
        self._clock = clock
        self.pause_seconds = PAUSE_SECONDS
        self._guard = threading.Lock()
        self._kept: dict[str, dict[str, Access]] = {}
        self._writing = threading.Lock()
        self._due: threading.Timer | None = None

    def note(self, store: str, memory_ids: Sequence[str]) -> None:
        """Takes down that these memories of a store were shown now."""
        now = self._clock.now()
        self._add(store, {memory_id: Access(1, now) for memory_id in memory_ids})

    def write_soon(self) -> None:
        """Sees to it that what was noted is written in a while; returns at once."""
        with self._guard:
            if self._due or not any(self._kept.values()):
                return
            due = self._due = threading.Timer(self.pause_seconds, self.write_now)
        due.name, due.daemon = THREAD, True
        with suppress(RuntimeError):  # no more threads: what is noted is written at the end
            due.start()

    def write_now(self) -> None:
        """Writes what was noted, as far as no lock stands in the way; never raises for a store."""
        with self._writing:
            with self._guard:
                kept, self._kept = self._kept, {}
                due, self._due = self._due, None
            if due:
                due.cancel()
            for store, uses in kept.items():
                self._write(store, uses)

    def _write(self, store: str, uses: Mapping[str, Access]) -> None:
        """A store that is closed by now, or can't be written at all, is not worth a second try."""
        database = self._stores.opened.get(store)
        if database is None or not uses:
            return
        try:
            access.add(database, uses)
        except StoreBusy:
            self._add(store, uses)
        except M3Error:
            return

    def _add(self, store: str, uses: Mapping[str, Access]) -> None:
        with self._guard:
            kept = self._kept.setdefault(store, {})
            for memory_id, more in uses.items():
                known = kept.get(memory_id, Access(0, ""))
                if known.use_count or len(kept) < MAX_KEPT:
                    latest = max(known.last_used_at, more.last_used_at)
                    kept[memory_id] = Access(known.use_count + more.use_count, latest)
