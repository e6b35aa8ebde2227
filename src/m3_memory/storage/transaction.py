"""Transaction: one read or write transaction over a driver's connection, the same for both engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from m3_memory.errors import DamagedExport, RestartNeeded, StoreDamaged
from m3_memory.kernel.clock import BEGINNING, later
from m3_memory.storage.sql import Row, Sql, sql

if TYPE_CHECKING:
    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.heads import HeadFile

GENESIS = "0" * 64

PUT_BACK = "stop the agents and put a backup made by m3 backup in its place"
"""What to do about a store that is beyond repair."""


class Connection(Protocol):
    """A driver's connection, inside a transaction."""

    def rows(self, statement: Sql) -> list[Row]: ...

    def execute(self, statement: Sql) -> int: ...

    def put(self, statement: Sql) -> None: ...


@dataclass(frozen=True, slots=True)
class Status:
    """What every transaction learns first: which store this is, and where its owner's record stands."""

    schema_version: int
    origin: str
    secret_key: bytes
    owner: int | None
    last_store_time: str
    chain_end: tuple[int, str] = (0, GENESIS)


@dataclass(slots=True)
class Transaction:
    """Fulfils Reader, and Writer once an owner is set by `opened_for_writing`."""

    connection: Connection
    dialect: Dialect
    status: Status
    now: str
    user_id: str
    changed: bool = False
    head: tuple[int, str] | None = None
    chained: frozenset[tuple[int, str]] = frozenset()

    @property
    def owner(self) -> int:
        assert self.status.owner is not None, "only a write transaction has an owner"
        return self.status.owner

    @property
    def store_time(self) -> str:
        return self.now

    @property
    def chain_end(self) -> tuple[int, str]:
        return self.head or self.status.chain_end

    @property
    def origin(self) -> str:
        return self.status.origin

    @property
    def secret_key(self) -> bytes:
        return self.status.secret_key

    def rows(self, statement: Sql) -> list[Row]:
        return self.connection.rows(statement)

    def row(self, statement: Sql) -> Row | None:
        found = self.connection.rows(statement)
        return found[0] if found else None

    def execute(self, statement: Sql) -> int:
        self.changed = True
        return self.connection.execute(statement)

    def put(self, statement: Sql) -> None:
        self.changed = True
        self.connection.put(statement)

    def insert(self, statement: Sql) -> int:
        return number(self.returning(statement)[0][0])

    def returning(self, statement: Sql) -> list[Row]:
        self.changed = True
        return self.connection.rows(statement)


def opened_for_reading(
    connection: Connection, dialect: Dialect, user_id: str, clock_now: str, schema_version: int
) -> Transaction:
    """The read transaction of this user; the connection's transaction has begun."""
    status = read_status(connection, user_id, schema_version)
    return Transaction(connection, dialect, status, max(clock_now, status.last_store_time), user_id)


def opened_for_writing(
    connection: Connection, dialect: Dialect, user_id: str, clock_now: str, schema_version: int
) -> Transaction:
    """The write transaction of this user, whose lock is held; makes the owner's row at its first write."""
    status = read_status(connection, user_id, schema_version)
    now = max(clock_now, _after(status.last_store_time))
    if status.owner is None:
        connection.execute(
            sql(
                "INSERT INTO owners (user_id, last_store_time, last_sequence, last_hash) VALUES (?, ?, 0, ?)",
                user_id,
                BEGINNING,
                GENESIS,
            )
        )
        status = read_status(connection, user_id, schema_version)
    return Transaction(connection, dialect, status, now, user_id)


def _after(store_time: str) -> str:
    try:
        return later(store_time)
    except ValueError as error:
        raise StoreDamaged("the last store time of this user is no time", PUT_BACK) from error


def closing(transaction: Transaction, heads: HeadFile) -> None:
    """Notes the transaction's store time, so that the next one's is later, and the end of its owner's chain.

    Runs before the commit.
    """
    heads.follow(transaction)
    if transaction.changed:
        noted = sql("UPDATE owners SET last_store_time = ?", transaction.now)
        if transaction.head:
            noted += sql(", last_sequence = ?, last_hash = ?", *transaction.head)
        transaction.connection.put(noted + sql("WHERE owner = ?", transaction.owner))


def read_status(connection: Connection, user_id: str, schema_version: int) -> Status:
    """Who the store is and where the user's record stands. Raises StoreDamaged, RestartNeeded."""
    found = connection.rows(
        sql(
            "SELECT s.schema_version, s.origin, s.secret_key, o.owner, o.last_store_time, o.last_sequence,"
            " o.last_hash FROM stores AS s LEFT JOIN owners AS o ON o.user_id = ?",
            user_id,
        )
    )
    if not found:
        raise StoreDamaged("the store has no record of itself", PUT_BACK)
    version, origin, key, owner, last_time, *chain_end = found[0]
    if number(version) != schema_version:
        raise RestartNeeded(
            "the store was migrated by another process since this one opened it",
            "restart the agent, so that it starts a new server",
        )
    assert isinstance(key, bytes)
    return Status(
        number(version),
        text(origin),
        key,
        None if owner is None else number(owner),
        BEGINNING if owner is None else last_time if isinstance(last_time, str) else "",
        (0, GENESIS) if owner is None else (number(chain_end[0]), text(chain_end[1])),
    )


def contradictory(error: Exception) -> DamagedExport:
    """The error for rows that no store can hold together."""
    said = str(error).strip().partition("\n")[0]
    return DamagedExport(
        f"the export's rows contradict each other: {said}", "nothing was written; use another copy of it"
    )


def number(value: object) -> int:
    """A column that holds whole numbers."""
    assert isinstance(value, int), value
    return value


def text(value: object) -> str:
    """A column that holds text."""
    assert isinstance(value, str), value
    return value


def real(value: object) -> float:
    """A column that holds numbers with a fraction."""
    assert isinstance(value, int | float), value
    return float(value)
