"""What the cache asks of the database: where it stands, what changed, whole rows, and exact cosines."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from m3_memory.storage.predicates import is_open, visible
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import Transaction, number, text
from m3_memory.storage.vectors.layout import (
    TEXT_COLUMNS,
    TIME_COLUMNS,
    TRUST_CODES,
    Checkpoint,
    Doubles,
    Records,
    hashed,
    microseconds,
    quantised,
    slot_type,
)
from m3_memory.storage.vectors.search import ITEMS_PER_READ, question, unit_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.storage.database import Reader
    from m3_memory.storage.dialect import Near
    from m3_memory.storage.predicates import View
    from m3_memory.storage.sql import Row
    from m3_memory.storage.vectors.search import Windows

RECENT_CHANGES = 64
"""Changes without an event are late vectors: two pasts that differ in more of them differ in events too."""

_OPEN_SLOTS = sql(
    "SELECT embedding.item, embedding.vector, belief.audience, belief.trust_state,"
    " belief.type, belief.agent_id, belief.conversation_id, belief.variant,"
    " belief.valid_from, belief.valid_to, belief.expires_at"
)
_OPEN_BELIEF = sql("JOIN memory_validity AS belief ON belief.item = embedding.item AND") + is_open("belief")


@dataclass(frozen=True, slots=True)
class Moment:
    """What one read transaction sees of an embedding space, its store, its last change and event."""

    space: int
    origin: str
    dimension: int
    sequence: int
    event: int
    is_committed: bool


def moment(reader: Reader, space: int) -> Moment | None:
    """Where this reader stands; None if there is no such space."""
    found = reader.row(
        sql(
            "SELECT dimension, (SELECT max(sequence) FROM search_changes),"
            " (SELECT max(event) FROM memory_history) FROM embedding_spaces WHERE space = ?",
            space,
        )
    )
    if found is None:
        return None
    dimension, sequence, event = (number(value or 0) for value in found)
    changing = isinstance(reader, Transaction) and reader.changed
    return Moment(space, reader.origin, dimension, sequence, event, not changing)


def checkpoint(reader: Reader, sequence: int, event: int) -> Checkpoint:
    """What this reader's store holds at that change and event; item 0 where it holds nothing."""
    changes = reader.rows(
        sql(
            "SELECT sequence, item, kind FROM search_changes WHERE sequence BETWEEN ? AND ?"
            " ORDER BY sequence",
            sequence - RECENT_CHANGES + 1,
            sequence,
        )
    )
    recent = hashlib.blake2b(repr(changes).encode(), digest_size=8).hexdigest()
    happened = reader.row(sql("SELECT hash FROM memory_history WHERE event = ?", event)) or ("",)
    return Checkpoint(sequence, recent, event, text(happened[0])[:16])


def changed_items(reader: Reader, after: int) -> dict[int, int]:
    """The items that changed after this sequence, each with the sequence of its last change."""
    rows = reader.rows(
        sql("SELECT item, max(sequence) FROM search_changes WHERE sequence > ? GROUP BY item", after)
    )
    return {number(item): number(sequence) for item, sequence in rows}


def slots_of(reader: Reader, now: Moment, items: Sequence[int]) -> Records:
    """A record for each window of those of the items that have an open belief, item by item."""
    given = sql("FROM json_each(?) AS asked CROSS JOIN memory_embeddings AS embedding", _json(items))
    joined = sql("ON embedding.item = asked.value AND embedding.space = ?", now.space)
    return _records(reader, now, given + joined)


def all_slots(reader: Reader, now: Moment) -> Iterator[Records]:
    """Every record there is, in pieces of bounded size."""
    last = number((reader.row(sql("SELECT max(item) FROM memory_embeddings")) or (0,))[0] or 0)
    for first in range(0, last + 1, ITEMS_PER_READ):
        given = sql(
            "FROM (SELECT * FROM memory_embeddings WHERE space = ? AND item BETWEEN ? AND ?) AS embedding",
            now.space,
            first,
            first + ITEMS_PER_READ - 1,
        )
        yield _records(reader, now, given)


def visible_items(reader: Reader, view: View, items: Sequence[int]) -> list[int]:
    """Those of the items that the view shows."""
    shown = sql("ON visible.item = asked.value")
    given = sql("SELECT visible.item FROM json_each(?) AS asked CROSS JOIN", _json(items))
    return [number(row[0]) for row in reader.rows(given + visible(view) + shown)]


def all_visible_items(reader: Reader, view: View) -> list[int]:
    """Everything that the view shows."""
    rows = reader.rows(sql("SELECT DISTINCT visible.item FROM") + visible(view))
    return [number(row[0]) for row in rows]


def windows(reader: Reader, now: Moment, items: Sequence[int]) -> Windows:
    """Every whole window of these items, from the full-precision rows."""
    found: list[Row] = []
    for first in range(0, len(items), ITEMS_PER_READ):
        found += reader.rows(
            sql(
                "SELECT embedding.item, embedding.vector FROM json_each(?) AS asked"
                " CROSS JOIN memory_embeddings AS embedding ON embedding.item = asked.value"
                " AND embedding.space = ? WHERE length(embedding.vector) = ?",
                _json(items[first : first + ITEMS_PER_READ]),
                now.space,
                2 * now.dimension,
            )
        )
    return [number(item) for item, _ in found], _unit_vectors(found, now.dimension)


def cosines(reader: Reader, near: Near, items: Sequence[int]) -> dict[int, float]:
    """The best cosine of each of these items with the first vector."""
    now = moment(reader, near.space)
    if now is None or not items:
        return {}
    owners, vectors = windows(reader, now, items)
    best: dict[int, float] = {}
    found = (vectors * question(near, now.dimension).vectors[0]).sum(axis=1)
    for item, cosine in zip(owners, found.tolist(), strict=True):
        best[item] = max(cosine, best.get(item, cosine))
    return best


def _records(reader: Reader, now: Moment, given: Sql) -> Records:
    whole = sql("WHERE length(embedding.vector) = ?", 2 * now.dimension)
    rows = reader.rows(_OPEN_SLOTS + given + _OPEN_BELIEF + whole)
    records = np.zeros(len(rows), slot_type(now.dimension))
    if not rows:
        return records
    items, _, held_by, trust, *filtered = zip(*rows, strict=True)
    records["stamp"] = now.sequence
    records["item"] = items
    records["audience"] = held_by
    records["trust"] = [TRUST_CODES[text(state)] for state in trust]
    for name, texts in zip(TEXT_COLUMNS, filtered, strict=False):
        records[name] = [hashed(text(value)) for value in texts]
    for name, times in zip(TIME_COLUMNS, filtered[len(TEXT_COLUMNS) :], strict=True):
        records[name] = microseconds(cast("Sequence[str]", times))
    quantised(_unit_vectors(rows, now.dimension), records)
    return records


def _unit_vectors(rows: Sequence[Row], dimension: int) -> Doubles:
    return unit_vectors([cast("bytes", row[1]) for row in rows], dimension, "<f2")


def _json(items: Sequence[int]) -> str:
    return f"[{','.join(map(str, items))}]"
