"""Database, Reader, Writer: what the rest of the product may ask of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.heads import HeadFile
    from m3_memory.storage.sql import Row, Sql


class Reader(Protocol):
    """One read transaction: every answer is of the same moment."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def now(self) -> str:
        """The later of the clock and the owner's last store time: the moment a default read answers for."""
        ...

    @property
    def origin(self) -> str:
        """The id of this store."""
        ...

    @property
    def secret_key(self) -> bytes:
        """The store's key for keyed digests."""
        ...

    def rows(self, statement: Sql) -> list[Row]: ...

    def row(self, statement: Sql) -> Row | None: ...


class Writer(Reader, Protocol):
    """One write transaction of one owner, alone among that owner's writers."""

    @property
    def owner(self) -> int:
        """The number of the owner whose lock is held."""
        ...

    @property
    def store_time(self) -> str:
        """This transaction's one store time: later than every store time of this owner before it."""
        ...

    head: tuple[int, str] | None
    """The (sequence, hash) of the last event this transaction added to its owner's history."""

    def execute(self, statement: Sql) -> int:
        """Runs a statement; returns how many rows it changed."""
        ...

    def execute_many(self, text: str, rows: Iterable[Row]) -> None:
        """Runs one statement text for each row of values."""
        ...

    def insert(self, statement: Sql) -> int:
        """Runs an INSERT … RETURNING of one whole number and returns that number."""
        ...

    def after_commit(self, action: Callable[[], None]) -> None:
        """Runs the action once this transaction is durable; never if it is rolled back."""
        ...


class Database(Protocol):
    """A store. Transactions are short, and no model is called inside one."""

    @property
    def dialect(self) -> Dialect: ...

    def read(self, user_id: str) -> AbstractContextManager[Reader]:
        """Opens a read transaction for a caller of this user; takes no lock that a writer could wait for."""
        ...

    def write(self, user_id: str, timeout_seconds: float = 10.0) -> AbstractContextManager[Writer]:
        """Opens the one write transaction of this owner; commits at the end, rolls back on any error.

        Raises StoreBusy when the lock stays taken for `timeout_seconds`, StoreReadOnly, StoreFull,
        StoreDamaged, RestartNeeded when the store was migrated under this process.
        """
        ...

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """Yields whether this block alone, of all processes, now does what the name says; never waits.

        False too where such a lock can't be made. It ends with the block, and with the process.
        """
        ...

    @property
    def heads(self) -> HeadFile:
        """The file that notes where each owner's history stood when last written to."""
        ...

    @property
    def migrated(self) -> tuple[str, ...]:
        """The names of the migrations that opening this store applied."""
        ...

    @property
    def backup_path(self) -> Path | None:
        """The copy that was made before migrating; None where nothing had to change, and on PostgreSQL."""
        ...

    def close(self) -> None: ...
