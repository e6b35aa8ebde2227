"""Which journal a SQLite file is written with: a write-ahead log, or one that needs no shared memory."""

from __future__ import annotations

import time
from typing import LiteralString

import apsw

from m3_memory.storage.database import BUSY_SECONDS


def keep_off_shared_memory(connection: apsw.Connection, patience_seconds: float = BUSY_SECONDS) -> None:
    """Before anything is read: leaves a write-ahead log, if there is one, without the memory beside it.

    With the file to itself a connection needs no such memory (SQLite, "Write-Ahead Logging", section 8).
    Raises apsw.BusyError while others keep the log open.
    """
    connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
    use_journal(connection, "TRUNCATE", patience_seconds)
    connection.execute("PRAGMA locking_mode = NORMAL").fetchall()
    connection.execute("PRAGMA mmap_size = 0").fetchall()


def use_journal(
    connection: apsw.Connection, mode: LiteralString, patience_seconds: float = BUSY_SECONDS
) -> None:
    """Switching a file over needs it alone for a moment, and SQLite does not wait for that by itself."""
    until = time.monotonic() + patience_seconds
    while True:
        try:
            connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
