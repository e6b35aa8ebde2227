"""SQL over versions: what was said, and how it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from m3_memory.domains.memories.model import Standing, Version
from m3_memory.kernel.analyser import audience_token
from m3_memory.kernel.contradiction import Statement
from m3_memory.storage.inserts import insert_returning, insert_rows
from m3_memory.storage.sql import Row, Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader, Writer


_VERSION = sql(
    "item, memory_id, version, type, title, content, content_hash, normal_hash, metadata, scope, audience,"
    " agent_id, circle, project, conversation_id, written_in, source, model_id, variant, embed, embed_text"
)


def find_version(reader: Reader, item: int) -> Version | None:
    """A version by its item; None if it was erased."""
    return versions_of(reader, [item]).get(item)


def versions_of(reader: Reader, items: Sequence[int]) -> dict[int, Version]:
    """Versions by their items, without those that were erased."""
    found = reader.rows(sql("SELECT") + _VERSION + sql("FROM memory_items WHERE") + any_of("item", items))
    return {number(row[0]): _version(row) for row in found}


def version_of(reader: Reader, item: int) -> Version:
    """The version a belief is about."""
    found = find_version(reader, item)
    assert found is not None, f"belief of a version that is not there: {item}"
    return found


def last_version(reader: Reader, memory_id: str) -> int:
    """The number of the newest version stored of a memory; 0 if there is none."""
    row = reader.row(sql("SELECT max(version) FROM memory_items WHERE memory_id = ?", memory_id))
    return number(row[0]) if row and row[0] is not None else 0


_STANDING = sql(
    "SELECT v.item, i.audience, v.variant, v.trust_state, coalesce(s.pinned, 0), v.recorded_from,"
    " v.memory_id, v.type, i.normal_hash, v.valid_from, v.valid_to, i.title, i.content FROM memory_items AS i"
    " JOIN memory_validity AS v ON v.item = i.item AND v.recorded_to = '9999-12-31T23:59:59.999999Z'"
    " LEFT JOIN memory_state AS s ON s.memory_id = v.memory_id"
)


def standing_with(reader: Reader, audiences: Sequence[int], normal_hashes: Sequence[str]) -> list[Standing]:
    """Open, unrejected, unexpired beliefs of these audiences that say one of these things in normal form."""
    where = any_of("i.normal_hash", normal_hashes) + sql("AND") + any_of("i.audience", audiences)
    return [*_standing(reader, where + sql("AND v.trust_state <> 'rejected'")).values()]


def standing_at(reader: Reader, items: Sequence[int]) -> dict[int, Standing]:
    """The open, unexpired beliefs in these versions, rejected ones too, by item; of any audience."""
    return _standing(reader, any_of("i.item", items)) if items else {}


def said_before(reader: Reader, memory_ids: Sequence[str], since: str) -> list[tuple[str, Statement]]:
    """What these memories took the place of from a store time on: each with the last word of one of those."""
    found = reader.rows(
        sql(
            "SELECT r.from_id, i.memory_id, i.type, i.normal_hash, v.valid_from, v.valid_to, i.title,"
            " i.content FROM memory_relationships AS r JOIN memory_items AS i ON i.memory_id = r.to_id"
            " JOIN memory_validity AS v ON v.item = i.item AND v.belief ="
            " (SELECT max(every.belief) FROM memory_validity AS every WHERE every.memory_id = i.memory_id)"
            " WHERE r.type = 'supersedes' AND r.recorded_to = '9999-12-31T23:59:59.999999Z'"
            " AND r.recorded_from >= ? AND",
            since,
        )
        + any_of("r.from_id", memory_ids)
    )
    return [(text(row[0]), Statement(*map(text, row[1:]))) for row in found]


def progress(reader: Reader) -> str:
    """How far the user's part of the store has come: another text as soon as anything is written to it."""
    row = reader.row(
        sql(
            "SELECT (SELECT max(sequence) FROM search_changes),"
            " (SELECT last_sequence FROM owners WHERE user_id = ?)",
            reader.user_id,
        )
    )
    return f"{row[0]}:{row[1]}" if row else ""


