"""Erasure: everywhere a memory is kept, and how all of it leaves.

HELD names each table that says anything about a memory. What is read for a subject's access, counted for a
preview and deleted by an erasure are the rows of this one table, so that none of the three can miss one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from itertools import chain, product
from typing import TYPE_CHECKING, LiteralString, NamedTuple, cast

from m3_memory.kernel.normal import normal_hash
from m3_memory.storage.dump.tables import TABLES
from m3_memory.storage.history import forget_salts
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.predicates import of_user
from m3_memory.storage.sql import Sql, any_of, in_parts, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.sql import Row

TELLING_CHARACTERS = 12
"""A text of so many is told by its bytes alone; a shorter one may stand anywhere by chance."""

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


_QUESTIONS = (Held("review_items", "review_id"), Held("review_memories", "review_id"))


def counted(reader: Reader, memory_ids: Sequence[str], questions: Sequence[str] = ()) -> dict[str, int]:
    """How many rows of each table these memories have, and the questions besides those about them.

    An edge between two of them counts at both ends.
    """
    found = Counter[str]()
    for tables, ids in ((HELD, memory_ids), (_QUESTIONS, questions)):
        for held, part in product(tables, in_parts(ids)):
            row = reader.row(sql("SELECT count(*)") + held.rows_of(part))
            found[held.table] += number(row[0]) if row else 0
    return {table: count for table, count in found.items() if count}


def said_by(reader: Reader, memory_ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Hashes of the normal forms of all that these memories said; every text of theirs, the longest first."""
    statement = sql("SELECT normal_hash, metadata, content, title, embed_text FROM memory_items WHERE")
    rows = [
        row
        for part in in_parts(memory_ids)
        for row in reader.rows(statement + any_of("memory_id", part) + sql("ORDER BY item"))
    ]
    texts = {told for row in rows for told in (*map(text, row[2:]), *_texts_in(json.loads(text(row[1]))))}
    hashes = dict.fromkeys(text(row[0]) for row in rows)
    return list(hashes), sorted((told for told in texts if told.strip()), key=lambda told: (-len(told), told))


def quoting(reader: Reader, memory_ids: Sequence[str]) -> list[str]:
    """The user's questions, decided or not, that say what these memories said, and are about others alone."""
    hashes, texts = said_by(reader, memory_ids)
    long = [told.casefold() for told in texts if len(told) >= TELLING_CHARACTERS]
    about = {
        row[0]
        for part in in_parts(memory_ids)
        for row in reader.rows(sql("SELECT review_id FROM review_memories WHERE") + any_of("memory_id", part))
    }
    found = reader.rows(sql("SELECT review_id, plan, evidence FROM review_items WHERE") + of_user(reader))
    told = (
        (text(row[0]), [*_texts_in([json.loads(text(row[1])), json.loads(text(row[2]))])])
        for row in found
        if row[0] not in about
    )
    return [review_id for review_id, said in told if _quotes(said, frozenset(hashes), long)]


def _quotes(said: Sequence[str], hashes: Collection[str], long: Sequence[str]) -> bool:
    whole = "\0".join(said).casefold()
    return any(normal_hash(each) in hashes for each in said) or any(each in whole for each in long)


def _texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value but the names of its fields."""
    match value:
        case str():
            yield value
        case dict():
            yield from _texts_in([*cast("dict[str, object]", value).values()])
        case list():
            for each in cast("list[object]", value):
                yield from _texts_in(each)
        case _:
            pass


def erase(writer: Writer, memory_ids: Sequence[str], questions: Sequence[str] = ()) -> dict[str, int]:
    """Deletes every row these memories have, and these questions; how many of each table.

    The transaction is one of `Store.erasing`. Events stay, without text as they are, and without the salts
    by which their digests could be guessed at. Vector files follow `search_changes`.
    """
    gone, asked = Counter[str](), [*questions]
    for part in in_parts(memory_ids):
        named = any_of("memory_id", part)
        events = writer.rows(sql("SELECT event FROM memory_history WHERE") + named)
        for salted in in_parts([number(row[0]) for row in events]):
            forget_salts(writer, salted)
        items = _items_uncounted(writer, named)
        for jobs in in_parts([*_jobs(writer, part, items)]):
            gone["jobs"] += writer.execute(sql("DELETE FROM jobs WHERE") + any_of("key", jobs))
        reviews = writer.rows(sql("SELECT review_id FROM review_memories WHERE") + named)
        writer.execute(sql("UPDATE memory_tombstones SET reason = '' WHERE") + named)
        for held in HELD[2:]:
            gone[held.table] += writer.execute(sql("DELETE") + held.rows_of(part))
        asked += [text(row[0]) for row in reviews]
        changes = [(item, "remove") for item in items]
        insert_rows(writer, sql("INSERT INTO search_changes (item, kind)"), changes)
    for held, part in product(_QUESTIONS, in_parts(asked)):
        gone[held.table] += writer.execute(sql("DELETE") + held.rows_of(part))
    return {table: count for table, count in gone.items() if count}


_SEEN_BY: dict[str, LiteralString] = {
    "agent": "c.agent_id = ? AND",
    "conversation": "c.conversation_id = ? AND",
}


def sightings(reader: Reader, kind: str, name: str, apart_from: Collection[str]) -> list[int]:
    """The sightings that an agent, or a conversation, left on the user's memories but these."""
    if not name or kind not in _SEEN_BY:
        return []
    found = reader.rows(
        sql("SELECT c.corroboration, c.memory_id FROM memory_corroborations AS c WHERE")
        + Sql(_SEEN_BY[kind], (name,))
        + sql("c.memory_id IN (SELECT i.memory_id FROM memory_items AS i WHERE")
        + of_user(reader, "i.owner")
        + sql(")")
    )
    return [number(row[0]) for row in found if row[1] not in apart_from]


