"""History: one event per memory changed, hash-chained per owner, without any memory text."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from m3_memory.storage.inserts import insert_returning, insert_rows
from m3_memory.storage.sql import Row, Sql, Value, any_of, sql
from m3_memory.storage.transaction import GENESIS, number, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.storage.database import Reader, Writer

KINDS = frozenset(
    "create update metadata importance pin refresh trust supersede delete undo expire purge merge link unlink"
    " corroborate review tombstone lift grant restore import forget".split()
)

_COLUMNS: LiteralString = (
    "sequence, store_time, kind, memory_id, version, agent, surface, operation_id, other_id, reason,"
    " digest_before, digest_after, origin, previous_hash"
)
_CHAINED = sql(_COLUMNS)
FIELDS = tuple(_COLUMNS.split(", "))
"""What of an event its hash is taken of, after its owner, in that order."""

_INTO_HISTORY = sql("INSERT INTO memory_history (owner,") + _CHAINED + sql(", hash)")
_INTO_SALTS = sql("INSERT INTO memory_history_salts (event, salt)")
# What no event can hold was put there by somebody else: its repr gives a hash that is not the event's.
_written = json.JSONEncoder(separators=(",", ":"), default=repr).encode


_APART = "\x1e"
"""Between the two parts of what is digested; JSON writes it otherwise."""


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one memory; `other_id` is the second memory of an event that names two.

    `before` and `after` are digested, never kept; of a memory they are its `digestible_text`.
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


BEFORE_ALL = -(2**31) + 1
"""A sequence that no event has, nor any that was put in."""

MISSING = "an event is missing"
CHANGED = "an event was changed after it was written"
LOST = "the head noted beside the store is not in its history"
OTHER_END = "the history does not end where its owner's record says"
_BREAKS = {MISSING: "missing", CHANGED: "changed", LOST: "head", OTHER_END: "end"}


@dataclass(frozen=True, slots=True)
class Break:
    """Where a chain stops being one: a sequence that does not follow from what stands before it."""

    sequence: int
    reason: str

    @property
    def kind(self) -> str:
        """A short code of the reason."""
        return _BREAKS[self.reason]


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


def forget_salts(writer: Writer, events: Sequence[int]) -> None:
    """Erases the salts of these events: what was digested under them can be guessed at no more.

    The chain holds as before.
    """
    writer.execute(sql("DELETE FROM memory_history_salts WHERE") + any_of("event", tuple(events)))


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
    """The first of an owner's `breaks`, or None."""
    return next(breaks(reader, owner, known_head), None)


def breaks(reader: Reader, owner: int, known_head: tuple[int, str] | None = None) -> Iterator[Break]:
    """Walks an owner's chain and tells where it is none, as often as it goes on after that.

    The chain must end where the owner's record says, and hold `known_head`, a (sequence, hash) noted
    elsewhere.
    """
    previous, expected, seen = GENESIS, 1, GENESIS
    for row in events(reader, owner):
        if row[0] != expected:
            yield Break(expected, MISSING)
            previous = text(row[-2])
        if row[-2] != previous or row[-1] != _hash(owner, row[:-1]):
            yield Break(number(row[0]), CHANGED)
        if known_head and known_head[0] == row[0]:
            seen = text(row[-1])
        previous, expected = text(row[-1]), number(row[0]) + 1
    if known_head and known_head[0] and seen != known_head[1]:
        yield Break(known_head[0], LOST)
    recorded = reader.row(sql("SELECT last_sequence, last_hash FROM owners WHERE owner = ?", owner))
    if (recorded or (0, GENESIS)) != (expected - 1, previous):
        yield Break(expected, OTHER_END)


def events(reader: Reader, owner: int) -> Iterator[Row]:
    """The owner's events in their order, a page in memory at a time: FIELDS and the hash of each."""
    after = BEFORE_ALL
    while page := reader.rows(_events(owner, after)):
        yield from page
        after = number(page[-1][0])


def _events(owner: int, after: int) -> Sql:
    where = sql("WHERE owner = ? AND sequence > ? ORDER BY sequence LIMIT 1000", owner, after)
    return sql("SELECT") + _CHAINED + sql(", hash FROM memory_history") + where


def digestible_text(says: Sequence[object], ranked: Sequence[object]) -> str:
    """What stands for a memory in its events: what it says and how it is held, apart from how it ranks."""
    return _APART.join((_written([*says]), _written([*ranked])))


def said_digest(salt: bytes, says: Sequence[object]) -> str:
    """The first part of an event's digest: of what a memory says and how it is held."""
    return _digest(salt, _written([*says]))


def _digest(salt: bytes, content: str) -> str:
    """One digest for each part, with colons between; nothing of nothing."""
    parts = content.split(_APART) if content else []
    return ":".join(hmac.digest(salt, part.encode(errors="surrogatepass"), "sha256").hex() for part in parts)


def _hash(owner: int, fields: tuple[object, ...]) -> str:
    return hashlib.sha256(_written([owner, *fields]).encode()).hexdigest()