def _standing(reader: Reader, where: Sql) -> dict[int, Standing]:
    rows = reader.rows(_STANDING + sql("WHERE v.expires_at > ? AND", reader.now) + where)
    return {
        number(item): Standing(
            number(audience),
            text(variant),
            text(trust),
            Statement(*map(text, said)),
            bool(pinned),
            text(since),
        )
        for item, audience, variant, trust, pinned, since, *said in rows
    }


def superseded_with(
    reader: Reader, audiences: Sequence[int], content_hashes: Sequence[str]
) -> list[tuple[int, str, str, str, str]]:
    """Superseded memories of these audiences whose last word has one of these content hashes.

    Each as (audience, variant, type, content hash, memory id).
    """
    found = reader.rows(
        sql(
            "SELECT DISTINCT i.audience, i.variant, i.type, i.content_hash, i.memory_id"
            " FROM memory_items AS i"
            " JOIN memory_relationships AS r ON r.to_id = i.memory_id AND r.type = 'supersedes'"
            " AND r.recorded_to = '9999-12-31T23:59:59.999999Z'"
            " JOIN memory_validity AS v ON v.item = i.item AND v.belief ="
            " (SELECT max(every.belief) FROM memory_validity AS every WHERE every.memory_id = i.memory_id)"
            " WHERE"
        )
        + any_of("i.content_hash", content_hashes)
        + sql("AND")
        + any_of("i.audience", audiences)
        + sql("ORDER BY i.memory_id")
    )
    return [(number(row[0]), text(row[1]), text(row[2]), text(row[3]), text(row[4])) for row in found]


def insert_versions(writer: Writer, versions: Sequence[Version]) -> list[int]:
    """Adds versions (their `item` is given here) and returns their items, in order."""
    shared = (writer.owner, writer.origin, writer.store_time)
    added = insert_returning(
        writer,
        _INTO_ITEMS,
        [
            (
                *(new.memory_id, new.version, new.type, new.title, new.content, new.content_hash),
                *(new.normal_hash, new.metadata, new.scope, new.audience, new.agent_id, new.circle),
                *(new.project, new.conversation_id, new.written_in, new.source, new.model_id, new.variant),
                *(int(new.embed), new.embed_text, *shared),
            )
            for new in versions
        ],
        sql("RETURNING memory_id, version, item"),
    )
    items = {(text(row[0]), number(row[1])): number(row[2]) for row in added}
    return [items[new.memory_id, new.version] for new in versions]


_INTO_ITEMS = sql(
    "INSERT INTO memory_items (memory_id, version, type, title, content, content_hash, normal_hash,"
    " metadata, scope, audience, agent_id, circle, project, conversation_id,"
    " written_in, source, model_id, variant, embed, embed_text, owner, origin, recorded_at)"
)


def insert_documents(writer: Writer, documents: Sequence[tuple[int, int, Sequence[str]]]) -> None:
    """Makes versions findable by their words, the audience being one: each its item, audience, tokens."""
    insert_rows(
        writer,
        sql("INSERT INTO search_documents (item, tokens, token_count)"),
        [
            (item, " ".join((audience_token(audience), *tokens)), len(tokens))
            for item, audience, tokens in documents
        ],
    )
    counted: dict[int, tuple[int, int]] = {}
    for _, audience, tokens in documents:
        count, total = counted.get(audience, (0, 0))
        counted[audience] = (count + 1, total + len(tokens))
    insert_rows(
        writer,
        sql("INSERT INTO search_totals (audience, documents, tokens)"),
        [(audience, *totals) for audience, totals in counted.items()],
        sql(
            "ON CONFLICT (audience) DO UPDATE SET documents = search_totals.documents + excluded.documents,"
            " tokens = search_totals.tokens + excluded.tokens"
        ),
    )


def note_change(writer: Writer, item: int, kind: str) -> None:
    """Tells derived indexes that an item has to be read again."""
    note_changes(writer, [(item, kind)])


def note_changes(writer: Writer, changes: Sequence[tuple[int, str]]) -> None:
    """Tells derived indexes that items have to be read again: each with the kind of change."""
    insert_rows(writer, sql("INSERT INTO search_changes (item, kind)"), changes)


def _version(row: Row) -> Version:
    item, memory_id, version, *said = row
    texts: tuple[Any, ...] = (*map(text, said[:7]), number(said[7]), *map(text, said[8:16]))
    of = number(item), text(memory_id), number(version)
    return Version(*of, *texts, embed=bool(said[16]), embed_text=text(said[17]))
