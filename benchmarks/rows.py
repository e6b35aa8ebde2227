"""How many rows a call reads from the store: the same number on every machine."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from m3_memory.app import App
from m3_memory.storage.database import BUSY_SECONDS, Reader, Store, Writer, unlimited
from m3_memory.storage.dialect import Dialect
from m3_memory.storage.heads import HeadFile
from m3_memory.storage.sql import Row, Sql


@dataclass
class CountingStore:
    """A store that counts the rows its readers get."""

    inner: Store
    rows_read: int = 0

    @property
    def dialect(self) -> Dialect:
        return self.inner.dialect

    @property
    def heads(self) -> HeadFile:
        return self.inner.heads

    @contextmanager
    def read(self, user_id: str, seconds_left: Callable[[], float] = unlimited) -> Generator[Reader]:
        with self.inner.read(user_id, seconds_left) as reader:
            yield _CountingReader(reader, self)

    def write(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> AbstractContextManager[Writer]:
        return self.inner.write(user_id, timeout_seconds)


@dataclass(frozen=True)
class _CountingReader:
    inner: Reader
    counted: CountingStore

    @property
    def dialect(self) -> Dialect:
        return self.inner.dialect

    @property
    def user_id(self) -> str:
        return self.inner.user_id

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


def counting(app: App) -> CountingStore:
    """The store of an app, counted from now on."""
    return CountingStore(app.database)
