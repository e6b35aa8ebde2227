"""Store, Reader, Writer: what a call may ask of a store; Database: what who opened it may ask besides."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.heads import HeadFile
    from m3_memory.storage.sql import Row, Sql
    from m3_memory.storage.transaction import Connection

BUSY_SECONDS = 10.0
"""The longest anybody waits for other writers."""


def unlimited() -> float:
    """The seconds left to who may take as long as it takes."""
    return math.inf


class Reader(Protocol):
    """One read transaction: every answer is of the same moment."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def user_id(self) -> str:
        """Whose transaction this is."""
        ...

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

    @property
    def chain_end(self) -> tuple[int, str]:
        """The (sequence, hash) of the last event of the owner's history, this transaction's included."""
        ...

    def execute(self, statement: Sql) -> int:
        """Runs a statement; returns how many rows it changed."""
        ...

    def put(self, statement: Sql) -> None:
        """Runs a statement whose count nobody asks for, before whatever is run next and before the commit."""
        ...

    def insert(self, statement: Sql) -> int:
        """Runs an INSERT … RETURNING of one whole number and returns that number."""
        ...

    def returning(self, statement: Sql) -> list[Row]:
        """Runs a statement that changes rows and returns what its RETURNING says, in any order."""
        ...


class Store(Protocol):
    """A store as one call sees it. Transactions are short, and no model is called inside one."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def heads(self) -> HeadFile:
        """The file that notes where each owner's history stood when last written to."""
        ...

    def read(
        self, user_id: str, seconds_left: Callable[[], float] = unlimited
    ) -> AbstractContextManager[Reader]:
        """Opens a read transaction for a caller of this user; takes no lock that a writer could wait for.

        A statement that still runs when no seconds are left is stopped: it raises DeadlinePassed.
        """
        ...

    def write(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> AbstractContextManager[Writer]:
        """Opens the one write transaction of this owner; commits at the end, rolls back on any error.

        Raises StoreBusy when the lock stays taken for `timeout_seconds`, StoreReadOnly, StoreFull,
        StoreDamaged, RestartNeeded when the store was migrated under this process.
        """
        ...

    def erasing(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> AbstractContextManager[Writer]:
        """Opens a write transaction that may also delete what was said: for an erasure, and nothing else.

        Raises what `write` does, and Refused for who may not.
        """
        ...

    def scrub(self) -> bool:
        """Takes what was deleted out of the store's files; False if it must wait for other processes."""
        ...

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """Yields whether this block alone, of all processes, now does what the name says; never waits.

        It ends with the block, and with the process. Raises StoreReadOnly where no such lock can be made.
        """
        ...


class Database(Store, Protocol):
    """A store as who opened it sees it."""

    def rebuild(self) -> AbstractContextManager[Connection]:
        """Opens the transaction that may change what a store is; nobody else reads or writes beside it.

        Rows may be removed also where they are kept from everybody else. Commits at the end, after which
        numbers go on from the largest there are; rolls back on any error. What is cached beside the store is
        dropped. Raises StoreBusy, DamagedExport for rows that contradict each other, Refused for who may not.
        """
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
