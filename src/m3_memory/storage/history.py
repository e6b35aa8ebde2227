"""History: one event per memory changed, hash-chained per owner, without any memory text."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.storage.inserts import insert_returning, insert_rows
from m3_memory.storage.sql import Row, Sql, Value, sql
from m3_memory.storage.transaction import GENESIS, number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader, Writer

KINDS = frozenset(
    "create update metadata importance pin refresh trust supersede delete undo expire purge merge link unlink"
    " corroborate review tombstone lift grant restore import forget".split()
)

_CHAINED = sql(
    "sequence, store_time, kind, memory_id, version, agent, surface, operation_id, other_id, reason,"
    " digest_before, digest_after, origin, previous_hash"
)
_INTO_HISTORY = sql("INSERT INTO memory_history (owner,") + _CHAINED + sql(", hash)")
_INTO_SALTS = sql("INSERT INTO memory_history_salts (event, salt)")
# What no event can hold was put there by somebody else: its repr gives a hash that is not the event's.
_written = json.JSONEncoder(separators=(",", ":"), default=repr).encode


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one memory; `other_id` is the second memory of an event that names two.

    `before` and `after` are digested, never kept.
    """

    kind: str
    memory_id: str
    version: int
    agent: int
    surface: str
    operation_id: str
    other_id: str = ""
    reason: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """Where a chain stops being one: the first sequence that does not follow from what stands before it."""

    sequence: int
    reason: str


def append(writer: Writer, event: Event) -> int:
    """Adds the event to its owner's chain, in the writer's transaction; returns its number."""
    return append_all(writer, [event])[0]


def append_all(writer: Writer, events: Sequence[Event]) -> list[int]:
    """Adds events to their owner's chain, in order; returns their numbers."""
    if not events:
        return []
    first = writer.chain_end[0] + 1
    rows: list[tuple[Value, ...]] = []
    salts = [os.urandom(16) for _ in events]
    for event, salt in zip(events, salts, strict=True):
        rows.append(_chained(writer, event, salt))
        writer.head = (first + len(rows) - 1, str(rows[-1][-1]))
    added = insert_returning(writer, _INTO_HISTORY, rows, sql("RETURNING sequence, event"))
    numbers = {number(sequence): number(event) for sequence, event in added}
    appended = [numbers[first + place] for place in range(len(events))]
    insert_rows(writer, _INTO_SALTS, list(zip(appended, salts, strict=True)))
    return appended


def _chained(writer: Writer, event: Event, salt: bytes) -> tuple[Value, ...]:
    """The event's row after the last one of its chain."""
    assert event.kind in KINDS, event.kind
    sequence, previous = writer.chain_end
    fields = (
        sequence + 1,
        writer.store_time,
        event.kind,
        event.memory_id,
        event.version,
        event.agent,
        event.surface,
        event.operation_id,
        event.other_id,
        event.reason,
        _digest(salt, event.before),
        _digest(salt, event.after),
        writer.origin,
        previous,
    )
    return (writer.owner, *fields, _hash(writer.owner, fields))


def verify(reader: Reader, owner: int, known_head: tuple[int, str] | None = None) -> Break | None:
    """Walks an owner's chain; the first break, or None.

    The chain must end where the owner's record says, and hold `known_head`, a (sequence, hash) noted
    elsewhere.
    """
    previous, expected, seen = GENESIS, 1, GENESIS
    while page := reader.rows(_events(owner, expected - 1)):
        for row in page:
            if broken := _broken(owner, row, expected, previous):
                return broken
            if known_head and known_head[0] == expected:
                seen = text(row[-1])
            previous, expected = text(row[-1]), expected + 1
    if known_head and known_head[0] and seen != known_head[1]:
        return Break(known_head[0], "the head noted beside the store is not in its history")
    recorded = reader.row(sql("SELECT last_sequence, last_hash FROM owners WHERE owner = ?", owner))
    if (recorded or (0, GENESIS)) != (expected - 1, previous):
        return Break(expected, "the history does not end where its owner's record says")
    return None


def _events(owner: int, after: int) -> Sql:
    where = sql("WHERE owner = ? AND sequence > ? ORDER BY sequence LIMIT 1000", owner, after)
    return sql("SELECT") + _CHAINED + sql(", hash FROM memory_history") + where


def _broken(owner: int, row: Row, expected: int, previous: str) -> Break | None:
    if row[0] != expected:
        return Break(expected, "an event is missing")
    if row[-2] != previous or row[-1] != _hash(owner, row[:-1]):
        return Break(expected, "an event was changed after it was written")
    return None


def _digest(salt: bytes, content: str) -> str:
    return hmac.digest(salt, content.encode(), "sha256").hex() if content else ""


def _hash(owner: int, fields: tuple[object, ...]) -> str:
    return hashlib.sha256(_written([owner, *fields]).encode()).hexdigest()
