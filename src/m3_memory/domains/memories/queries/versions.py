"""SQL over versions: what was said, and how it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import Draft, Version
from m3_memory.kernel.analyser import audience_token
from m3_memory.kernel.contradiction import Statement
from m3_memory.storage.sql import Row, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader, Writer


def find_version(reader: Reader, item: int) -> Version | None:
    """A version by its item; None if it was erased."""
    row = reader.row(
        sql(
            "SELECT item, memory_id, version, type, title, content, content_hash, normal_hash, metadata,"
            " scope, audience, agent_id, circle, project, conversation_id, written_in,"
            " source, model_id, variant, embed,"
            " embed_text FROM memory_items WHERE item = ?",
            item,
        )
    )
    return _version(row) if row else None


def version_of(reader: Reader, item: int) -> Version:
    """The version a belief is about."""
    found = find_version(reader, item)
    assert found is not None, f"belief of a version that is not there: {item}"
    return found


def last_version(reader: Reader, memory_id: str) -> int:
    """The number of the newest version stored of a memory; 0 if there is none."""
    row = reader.row(sql("SELECT max(version) FROM memory_items WHERE memory_id = ?", memory_id))
    return number(row[0]) if row and row[0] is not None else 0


def standing(reader: Reader, audience: int, variant: str, new: Statement) -> list[Statement]:
    """What a new statement is compared with: open, unrejected ones of its audience, type, variant and normal
    form that hold when it begins to hold, or now.
    """
    found = reader.rows(
        sql(
            "SELECT v.memory_id, v.type, i.normal_hash, v.valid_from, v.valid_to FROM memory_items AS i"
            " JOIN memory_validity AS v ON v.item = i.item WHERE i.normal_hash = ? AND i.audience = ?"
            " AND v.recorded_to = '9999-12-31T23:59:59.999999Z' AND v.trust_state <> 'rejected'"
            " AND v.type = ? AND v.variant = ? AND v.expires_at > ?"
            " AND (v.valid_from <= ? AND v.valid_to > ? OR v.valid_from <= ? AND v.valid_to > ?)",
            new.normal_hash,
            audience,
            new.type,
            variant,
            reader.now,
            new.valid_from,
            new.valid_from,
            reader.now,
            reader.now,
        )
    )
    return [Statement(text(r[0]), text(r[1]), text(r[2]), text(r[3]), text(r[4])) for r in found]


def superseded_with(reader: Reader, audience: int, draft: Draft) -> list[str]:
    """Superseded memories of this audience, type and variant whose last word is this content."""
    found = reader.rows(
        sql(
            "SELECT DISTINCT i.memory_id FROM memory_items AS i"
            " JOIN memory_relationships AS r ON r.to_id = i.memory_id AND r.type = 'supersedes'"
            " AND r.recorded_to = '9999-12-31T23:59:59.999999Z'"
            " JOIN memory_validity AS v ON v.item = i.item AND v.belief ="
            " (SELECT max(every.belief) FROM memory_validity AS every WHERE every.memory_id = i.memory_id)"
            " WHERE i.content_hash = ? AND i.audience = ? AND i.type = ? AND i.variant = ?"
            " ORDER BY i.memory_id",
            draft.content_hash,
            audience,
            draft.type,
            draft.variant,
        )
    )
    return [text(row[0]) for row in found]


def insert_version(writer: Writer, version: Version) -> int:
    """Adds a version (its `item` is given here) and returns the item."""
    return writer.insert(
        sql(
            "INSERT INTO memory_items (memory_id, version, type, title, content, content_hash, normal_hash,"
            " metadata, scope, audience, agent_id, circle, project, conversation_id,"
            " written_in, source, model_id, variant, embed, embed_text, owner, origin, recorded_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING item",
            version.memory_id,
            version.version,
            version.type,
            version.title,
            version.content,
            version.content_hash,
            version.normal_hash,
            version.metadata,
            version.scope,
            version.audience,
            version.agent_id,
            version.circle,
            version.project,
            version.conversation_id,
            version.written_in,
            version.source,
            version.model_id,
            version.variant,
            int(version.embed),
            version.embed_text,
            writer.owner,
            writer.origin,
            writer.store_time,
        )
    )


def insert_document(writer: Writer, item: int, audience: int, tokens: Sequence[str]) -> None:
    """Makes a version findable by its words, the audience being one of them."""
    joined = " ".join((audience_token(audience), *tokens))
    writer.execute(
        sql(
            "INSERT INTO search_documents (item, tokens, token_count) VALUES (?, ?, ?)",
            item,
            joined,
            len(tokens),
        )
    )
    writer.execute(
        sql(
            "INSERT INTO search_totals (audience, documents, tokens) VALUES (?, 1, ?) ON CONFLICT (audience)"
            " DO UPDATE SET documents = search_totals.documents + 1,"
            " tokens = search_totals.tokens + excluded.tokens",
            audience,
            len(tokens),
        )
    )


def note_change(writer: Writer, item: int, kind: str) -> None:
    """Tells derived indexes that an item has to be read again."""
    writer.execute(sql("INSERT INTO search_changes (item, kind) VALUES (?, ?)", item, kind))


def _version(row: Row) -> Version:
    return Version(
        number(row[0]),
        text(row[1]),
        number(row[2]),
        text(row[3]),
        text(row[4]),
        text(row[5]),
        text(row[6]),
        text(row[7]),
        text(row[8]),
        text(row[9]),
        number(row[10]),
        text(row[11]),
        text(row[12]),
        text(row[13]),
        text(row[14]),
        text(row[15]),
        text(row[16]),
        text(row[17]),
        text(row[18]),
        bool(row[19]),
        text(row[20]),
    )
