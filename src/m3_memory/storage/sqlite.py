"""SQLite through apsw: write-ahead logging, one writer at a time, readers that wait for nobody."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import apsw

from m3_memory import errors
from m3_memory.atomic_file import replacing
from m3_memory.storage import backup, migrate
from m3_memory.storage.database import BUSY_SECONDS, unlimited
from m3_memory.storage.filesystem import Disk
from m3_memory.storage.heads import HeadFile
from m3_memory.storage.journal import keep_off_shared_memory, use_journal
from m3_memory.storage.locks import file_lock
from m3_memory.storage.pool import Pool
from m3_memory.storage.replaced import set_aside_stray_log
from m3_memory.storage.sql import sql
from m3_memory.storage.sqlite_connection import SqliteConnection
from m3_memory.storage.sqlite_dialect import SqliteDialect
from m3_memory.storage.transaction import (
    Transaction,
    closing,
    contradictory,
    opened_for_reading,
    opened_for_writing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from m3_memory.kernel.clock import Clock
    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.transaction import Connection

_DISK = Disk()
_GUARDS = r"SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%\_kept' ESCAPE '\'"
_FALLS_BACK = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError)
_TYPES = {
    "SERIAL_KEY": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "WHOLE": "INTEGER",
    "FLOAT": "REAL",
    "BYTES": "BLOB",
    "TOKEN": "TEXT",
}


def sqlite_schema() -> migrate.Schema:
    """What this version of the code brings a SQLite store to."""
    return migrate.Schema(migrate.shipped("sqlite"), _TYPES)


class SqliteDatabase:
    """A store in one file."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        durable: bool = False,
        disk: Disk = _DISK,
        heads: Path | None = None,
        schema: migrate.Schema | None = None,
    ) -> None:
        self.path = path
        self.dialect = SqliteDialect(path, self, disk.file_system)
        self._file_system = disk.file_system
        self._clock = clock
        self._durable = durable
        self._vfs = disk.vfs
        self._pool = Pool(self._opened, apsw.Error)
        self._writing = threading.Lock()
        self.heads = HeadFile(heads or path.with_name(f"{path.name}.head"))
        self.migrated: tuple[str, ...] = ()
        self.backup_path: Path | None = None
        schema = schema or sqlite_schema()
        self._may_make = not schema.as_it_is
        try:
            with self._classified():
                self.schema_version = self._prepare(schema)
            self._may_make = False  # a store that goes away under us is gone, not a new one
        except BaseException:
            self._pool.close()
            raise

    @contextmanager
    def read(self, user_id: str, seconds_left: Callable[[], float] = unlimited) -> Generator[Reader]:
        with self._classified(), self._pool.connection() as connection:
            connection.raw.execute("BEGIN")
            connection.stop_when(lambda: seconds_left() <= 0)
            try:
                yield opened_for_reading(
                    connection, self.dialect, user_id, self._clock.now(), self.schema_version
                )
            finally:
                connection.stop_when(None)
                _rolled_back(connection)

    @contextmanager
    def write(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> Generator[Writer]:
        until = time.monotonic() + timeout_seconds
        with self._classified(), _held(self._writing, timeout_seconds), self._pool.connection() as connection:
            _begin_writing(connection, max(0.0, until - time.monotonic()))
            transaction = yield from self._transact(connection, user_id)
        self.heads.note(transaction)

    @contextmanager
    def erasing(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> Generator[Writer]:
        with self.write(user_id, timeout_seconds) as writer:
            writer.execute(sql("INSERT INTO guard_lifted (reason) VALUES ('erasure')"))
            yield writer
            writer.execute(sql("DELETE FROM guard_lifted"))

    def scrub(self) -> bool:
        """Empties the log, writes the file anew without what was deleted, and drops the vector files."""
        try:
            with (
                self._classified(),
                _held(self._writing, BUSY_SECONDS),
                self._pool.connection() as connection,
            ):
                # A word index that keeps no texts only marks what was deleted; merged whole, it drops it.
                connection.raw.execute("INSERT INTO search_index (search_index) VALUES ('optimize')")
                connection.raw.execute("VACUUM")
                _checkpointed(connection.raw)
        except errors.Unavailable:
            return False
        self._drop_vectors()
        return True

    @contextmanager
    def exclusive(self, name: str) -> Generator[bool]:
        path = self.path.with_name(f"{self.path.name}.{name}.lock")
        with ExitStack() as held:
            try:
                alone = held.enter_context(file_lock(path))
            except OSError as error:
                raise errors.StoreReadOnly(
                    f"the lock {path} can't be made: {error.strerror or error}",
                    "make the store's folder writable for this user; reading goes on",
                ) from error
            yield alone

    @contextmanager
    def rebuild(self) -> Generator[Connection]:
        """The guards that keep rows are off in this transaction alone."""
        with self._classified(), _held(self._writing, BUSY_SECONDS), self._pool.connection() as connection:
            _begin_writing(connection, BUSY_SECONDS)
            try:
                guards = connection.raw.execute(_GUARDS).fetchall()
                for name, _ in guards:
                    connection.raw.execute(f"DROP TRIGGER {name}")
                self._drop_vectors()
                yield connection
                for _, written in guards:
                    connection.raw.execute(str(written))
                connection.raw.execute("COMMIT")
            except apsw.ConstraintError as error:
                _rolled_back(connection)
                raise contradictory(error) from error
            except BaseException:
                _rolled_back(connection)
                raise

    def close(self) -> None:
        self._pool.close()

    def copy_to(self, path: Path) -> None:
        """A consistent copy of the whole store in one new file: checked, flushed to the disk, private.

        It has its name only once it is whole. Raises OSError, such as FileExistsError.
        """
        with self._classified(), replacing(path) as unfinished:
            with self._pool.connection() as connection:
                _copied(connection.raw, unfinished)
            if path.exists():
                raise FileExistsError(f"{path} exists already")

    def _drop_vectors(self) -> None:
        for cached in self.path.parent.glob(f"{self.path.name}.vectors-*"):
            with suppress(OSError):  # a file of another past is noticed and built anew
                cached.unlink()

    def _transact(self, connection: SqliteConnection, user_id: str) -> Generator[Writer, None, Transaction]:
        try:
            transaction = opened_for_writing(
                connection, self.dialect, user_id, self._clock.now(), self.schema_version
            )
            yield transaction
            closing(transaction, self.heads)
            connection.raw.execute("COMMIT")
        except BaseException:
            _rolled_back(connection)
            raise
        return transaction

    def _opened(self) -> SqliteConnection:
        if self.path.exists() and not os.access(self.path, os.W_OK) and not self._has_log():
            # SQLite would make files beside it with the same permissions, and leave them there.
            return self._opened_unwritable(apsw.ReadOnlyError(f"{self.path} can't be written"))
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        connection = None
        if self._may_make:
            self._make_private()
        set_aside_stray_log(self.path)
        try:
            connection = apsw.Connection(str(self.path), flags=flags, vfs=self._vfs)
            if self._file_system.is_shared:
                keep_off_shared_memory(connection)
            _configure(connection, durable=self._durable or self._file_system.is_shared)
            return SqliteConnection(connection, self.path)
        except apsw.Error as error:
            if connection is not None:
                connection.close()
            without_locks = isinstance(self.dialect.classify(error), errors.UnsafeFolder)
            if without_locks or not isinstance(error, _FALLS_BACK) or not self.path.exists():
                raise
            return self._opened_unwritable(error)

    def _make_private(self) -> None:
        """Makes a new store, its user's alone; SQLite gives the files beside it the same permissions."""
        with suppress(OSError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))

    def _opened_unwritable(self, error: apsw.Error) -> SqliteConnection:
        """Reads the file as it lies there, for one transaction; only where no log beside it holds more.

        For a file or folder that can't be written, and a full disk, where SQLite has no room to share memory.
        """
        if self._has_log():
            if not isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError):
                return self._opened_alone(error)
            raise errors.StoreReadOnly(
                f"{self.path} has unfinished writes beside it, unreadable where nothing may be written",
                "make the folder writable once, or copy the store with its -wal file to a folder that is",
            ) from error
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        where = f"{self.path.absolute().as_uri()}?immutable=1"
        return SqliteConnection(apsw.Connection(where, flags=flags, vfs=self._vfs), self.path, error)

    def _has_log(self) -> bool:
        """Whether writes stand beside the file that are not in it yet."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return log.exists() and log.stat().st_size > 0

    def _opened_alone(self, error: apsw.Error) -> SqliteConnection:
        """Reads a log without memory that processes share: for one transaction, with the file to itself."""
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=self._vfs)
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except apsw.Error:
            connection.close()
            raise error from None
        return SqliteConnection(connection, self.path, error)

    def _prepare(self, schema: migrate.Schema) -> int:
        """Migrates where needed; returns the schema version that transactions are then held to."""
        with self._pool.connection() as connection:
            connection.raw.execute("BEGIN")
            try:
                stored = migrate.stored_version(connection, schema)
            finally:
                _rolled_back(connection)
            if not (schema.as_it_is or self._file_system.is_shared or connection.raw.readonly("main")):
                use_journal(connection.raw, "WAL")
            return stored if stored >= schema.version else self._migrate(connection, schema)

    def _migrate(self, connection: SqliteConnection, schema: migrate.Schema) -> int:
        """In one transaction, and one process at a time: who comes second finds it done."""
        connection.raw.execute("BEGIN IMMEDIATE")
        try:
            self.migrated = migrate.apply(
                connection, schema, self._clock.now(), before=self._back_up_before_migrating
            )
            stored = migrate.stored_version(connection, schema)
            connection.raw.execute("COMMIT")
        except BaseException:
            _rolled_back(connection)
            raise
        return stored

    def _back_up_before_migrating(self, version: int) -> None:
        name = f"{self.path.stem}-before-migration-{version}"
        path = backup.new_path(self.path.parent, name, self._clock.now())
        self.copy_to(path)
        self.backup_path = path

    @contextmanager
    def _classified(self) -> Generator[None]:
        try:
            yield
        except apsw.Error as error:
            known = self.dialect.classify(error)
            if known is None:
                raise
            raise known from error


def _configure(connection: apsw.Connection, *, durable: bool) -> None:
    connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    if durable:
        connection.execute("PRAGMA fullfsync = ON")  # macOS: else the drive itself may still hold it back
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()


@contextmanager
def _held(lock: threading.Lock, timeout_seconds: float) -> Generator[None]:
    if not lock.acquire(timeout=max(0.0, timeout_seconds)):
        raise apsw.BusyError("another thread of this process is writing")
    try:
        yield
    finally:
        lock.release()


def _begin_writing(connection: SqliteConnection, timeout_seconds: float) -> None:
    if isinstance(connection.obstacle, apsw.FullError | apsw.IOError):
        raise connection.obstacle
    connection.raw.set_busy_timeout(int(timeout_seconds * 1000))
    connection.raw.execute("BEGIN IMMEDIATE")
    connection.raw.set_busy_timeout(int(BUSY_SECONDS * 1000))


def _checkpointed(connection: apsw.Connection) -> None:
    """Moves the whole log into the file and empties it. Raises apsw.BusyError while others read from it."""
    ((busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if busy:
        raise apsw.BusyError("the log is in use")


def _copied(source: apsw.Connection, path: Path) -> None:
    copy = apsw.Connection(str(path))
    try:
        with copy.backup("main", source, "main") as backup:
            backup.step()
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        verdict = copy.execute("PRAGMA quick_check").fetchall()
    finally:
        copy.close()
    if verdict != [("ok",)]:
        raise errors.StoreDamaged(
            f"the copy of the store is damaged: {verdict[0][0]}", "the store itself may be: run m3 doctor"
        )


def _rolled_back(connection: SqliteConnection) -> None:
    with suppress(apsw.Error):
        if connection.raw.in_transaction:
            connection.raw.execute("ROLLBACK")