def subjects(reader: Reader) -> list[tuple[str, str]]:
    """(kind, name) of every agent of the user, and of every conversation that a sighting names."""
    agents = sql("SELECT 'agent', agent_id FROM agents WHERE") + of_user(reader)
    found = reader.rows(
        agents + sql("UNION SELECT 'conversation', conversation_id FROM memory_corroborations")
    )
    return [(text(row[0]), text(row[1])) for row in found]


def erase_traces(writer: Writer, kind: str, name: str) -> int:
    """Takes out what a subject left besides memories, which are gone by then; how many sightings.

    They are an agent's or a conversation's sightings on others' memories, what the agent, or every agent of
    the user, said of itself, and where the user's projects lie. Places that nothing is in any more lose their
    names, which may be a conversation's; but those stay that a tombstone is for, unless it was a session's.
    """
    seen = sightings(writer, kind, name, ())
    for part in in_parts(seen):
        writer.execute(sql("DELETE FROM memory_corroborations WHERE") + any_of("corroboration", part))
    if kind in ("agent", "user"):
        named = sql("AND agent_id = ?", name) if kind == "agent" else sql("")
        emptied = sql("UPDATE agents SET role = '', capabilities = '[]', metadata = '{}' WHERE")
        writer.execute(emptied + of_user(writer) + named)
    if kind == "user":
        writer.execute(sql("DELETE FROM project_folders WHERE owner = ?", writer.owner))
    rows = writer.rows(sql("SELECT audience FROM audiences WHERE owner = ? AND", writer.owner) + _EMPTY)
    for table in ("memory_tombstones", "search_totals", "audiences"):
        for part in in_parts([number(row[0]) for row in rows]):
            writer.execute(sql("DELETE FROM") + Sql(table) + sql("WHERE") + any_of("audience", part))
    return len(seen)


_EMPTY = sql(
    "NOT EXISTS (SELECT 1 FROM memory_validity AS b WHERE b.audience = audiences.audience)"
    " AND NOT EXISTS (SELECT 1 FROM review_items AS r WHERE r.audience = audiences.audience)"
    " AND (name LIKE 'session/%'"
    " OR NOT EXISTS (SELECT 1 FROM memory_tombstones AS t WHERE t.audience = audiences.audience))"
)


def rows_held(reader: Reader, memory_ids: Sequence[str]) -> Iterator[tuple[str, Row, Sequence[str]]]:
    """Every row these memories have, but vectors and words: its table, the row, its columns' names."""
    columns = {table.name: [column.name for column in table.columns] for table in TABLES}
    for part in in_parts(memory_ids):
        for held in HELD:
            if held.table not in ("memory_embeddings", "search_documents"):
                names = columns[held.table]
                wanted = sql("SELECT") + Sql(", ".join(names)) + held.rows_of(part)
                for row in reader.rows(wanted):
                    yield held.table, row, names


def keyed(reader: Reader, *said: str) -> str:
    """A digest by this store's key: it tells an erased thing again, and tells nobody what it was."""
    return hmac.digest(reader.secret_key, "\x1f".join(("erased", *said)).encode(), hashlib.sha256).hex()


def _jobs(writer: Writer, memory_ids: Sequence[str], items: Sequence[int]) -> Iterator[str]:
    """The keys of jobs about these items, and of any other kind that names one of the memories."""
    others = writer.rows(
        sql("SELECT key, payload FROM jobs WHERE user_id = ? AND kind <> 'embed'", writer.user_id)
    )
    told = ((text(key), text(payload)) for key, payload in others)
    named = (key for key, payload in told if any(id_ in key or id_ in payload for id_ in memory_ids))
    return chain((f"embed:{item}" for item in items), named)


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
