"""The whole store as lines of JSON, read in one moment, written verbatim into an empty store.

A dump is a heading, one row a line, and an ending that vouches for every line before it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from m3_memory.errors import DamagedExport, StoreDamaged, StoreNotEmpty, StoreTooNew
from m3_memory.storage.dump.tables import DERIVED, TABLES, Column, Table
from m3_memory.storage.reindex import document
from m3_memory.storage.sql import Row, Sql, Value, sql, values_of
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Database, Reader
    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.transaction import Connection

FORMAT = "m3-store"
VERSION = 1

Lines: TypeAlias = Callable[[], Iterable[bytes]]
"""A dump that can be read as often as need be: its lines, each with its line feed."""

_RECOVER = "nothing was written; use another copy of the export"

_PAGE = 200
"""Texts are long: so many rows are held in memory at once."""

_ROWS_AT_ONCE = 100

_BY_NAME = {table.name: (place, table) for place, table in enumerate(TABLES)}
_ITEMS, _VECTORS = (_BY_NAME[name][1] for name in ("memory_items", "memory_embeddings"))


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


_CANONICAL = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False, default=_base64
)


def encoded(value: object) -> bytes:
    """One canonical line; bytes as base64."""
    return f"{_CANONICAL.encode(value)}\n".encode()


def decoded(line: bytes) -> dict[str, Any]:
    """The object on a line. Raises ValueError."""
    try:
        found: object = json.loads(line)
    except RecursionError:
        found = None
    if isinstance(found, dict):
        return cast("dict[str, Any]", found)
    raise ValueError("it is no JSON object")


@dataclass(frozen=True, slots=True)
class Heading:
    """Which store a dump is of. `seal` holds its secret key, for who knows how to open it; or is empty."""

    schema: int
    origin: str
    created_at: str
    seal: dict[str, Any]

    def line(self) -> bytes:
        return encoded({"format": FORMAT, "version": VERSION, **asdict(self)})


class Tally:
    """Counts and digests lines as they pass, under the store's key: without it none is changed unseen."""

    def __init__(self, secret_key: bytes) -> None:
        self._digest = hmac.new(secret_key, b"m3-memory dump\n", hashlib.sha256)
        self._lines = 0

    def add(self, line: bytes) -> None:
        self._digest.update(line)
        self._lines += 1

    def ending(self) -> bytes:
        """The last line; the first one is no row."""
        return encoded({"rows": self._lines - 1, "digest": self._digest.hexdigest()})


def heading_of(lines: Lines) -> Heading:
    """The first line of a dump. Raises DamagedExport for what is none, StoreTooNew for a newer format."""
    first = next(iter(lines()), b"")
    with suppress(ValueError):
        found = decoded(first)
        if found.get("format") == FORMAT and found.get("version") != VERSION:
            raise StoreTooNew("the export is in a newer form", "upgrade: pip install --upgrade m3-memory")
        match found:
            case {"schema": int(schema), "origin": str(origin), "created_at": str(made), "seal": dict()}:
                heading = Heading(schema, origin, made, found["seal"])
                if heading.line() == first:
                    return heading
            case _:
                pass
    raise DamagedExport("this is no export of a whole store", "m3 import takes what one caller exported")


def rows_of(lines: Lines, secret_key: bytes) -> Iterator[bytes]:
    """The lines between the first and the last, which must be what an export under this key ends with.

    Raises DamagedExport at the end where it is not: nothing is to be kept of what came before.
    """
    tally, held = Tally(secret_key), b""
    for place, line in enumerate(lines()):
        if place:
            tally.add(held)
        if place > 1:
            yield held
        held = line
    if held != tally.ending():
        raise DamagedExport("the export is not whole, or was changed since it was written", _RECOVER)


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
        for row in _stored_rows(reader, table):
            yield encoded({"table": table.name, "row": _checked(table, row)})


def _stored_rows(reader: Reader, table: Table) -> Iterator[Row]:
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


def ensure_empty(database: Database) -> None:
    """Raises StoreNotEmpty for a store that nothing can be restored into."""
    with database.read("") as reader:
        ((memories,),) = reader.rows(sql("SELECT count(DISTINCT memory_id) FROM memory_items"))
    _ensure_none(number(memories))


def _ensure_none(memories: int) -> None:
    if memories:
        raise StoreNotEmpty(
            f"the store holds {memories:,} memories; a whole store is restored into an empty one",
            "name another home folder or database, or move this store's file away; nothing was written",
        )


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
    _ensure_none(number(memories))
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
            raise DamagedExport(f"line {place:,} of the export can't be used: {error}", _RECOVER) from None
        last = at
        yield table, row


def _insert(store: Connection, dialect: Dialect, table: Table, rows: Sequence[list[Value]]) -> None:
    names = [column.name for column in table.columns]
    if table is _VECTORS:
        for row in rows:
            row[-1] = dialect.vector_value(cast("bytes", row[-1]))
    store.execute(Sql(f"INSERT INTO {table.name} ({', '.join(names)})") + values_of(rows))
    if table is _ITEMS:
        places = [names.index(name) for name in ("item", "type", "title", "content", "metadata", "audience")]
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
