"""One connection of apsw, as transactions, migrations and the pool take it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import apsw

from m3_memory.storage.sql import Row, Sql, sql

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_STEPS_UNWATCHED = 100_000
"""Of SQLite's own, a few milliseconds of work, between two looks at the time a reader has left."""


class SqliteConnection:
    """One apsw connection; fulfils transaction.Connection, migrate.Migrating and pool.Pooled."""

    def __init__(self, connection: apsw.Connection, path: Path, obstacle: apsw.Error | None = None) -> None:
        self.raw = connection
        self.obstacle = obstacle
        self._path = path
        self._file = _identity(path)

    @property
    def reusable(self) -> bool:
        return self.obstacle is None and self._file == _identity(self._path)

    def rows(self, statement: Sql) -> list[Row]:
        return list(self.raw.execute(statement.text, statement.values))

    def execute(self, statement: Sql) -> int:
        self.raw.execute(statement.text, statement.values)
        return self.raw.changes()

    def put(self, statement: Sql) -> None:
        self.raw.execute(statement.text, statement.values)

    def stop_when(self, over: Callable[[], bool] | None) -> None:
        """From now on whatever runs is interrupted once that is true; None lets it run."""
        self.raw.set_progress_handler(over, _STEPS_UNWATCHED)

    def run_script(self, script: str) -> None:
        self.raw.execute(script)

    def has_table(self, name: str) -> bool:
        return bool(self.rows(sql("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name)))

    def close(self) -> None:
        """Closes; what could not be tidied up, on a failing disk, is left to the next opening."""
        with suppress(apsw.Error):
            self.raw.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at this path: another one after a restore."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
