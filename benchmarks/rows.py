"""How many rows a call reads from the store: the same number on every machine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from m3_memory.app import App
from m3_memory.storage.database import Database, Reader, Writer
from m3_memory.storage.dialect import Dialect
from m3_memory.storage.heads import HeadFile
from m3_memory.storage.sql import Row, Sql


@dataclass
class CountingDatabase:
    """A database that counts the rows its readers get."""

    inner: Database
    rows_read: int = 0

    @property
    def dialect(self) -> Dialect:
        return self.inner.dialect

    @contextmanager
    def read(self, user_id: str) -> Generator[Reader]:
        with self.inner.read(user_id) as reader:
            yield _CountingReader(reader, self)

    def write(self, user_id: str, timeout_seconds: float = 10.0) -> AbstractContextManager[Writer]:
        return self.inner.write(user_id, timeout_seconds)

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        return self.inner.exclusive(name)

    @property
    def heads(self) -> HeadFile:
        return self.inner.heads

    @property
    def migrated(self) -> tuple[str, ...]:
        return self.inner.migrated

    @property
    def backup_path(self) -> Path | None:
        return self.inner.backup_path

    def close(self) -> None:
        self.inner.close()


@dataclass(frozen=True)
class _CountingReader:
    inner: Reader
    counted: CountingDatabase

    @property
    def dialect(self) -> Dialect:
        return self.inner.dialect

    @property
    def now(self) -> str:
        return self.inner.now

    @property
    def origin(self) -> str:
        return self.inner.origin

    @property
    def secret_key(self) -> bytes:
        return self.inner.secret_key

    def rows(self, statement: Sql) -> list[Row]:
        found = self.inner.rows(statement)
        self.counted.rows_read += len(found)
        return found

    def row(self, statement: Sql) -> Row | None:
        found = self.inner.row(statement)
        self.counted.rows_read += found is not None
        return found


def counting(app: App) -> CountingDatabase:
    """The store of an app, counted from now on."""
    return CountingDatabase(app.database)
