"""Inserts of many rows by few statements: the same on both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.storage.sql import Sql, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.storage.database import Writer
    from m3_memory.storage.sql import Row, Value

_ROWS_AT_ONCE = 100
"""Rows of one statement: few enough that its text is kept prepared, many enough that no more would help."""


def insert_rows(writer: Writer, into: Sql, rows: Sequence[Sequence[Value]], then: Sql | None = None) -> None:
    """Adds rows: `into` is `INSERT INTO table (columns)`, `then` what follows the values, as ON CONFLICT."""
    for statement in _statements(into, rows, then):
        writer.put(statement)


def insert_returning(writer: Writer, into: Sql, rows: Sequence[Sequence[Value]], then: Sql) -> list[Row]:
    """Adds rows and returns what `then`, a RETURNING, says of each; in any order."""
    found: list[Row] = []
    for statement in _statements(into, rows, then):
        found += writer.returning(statement)
    return found


def _statements(into: Sql, rows: Sequence[Sequence[Value]], then: Sql | None) -> Iterator[Sql]:
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        statement = into + values_of(rows[start : start + _ROWS_AT_ONCE])
        yield statement + then if then else statement
