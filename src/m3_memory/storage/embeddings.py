"""Vectors of versions, and the spaces they live in: the same calls on both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader, Writer


def space_of(reader: Reader, name: str, weights_digest: str, dimension: int, text_rules: str) -> int | None:
    """The number of the embedding space with this fingerprint; None before its first vector."""
    row = reader.row(
        sql(
            "SELECT space FROM embedding_spaces WHERE name = ? AND weights_digest = ? AND dimension = ?"
            " AND text_rules = ?",
            name,
            weights_digest,
            dimension,
            text_rules,
        )
    )
    return number(row[0]) if row else None


def has_other_spaces(reader: Reader, space: int | None) -> bool:
    """Whether there are vectors that can't be compared with those of this space; None is one without any."""
    return reader.row(sql("SELECT 1 FROM embedding_spaces WHERE space <> ? LIMIT 1", space or 0)) is not None


def space_for(writer: Writer, name: str, weights_digest: str, dimension: int, text_rules: str) -> int:
    """The number of this embedding space, given to it with its first vector."""
    known = space_of(writer, name, weights_digest, dimension, text_rules)
    if known is not None:
        return known
    return writer.insert(
        sql(
            "INSERT INTO embedding_spaces (name, weights_digest, dimension, text_rules, state)"
            " VALUES (?, ?, ?, ?, 'active') RETURNING space",
            name,
            weights_digest,
            dimension,
            text_rules,
        )
    )


def insert_vectors(
    writer: Writer, item: int, space: int, vectors: Sequence[bytes], first_window: int = 0
) -> None:
    """Adds the vectors of a version's windows, in order from `first_window` on."""
    for offset, vector in enumerate(vectors):
        writer.execute(
            sql(
                "INSERT INTO memory_embeddings (item, space, window_number, vector) VALUES (?, ?, ?, ?)",
                item,
                space,
                first_window + offset,
                writer.dialect.vector_value(vector),
            )
        )


def has_vectors(reader: Reader, item: int) -> bool:
    """Whether any window of a version has a vector, in any space."""
    return reader.row(sql("SELECT 1 FROM memory_embeddings WHERE item = ? LIMIT 1", item)) is not None


def window_count(reader: Reader, item: int, space: int) -> int:
    """How many windows of a version have their vector in this space."""
    row = reader.row(sql("SELECT count(*) FROM memory_embeddings WHERE item = ? AND space = ?", item, space))
    return number(row[0]) if row else 0


def copy_vectors(writer: Writer, from_item: int, to_item: int) -> None:
    """Gives a version the vectors of another whose embedded text is the same."""
    writer.execute(
        sql(
            "INSERT INTO memory_embeddings (item, space, window_number, vector)"
            " SELECT ?, space, window_number, vector FROM memory_embeddings WHERE item = ?",
            to_item,
            from_item,
        )
    )


def remove_vectors(writer: Writer, item: int) -> None:
    """Takes all of a version's vectors away, in every space."""
    writer.execute(sql("DELETE FROM memory_embeddings WHERE item = ?", item))
