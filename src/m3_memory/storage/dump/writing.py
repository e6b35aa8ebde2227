"""Writing a dump into an empty store: verbatim, in one transaction, and what is derived made anew."""

from __future__ import annotations

import base64
from collections import Counter, deque
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, cast

from m3_memory.errors import DamagedExport, StoreNotEmpty, StoreTooNew
from m3_memory.storage.dump.lines import RECOVER, decoded, heading_of, rows_of
from m3_memory.storage.dump.tables import DERIVED, TABLES, Table
from m3_memory.storage.reindex import document
from m3_memory.storage.sql import Sql, sql, values_of
from m3_memory.storage.transaction import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from m3_memory.storage.database import Database
    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.dump.lines import Heading, Lines
    from m3_memory.storage.dump.tables import Column
    from m3_memory.storage.sql import Value
    from m3_memory.storage.transaction import Connection

_ROWS_AT_ONCE = 100

_BY_NAME = {table.name: (place, table) for place, table in enumerate(TABLES)}
_ITEMS, _VECTORS = (_BY_NAME[name][1] for name in ("memory_items", "memory_embeddings"))


def restore(database: Database, lines: Lines, secret_key: bytes, *, examined: bool = False) -> Counter[str]:
    """Makes an empty store the one a dump tells of: numbers, times, history and key are its own.

    The dump is read whole before anything is written, unless it comes from a store and so was `examined`, and
    checked again, row by row, as it is written. All of it is stored, or nothing. Returns the rows of each
    table. Raises StoreNotEmpty, DamagedExport, StoreTooNew, StoreBusy and the errors of writing.
    """
    heading = heading_of(lines)
    if not examined:
        deque(rows_of(lines, secret_key), maxlen=0)
    counts = Counter[str]()
    with database.rebuild() as store:
        _begin(store, heading, secret_key)
        for table, rows in groupby(_rows(rows_of(lines, secret_key)), lambda found: found[0]):
            while chunk := [row for _, row in islice(rows, _ROWS_AT_ONCE)]:
                _insert(store, database.dialect, table, chunk)
                counts[table.name] += len(chunk)
        _derive(store)
    return counts


def _begin(store: Connection, heading: Heading, secret_key: bytes) -> None:
    """Empties the store of all but memories, which are in the way, and gives it its new identity."""
    ((schema, memories),) = store.rows(
        sql("SELECT schema_version, (SELECT count(DISTINCT memory_id) FROM memory_items) FROM stores")
    )
    if heading.schema != schema:
        raise StoreTooNew(
            f"the export has schema {heading.schema} and this store {schema}; nothing was written",
            "upgrade: pip install --upgrade m3-memory"
            if heading.schema > number(schema)
            else "restore it with the version that wrote it, then open that store with this one",
        )
    if memories:
        raise StoreNotEmpty(
            f"the store holds {memories:,} memories; a whole store is restored into an empty one",
            "name another home folder or database, or move this store's file away; nothing was written",
        )
    for name in (*DERIVED, *_BY_NAME):
        store.execute(sql("DELETE FROM") + Sql(name))
    own = (heading.origin, secret_key, heading.created_at)
    store.execute(sql("UPDATE stores SET origin = ?, secret_key = ?, created_at = ?", *own))


def _rows(lines: Iterable[bytes]) -> Iterator[tuple[Table, list[Value]]]:
    """The rows on these lines, checked, in their order. Raises DamagedExport."""
    last = tuple[Any, ...]()
    for place, line in enumerate(lines, 2):
        try:
            order, table, row = _row(line)
            at = (order, *row[: len(table.key)])
            if at <= last:
                raise ValueError(f"the rows of {table.name} are not in order, or one comes twice")
        except ValueError as error:
            raise DamagedExport(f"line {place:,} of the export can't be used: {error}", RECOVER) from None
        last = at
        yield table, row


def _insert(store: Connection, dialect: Dialect, table: Table, rows: Sequence[list[Value]]) -> None:
    names = [column.name for column in table.columns]
    if table is _VECTORS:
        for row in rows:
            row[-1] = dialect.vector_value(cast("bytes", row[-1]))
    store.execute(Sql(f"INSERT INTO {table.name} ({', '.join(names)})") + values_of(rows))
    if table is _ITEMS:
        places = [names.index(name) for name in ("item", "title", "content", "audience")]
        documents = [document(*(row[place] for place in places)) for row in rows]
        store.execute(sql("INSERT INTO search_documents (item, tokens, token_count)") + values_of(documents))


def _derive(store: Connection) -> None:
    store.execute(
        sql(
            "INSERT INTO search_totals (audience, documents, tokens)"
            " SELECT i.audience, count(*), sum(d.token_count) FROM search_documents AS d"
            " JOIN memory_items AS i ON i.item = d.item GROUP BY i.audience"
        )
    )
    store.execute(
        sql(
            "INSERT INTO search_changes (item, kind) SELECT i.item, 'insert' FROM memory_items AS i"
            " ORDER BY i.item"
        )
    )


def _row(line: bytes) -> tuple[int, Table, list[Value]]:
    """Raises ValueError for what no export has."""
    found = decoded(line)
    order, table = _BY_NAME.get(str(found.get("table")), (0, _ITEMS))
    given = found.get("row")
    if found.keys() != {"table", "row"} or found["table"] != table.name or not isinstance(given, dict):
        raise ValueError("it is no row of a table that exports have")
    values = cast("dict[str, Value]", given)
    if values.keys() != {column.name for column in table.columns}:
        raise ValueError(f"the columns are not those of {table.name}")
    return order, table, [_stored(column, values[column.name]) for column in table.columns]


def _stored(column: Column, value: Value) -> Value:
    if column.kind in ("bytes", "vector") and isinstance(value, str):
        value = base64.b64decode(value, validate=True)
    return column.checked(value)
