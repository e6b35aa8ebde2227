"""History: one event per memory changed, hash-chained per owner, without any memory text."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.storage.sql import Row, Sql, sql
from m3_memory.storage.transaction import GENESIS, number, text

if TYPE_CHECKING:
    from m3_memory.storage.database import Reader, Writer

KINDS = frozenset(
    "create update metadata importance pin refresh trust supersede delete undo expire purge merge link unlink"
    " corroborate review tombstone lift grant restore import forget".split()
)

_CHAINED = sql(
    "sequence, store_time, kind, memory_id, version, agent, surface, operation_id, other_id, reason,"
    " digest_before, digest_after, origin, previous_hash"
)


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
    assert event.kind in KINDS, event.kind
    (last,) = writer.rows(sql("SELECT last_sequence, last_hash FROM owners WHERE owner = ?", writer.owner))
    salt = os.urandom(16)
    fields = (
        number(last[0]) + 1,
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
        text(last[1]),
    )
    chained = _hash(writer.owner, fields)
    added = writer.insert(
        sql("INSERT INTO memory_history (owner,")
        + _CHAINED
        + sql(
            ", hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", writer.owner, *fields, chained
        )
        + sql("RETURNING event")
    )
    writer.execute(sql("INSERT INTO memory_history_salts (event, salt) VALUES (?, ?)", added, salt))
    writer.execute(
        sql(
            "UPDATE owners SET last_sequence = ?, last_hash = ? WHERE owner = ?",
            fields[0],
            chained,
            writer.owner,
        )
    )
    writer.head = (fields[0], chained)
    return added


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
    return hmac.new(salt, content.encode(), hashlib.sha256).hexdigest() if content else ""


def _hash(owner: int, fields: tuple[object, ...]) -> str:
    # What no event can hold was put there by somebody else: its repr gives a hash that is not the event's.
    chained = json.dumps([owner, *fields], separators=(",", ":"), default=repr)
    return hashlib.sha256(chained.encode()).hexdigest()
