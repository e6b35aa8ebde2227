"""Erasure: everywhere a memory is kept, and how all of it leaves.

HELD names each table that says anything about a memory. What is read for a subject's access, counted for a
preview and deleted by an erasure are the rows of this one table, so that none of the three can miss one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from typing import TYPE_CHECKING, LiteralString, NamedTuple, TypeVar

from m3_memory.storage.dump.tables import TABLES
from m3_memory.storage.history import forget_salts
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.sql import Row

_AT_ONCE = 400
_ITEMS: LiteralString = "item IN (SELECT item FROM memory_items WHERE {})"
_REVIEWS: LiteralString = "review_id IN (SELECT review_id FROM review_memories WHERE {})"


class Held(NamedTuple):
    """A table with rows of memories: `column` holds the memory's id, inside `through` where it is set."""

    table: LiteralString
    column: LiteralString = "memory_id"
    through: LiteralString = "{}"

    def rows_of(self, memory_ids: Sequence[str]) -> Sql:
        """The part of a statement that finds them: `FROM …`."""
        before, _, after = self.through.partition("{}")
        named = any_of(self.column, tuple(memory_ids))
        return sql("FROM") + Sql(self.table) + sql("WHERE") + Sql(before) + named + Sql(after)


HELD = (
    Held("review_items", through=_REVIEWS),
    Held("review_memories", through=_REVIEWS),
    Held("memory_embeddings", through=_ITEMS),
    Held("search_documents", through=_ITEMS),
    Held("memory_validity"),
    Held("memory_state"),
    Held("memory_access"),
    Held("memory_corroborations"),
    Held("memory_relationships", "from_id"),
    Held("memory_relationships", "to_id"),
    Held("derivations", "derived_id"),
    Held("derivations", "source_id"),
    Held("memory_items"),
)
"""In the order they can be deleted in."""


def counted(reader: Reader, memory_ids: Sequence[str]) -> dict[str, int]:
    """How many rows of each table these memories have. An edge between two of them counts at both ends."""
    found = Counter[str]()
    for part in parts(memory_ids):
        for held in HELD:
            row = reader.row(sql("SELECT count(*)") + held.rows_of(part))
            found[held.table] += number(row[0]) if row else 0
    return {table: count for table, count in found.items() if count}


def erase(writer: Writer, memory_ids: Sequence[str]) -> dict[str, int]:
    """Deletes every row these memories have; how many of each table.

    The transaction is one of `Store.erasing`. Events stay, without text as they are, and without the salts
    by which their digests could be guessed at. Vector files follow `search_changes`.
    """
    gone = Counter[str]()
    for part in parts(memory_ids):
        named = any_of("memory_id", part)
        events = writer.rows(sql("SELECT event FROM memory_history WHERE") + named)
        for salted in parts([number(row[0]) for row in events]):
            forget_salts(writer, salted)
        items = _items_uncounted(writer, named)
        for jobs in parts([f"embed:{item}" for item in items]):
            gone["jobs"] += writer.execute(sql("DELETE FROM jobs WHERE") + any_of("key", jobs))
        reviews = writer.rows(sql("SELECT review_id FROM review_memories WHERE") + named)
        writer.execute(sql("UPDATE memory_tombstones SET reason = '' WHERE") + named)
        for held in HELD[2:]:
            gone[held.table] += writer.execute(sql("DELETE") + held.rows_of(part))
        for asked in parts([text(row[0]) for row in reviews]):
            for table in ("review_items", "review_memories"):
                deleted = sql("DELETE FROM") + Sql(table) + sql("WHERE") + any_of("review_id", asked)
                gone[table] += writer.execute(deleted)
        changes = [(item, "remove") for item in items]
        insert_rows(writer, sql("INSERT INTO search_changes (item, kind)"), changes)
    return {table: count for table, count in gone.items() if count}


def rows_held(reader: Reader, memory_ids: Sequence[str]) -> Iterator[tuple[str, Row, Sequence[str]]]:
    """Every row these memories have, but vectors and words: its table, the row, its columns' names."""
    columns = {table.name: [column.name for column in table.columns] for table in TABLES}
    for part in parts(memory_ids):
        for held in HELD:
            if held.table not in ("memory_embeddings", "search_documents"):
                names = columns[held.table]
                wanted = sql("SELECT") + Sql(", ".join(names)) + held.rows_of(part)
                for row in reader.rows(wanted):
                    yield held.table, row, names


def keyed(reader: Reader, *said: str) -> str:
    """A digest by this store's key: it tells an erased thing again, and tells nobody what it was."""
    return hmac.digest(reader.secret_key, "\x1f".join(("erased", *said)).encode(), hashlib.sha256).hex()


_Value = TypeVar("_Value", str, int)


def parts(values: Sequence[_Value]) -> Iterator[tuple[_Value, ...]]:
    """As many as one statement takes, again and again."""
    for start in range(0, len(values), _AT_ONCE):
        yield tuple(values[start : start + _AT_ONCE])


def _items_uncounted(writer: Writer, named: Sql) -> list[int]:
    """The items of these memories, which the totals of their audiences count no more."""
    items = writer.rows(
        sql(
            "SELECT said.item, said.audience, document.token_count FROM memory_items AS said"
            " JOIN search_documents AS document ON document.item = said.item WHERE"
        )
        + named
    )
    tokens = Counter[int]()
    documents = Counter[int]()
    for _, audience, count in items:
        documents[number(audience)] += 1
        tokens[number(audience)] += number(count)
    for audience, count in documents.items():
        writer.put(
            sql(
                "UPDATE search_totals SET documents = documents - ?, tokens = tokens - ? WHERE audience = ?",
                *(count, tokens[audience], audience),
            )
        )
    return [number(row[0]) for row in items]
