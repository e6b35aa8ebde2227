"""The word index derived anew from the versions: some at a time, while others read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.kernel.analyser import audience_token
from m3_memory.kernel.turn import indexed
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.storage.database import Database, Reader, Writer
    from m3_memory.storage.sql import Value

CHUNK = 200
"""So many versions are held in memory, and written in one transaction."""

Document: TypeAlias = tuple[int, str, int]
"""An item, its tokens, and how many of them are words."""

_NOBODY = ""
"""The owner of transactions about rows that no user has."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it came: `done` of `total` versions, the last of them `item`. Going on after it is safe."""

    done: int
    total: int
    item: int


def reindex(database: Database, after: int = 0) -> Iterator[Progress]:
    """Derives the words of every version with an item above `after` anew, then the totals of all.

    Each step is one transaction, so that who reads meanwhile finds what there is to find; it is done once the
    iterator ends. Entries of versions that are gone leave first. Raises the Unavailable errors of the store.
    """
    _remove_strays(database)
    with database.read(_NOBODY) as reader:
        total, last = _versions_after(reader, after)
    done = 0
    while documents := _next(database, after, last):
        for user_id in dict.fromkeys(user_id for user_id, _ in documents):
            _replace(database, user_id, [each for owner, each in documents if owner == user_id])
        done, after = done + len(documents), documents[-1][1][0]
        yield Progress(done, total, after)
    _count_anew(database)


def _next(database: Database, after: int, last: int) -> list[tuple[str, Document]]:
    """Each with its user."""
    with database.read(_NOBODY) as reader:
        rows = reader.rows(
            sql(
                "SELECT i.item, o.user_id, i.type, i.title, i.content, i.metadata, i.audience"
                " FROM memory_items AS i JOIN owners AS o ON o.owner = i.owner"
                " WHERE i.item > ? AND i.item <= ? ORDER BY i.item LIMIT ?",
                after,
                last,
                CHUNK,
            )
        )
    return [(text(user_id), document(item, *said)) for item, user_id, *said in rows]


def document(item: Value, *said: Value) -> Document:
    """What the word index holds of a version: its item, its tokens, and how many they are.

    It is given by its item, type, title, content, metadata and audience.
    """
    *texts, audience = said
    words = indexed(*map(text, texts))
    return number(item), " ".join((audience_token(number(audience)), *words)), len(words)


def _replace(database: Database, user_id: str, documents: Sequence[Document]) -> None:
    """In one transaction of their owner, so that none is brought back that is erased meanwhile."""
    items = [item for item, _, _ in documents]
    with database.write(user_id) as writer:
        there = {
            number(row[0])
            for row in writer.rows(sql("SELECT item FROM memory_items WHERE") + any_of("item", items))
        }
        writer.execute(sql("DELETE FROM search_documents WHERE") + any_of("item", items))
        insert_rows(
            writer,
            sql("INSERT INTO search_documents (item, tokens, token_count)"),
            [each for each in documents if each[0] in there],
        )


def _remove_strays(database: Database) -> None:
    removed = CHUNK
    while removed:
        with database.write(_NOBODY) as writer:
            removed = writer.execute(
                sql(
                    "DELETE FROM search_documents WHERE item IN (SELECT d.item FROM search_documents AS d"
                    " WHERE NOT EXISTS (SELECT 1 FROM memory_items AS i WHERE i.item = d.item) LIMIT ?)",
                    CHUNK,
                )
            ) + writer.dialect.remove_strays(writer, CHUNK)


def _count_anew(database: Database) -> None:
    with database.read(_NOBODY) as reader:
        users = [text(row[0]) for row in reader.rows(sql("SELECT user_id FROM owners ORDER BY owner"))]
    for user_id in users:
        with database.write(user_id) as writer:
            _count(writer)
    with database.write(_NOBODY) as writer:
        writer.execute(
            sql("DELETE FROM search_totals WHERE audience NOT IN (SELECT a.audience FROM audiences AS a)")
        )


def _count(writer: Writer) -> None:
    """The totals of the writer's audiences, as their documents give them."""
    writer.execute(
        sql(
            "DELETE FROM search_totals WHERE audience IN"
            " (SELECT a.audience FROM audiences AS a WHERE a.owner = ?)",
            writer.owner,
        )
    )
    writer.execute(
        sql(
            "INSERT INTO search_totals (audience, documents, tokens)"
            " SELECT i.audience, count(*), sum(d.token_count) FROM search_documents AS d"
            " JOIN memory_items AS i ON i.item = d.item WHERE i.owner = ? GROUP BY i.audience",
            writer.owner,
        )
    )


def _versions_after(reader: Reader, item: int) -> tuple[int, int]:
    """How many versions there are after this item, and the last one; what is written later has its words."""
    row = reader.row(sql("SELECT count(*), max(item) FROM memory_items WHERE item > ?", item))
    count, last = row or (0, None)
    return number(count), number(last or 0)
