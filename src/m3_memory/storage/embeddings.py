"""Vectors of versions, and the spaces they live in: the same calls on both engines."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from m3_memory.kernel.fingerprint import nearest_digest
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3_memory.kernel.fingerprint import Fingerprint
    from m3_memory.storage.database import Reader, Writer


def space_of(reader: Reader, fingerprint: Fingerprint) -> int | None:
    """The number of the embedding space with this fingerprint; None before its first vector."""
    found = reader.rows(
        sql(
            "SELECT weights_digest, space FROM embedding_spaces WHERE name = ? AND dimension = ?"
            " AND text_rules = ? ORDER BY space DESC",
            fingerprint.name,
            fingerprint.dimension,
            fingerprint.text_rules,
        )
    )
    spaces = {text(row[0]): number(row[1]) for row in found}
    same = nearest_digest(fingerprint.weights_digest, list(spaces))
    return None if same is None else spaces[same]


def has_other_spaces(reader: Reader, space: int | None) -> bool:
    """Whether there are vectors that can't be compared with those of this space; None is one without any."""
    return reader.row(sql("SELECT 1 FROM embedding_spaces WHERE space <> ? LIMIT 1", space or 0)) is not None


def space_for(writer: Writer, fingerprint: Fingerprint) -> int:
    """The number of this embedding space, given to it with its first vector."""
    known = space_of(writer, fingerprint)
    if known is not None:
        return known
    return writer.insert(
        sql(
            "INSERT INTO embedding_spaces (name, weights_digest, dimension, text_rules, state)"
            " VALUES (?, ?, ?, ?, 'active') RETURNING space",
            *fingerprint,
        )
    )


def insert_vectors(
    writer: Writer, item: int, space: int, vectors: Sequence[bytes], first_window: int = 0
) -> None:
    """Adds the vectors of a version's windows, in order from `first_window` on."""
    insert_all_vectors(writer, space, [(item, first_window, vectors)])


def insert_all_vectors(
    writer: Writer, space: int, windows: Iterable[tuple[int, int, Sequence[bytes]]]
) -> None:
    """Adds vectors of many versions: each its item, the number of the first window, and the vectors."""
    rows = [
        (item, space, first + offset, writer.dialect.vector_value(vector))
        for item, first, vectors in windows
        for offset, vector in enumerate(vectors)
    ]
    insert_rows(writer, sql("INSERT INTO memory_embeddings (item, space, window_number, vector)"), rows)


def having_vectors(reader: Reader, items: Sequence[int]) -> set[int]:
    """Those of the items that have a vector of any window, in any space."""
    found = reader.rows(sql("SELECT DISTINCT item FROM memory_embeddings WHERE") + any_of("item", items))
    return {number(row[0]) for row in found}


def first_vectors(reader: Reader, space: int, items: Sequence[int]) -> dict[int, bytes]:
    """The vectors of the first windows of those of the items that have one, as little-endian float16."""
    where = sql("WHERE window_number = 0 AND space = ? AND", space) + any_of("item", items)
    found = reader.rows(sql("SELECT item, vector FROM memory_embeddings") + where)
    return {number(item): _as_bytes(vector) for item, vector in found}


def _as_bytes(vector: object) -> bytes:
    """PostgreSQL shows a vector as the text of its numbers."""
    if isinstance(vector, bytes):
        return vector
    numbers = text(vector).strip("[]").split(",")
    return struct.pack(f"<{len(numbers)}e", *map(float, numbers))


def newest_space(reader: Reader) -> int | None:
    """The space that vectors came to last; None before the first."""
    row = reader.row(sql("SELECT max(space) FROM embedding_spaces WHERE state = 'active'"))
    return None if row is None or row[0] is None else number(row[0])


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
