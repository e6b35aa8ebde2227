"""Reading a whole store: table after table, page by page, all of one moment."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

from m3_memory.errors import StoreDamaged
from m3_memory.storage.dump.lines import Heading, Tally, encoded
from m3_memory.storage.dump.tables import TABLES, Table
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from m3_memory.storage.database import Reader
    from m3_memory.storage.dump.tables import Column
    from m3_memory.storage.sql import Row, Value

_PAGE = 200
"""Texts are long: so many rows are held in memory at once."""


def dumped(reader: Reader, seal: dict[str, Any]) -> Iterator[bytes]:
    """The lines of the store as this transaction sees it: the same for the same content, on either engine.

    `seal` is what the first line holds of the secret key. Raises StoreDamaged for a value that is not of its
    column's kind.
    """
    tally = Tally(reader.secret_key)
    for line in _lines(reader, seal):
        tally.add(line)
        yield line
    yield tally.ending()


def _lines(reader: Reader, seal: dict[str, Any]) -> Iterator[bytes]:
    (found,) = reader.rows(sql("SELECT schema_version, created_at FROM stores"))
    yield Heading(number(found[0]), reader.origin, text(found[1]), seal).line()
    for table in TABLES:
        for row in _rows(reader, table):
            yield encoded({"table": table.name, "row": _checked(table, row)})


def _rows(reader: Reader, table: Table) -> Iterator[Row]:
    key = ", ".join(table.key)
    columns = ", ".join(column.name for column in table.columns)
    selected = sql("SELECT") + Sql(columns) + sql("FROM") + Sql(table.name)
    ordered = Sql(f"ORDER BY {key} LIMIT {_PAGE}")
    after = Sql("")
    while page := reader.rows(selected + after + ordered):
        yield from page
        last = page[-1][: len(table.key)]
        after = Sql(f"WHERE ({key}) > ({', '.join('?' * len(last))})", last)


def _checked(table: Table, row: Row) -> dict[str, Value]:
    try:
        return {
            column.name: column.checked(_read(column, value))
            for column, value in zip(table.columns, row, strict=True)
        }
    except ValueError as error:
        key = ", ".join(map(str, row[: len(table.key)]))
        raise StoreDamaged(
            f"row {key} of {table.name} can't be exported: {error}", "m3 doctor tells what is wrong"
        ) from None


def _read(column: Column, value: Value) -> Value:
    """The value; a vector that the engine gave as the text of its numbers as float16."""
    if column.kind != "vector" or not isinstance(value, str):
        return value
    numbers: list[float] = json.loads(value)
    return struct.pack(f"<{len(numbers)}e", *numbers)
