"""One connection of psycopg, as transactions, migrations and the pool take it."""

from __future__ import annotations

import re
import selectors
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, LiteralString, cast

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.pq import TransactionStatus

from m3_memory.storage.sql import Row, Sql, sql
from m3_memory.storage.transaction import text

if TYPE_CHECKING:
    from psycopg.abc import Buffer

_LONGEST_SECONDS = 24 * 60 * 60
_MARK = re.compile(r"'(?:[^']|'')*'|\?")
_NOW = "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"


class Number(Loader):
    """Sums and averages arrive as whole numbers and floats, as they do from SQLite."""

    def load(self, data: Buffer) -> int | float:
        written = bytes(data).decode()
        return int(written) if written.lstrip("-").isdigit() else float(written)


class Truth(Dumper):
    """Truth is 1 or 0 in a column of whole numbers."""

    oid = psycopg.adapters.types["int2"].oid

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


class PostgresConnection:
    """One psycopg connection; fulfils transaction.Connection, migrate.Migrating and pool.Pooled."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.raw = connection
        self._wait_milliseconds = -1
        self._unsent: list[Sql] = []

    @property
    def reusable(self) -> bool:
        """Between transactions a server says nothing: what can be read then is its farewell."""
        if self.raw.closed or self.raw.info.transaction_status != TransactionStatus.IDLE:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self.raw.fileno(), selectors.EVENT_READ)
            return not selector.select(0)

    def rows(self, statement: Sql) -> list[Row]:
        return cast("list[Row]", self._sent(statement).fetchall())

    def execute(self, statement: Sql) -> int:
        return self._sent(statement).rowcount

    def put(self, statement: Sql) -> None:
        """Runs a statement together with the next that is asked for an answer: one trip for both."""
        self._unsent.append(statement)

    def commit(self) -> None:
        if self._unsent:
            self._sent(self._unsent.pop())
        self.execute(sql("COMMIT"))

    def forget(self) -> None:
        """Drops what was not sent yet: its transaction is rolled back."""
        self._unsent.clear()

    def _sent(self, statement: Sql) -> psycopg.Cursor:
        if not self._unsent:
            return self._run(statement)
        unsent, self._unsent = self._unsent, []
        with self.raw.pipeline():
            for earlier in unsent:
                self._run(earlier)
            return self._run(statement)

    def _run(self, statement: Sql) -> psycopg.Cursor:
        return self.raw.execute(_bound(statement.text), statement.values)

    def run_script(self, script: str) -> None:
        self.raw.execute(cast("LiteralString", script))

    def _begun(self, script: str) -> str:
        """Runs the script that begins a transaction, and returns what the server's clock says after it."""
        found = self.raw.execute(cast("LiteralString", f"{script}; {_NOW}"))
        while found.nextset():
            pass
        return text(cast("list[Row]", found.fetchall())[0][0])

    def has_table(self, name: str) -> bool:
        found = self.rows(
            sql("SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?", name)
        )
        return bool(found)

    def wait_at_most(self, seconds: float) -> None:
        """How long a statement may wait for a lock from now on; to PostgreSQL nought means forever."""
        milliseconds = max(1, int(seconds * 1000))
        if milliseconds != self._wait_milliseconds:
            self.rows(sql("SELECT set_config('lock_timeout', ?, false)", f"{milliseconds}ms"))
            self._wait_milliseconds = milliseconds

    def begin_reading(self, seconds_left: float) -> str:
        """Opens a transaction whose every statement is stopped after that long; nought would mean never.

        Returns the time.
        """
        milliseconds = max(1, int(min(seconds_left, _LONGEST_SECONDS) * 1000))
        return self._begun(
            f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {milliseconds}"
        )

    def begin_writing(self, lock: int) -> str:
        """Opens a transaction whose first statement takes this lock, held to its end; returns the time."""
        return self._begun(f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({lock})")

    def close(self) -> None:
        self.raw.close()


@lru_cache(1024)
def _bound(text: str) -> LiteralString:
    """The statement text with the server's own parameter marks, which the driver passes on unread."""
    places = count(1)
    bound = _MARK.sub(lambda found: f"${next(places)}" if found[0] == "?" else found[0], text)
    return cast("LiteralString", bound)
