"""A PostgreSQL server that fails when told to: psycopg cursors that count statements.

The nth statement of the block meets a real error of the server, or a connection that the server has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg


class FaultyServer:
    """Counts statements while armed; `struck` says whether the fault has happened. `connect` is psycopg's."""

    def __init__(self) -> None:
        self._connect = psycopg.connect
        self._cursor = _counting_cursor(self)
        self.count = 0
        self.struck = False
        self._at = 0
        self._strike = lost_server

    def connect(self, address: str, **options: Any) -> psycopg.Connection[Any]:
        """As psycopg's, with cursors that count."""
        options.pop("cursor_factory", None)
        return self._connect(address, cursor_factory=self._cursor, **options)

    @contextmanager
    def failing(self, at: int, strike: Callable[[psycopg.Cursor[Any]], None]) -> Generator[None]:
        """For the block, statement number `at` (from 1) strikes."""
        self.count, self.struck = 0, False
        self._at, self._strike = at, strike
        try:
            yield
        finally:
            self._at = 0

    def statement(self, cursor: psycopg.Cursor[Any]) -> None:
        """One more statement is about to be sent."""
        self.count += 1
        if self.count == self._at:
            self._at, self.struck = 0, True
            self._strike(cursor)


def _counting_cursor(server: FaultyServer) -> type[psycopg.Cursor[Any]]:
    class Counting(psycopg.RawCursor[Any]):
        def execute(self, query: Any, *arguments: Any, **options: Any) -> Counting:
            server.statement(self)
            super().execute(query, *arguments, **options)
            return self

    return Counting


def full_server(cursor: psycopg.Cursor[Any]) -> None:
    """The statement fails as on a server whose disk is full."""
    _raised(cursor, "53100")


def broken_server(cursor: psycopg.Cursor[Any]) -> None:
    """The statement fails as on a server whose disk fails."""
    _raised(cursor, "58030")


def lost_server(cursor: psycopg.Cursor[Any]) -> None:
    """The server has ended the connection, as on a restart."""
    information = cursor.connection.info
    with psycopg.connect(information.dsn, password=information.password, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend($1, 10000)", [information.backend_pid])


def _raised(cursor: psycopg.Cursor[Any], state: LiteralString) -> None:
    cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '{state}'; END $$")
