"""The audit of an owner: whether its history is whole, and whether its memories are what the history says.

The chain shows that an event was changed, taken out or put in. Each event digests what it made of its memory
under a salt of its own, so that a memory that was changed past us differs from its last event. What is walked
is walked in pages: memory does not grow with the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, LiteralString, NamedTuple

from m3_memory.kernel.normal import content_hash
from m3_memory.storage import history
from m3_memory.storage.dump import encoded
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.storage.database import Reader
    from m3_memory.storage.heads import Head
    from m3_memory.storage.sql import Row

FORMAT = "m3-audit"

_PAGE = 200
"""Texts are long: those of so many events are held in memory at once."""


class Owner(NamedTuple):
    """An owner by its number and its user's name."""

    owner: int
    user_id: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """The first thing of its kind that is not as it was left.

    `part` is history or memories; `kind` a short code; `where` an event's sequence, or a memory.
    """

    part: str
    kind: str
    where: str
    detail: str


@dataclass
class Report:
    """What an audit of one owner saw. `unchecked` beliefs have an event that digests nothing of them."""

    user_id: str
    events: int = 0
    beliefs: int = 0
    unchecked: int = 0
    head: Head = (0, "")
    flaws: dict[str, Flaw] = field(default_factory=dict[str, Flaw])

    def add(self, flaw: Flaw) -> None:
        """Keeps the first flaw of each kind."""
        self.flaws.setdefault(flaw.kind, flaw)


def owners(reader: Reader, *, everybody: bool = False) -> list[Owner]:
    """The reader's user; or every owner of the store."""
    found = reader.rows(sql("SELECT owner, user_id FROM owners ORDER BY owner"))
    named = [Owner(number(row[0]), text(row[1])) for row in found]
    return [owner for owner in named if everybody or owner.user_id == reader.user_id]


def audited(reader: Reader, owner: Owner, heads: Mapping[str, Head]) -> Report:
    """The audit of one owner. `heads` are those noted beside the store, read before the transaction began."""
    report = Report(owner.user_id)
    noted = heads.get(f"{reader.origin}/{owner.user_id}")
    for broken in history.breaks(reader, owner.owner, noted):
        report.add(Flaw("history", broken.kind, f"event {broken.sequence}", broken.reason))
    end = reader.row(sql("SELECT last_sequence, last_hash FROM owners WHERE owner = ?", owner.owner))
    report.head = (number(end[0]), text(end[1])) if end else (0, "")
    for kind, condition, detail in _BELIEFS:
        first = sql(_THEIRS, owner.owner) + sql(condition) + sql(") ORDER BY v.belief LIMIT 1")
        for row in reader.rows(first):
            report.add(Flaw("memories", kind, f"memory {row[0]}", detail))
    for row in reader.rows(sql(_GONE, owner.owner)):
        detail = "nothing is left of it, and no event erased it"
        report.add(Flaw("memories", "gone", f"memory {row[0]}", detail))
    _check_events(reader, owner.owner, report)
    return report


def exported(reader: Reader, owner: Owner, heads: Mapping[str, Head]) -> Iterator[bytes]:
    """The owner's events in their order, a canonical line of JSON each; the first line says whose they are.

    No memory's text is in them. `hash` is SHA-256 of the JSON list of `owner` and the fields that `chained`
    names, in that order, without spaces.
    """
    end = reader.row(sql("SELECT last_sequence, last_hash FROM owners WHERE owner = ?", owner.owner))
    yield encoded(
        {
            "format": FORMAT,
            "version": 1,
            "origin": reader.origin,
            "user_id": owner.user_id,
            "owner": owner.owner,
            "chained": history.FIELDS,
            "head": end,
            "noted_head": heads.get(f"{reader.origin}/{owner.user_id}"),
        }
    )
    for row in history.events(reader, owner.owner):
        yield encoded(dict(zip((*history.FIELDS, "hash"), row, strict=True)))


_THEIRS: LiteralString = """
SELECT v.memory_id FROM memory_validity AS v JOIN memory_items AS i ON i.item = v.item
LEFT JOIN memory_history AS o ON o.event = v.opened_by
LEFT JOIN memory_history AS c ON c.event = v.closed_by
LEFT JOIN agents AS a ON a.agent = o.agent
WHERE i.owner = ? AND ("""
"""Every belief with its version, and the events that are said to have opened and closed it."""

_OPENING: LiteralString = "('create', 'update', 'metadata', 'trust', 'supersede', 'undo', 'restore')"
_CLOSING: LiteralString = (
    "('update', 'metadata', 'trust', 'supersede', 'undo', 'restore', 'expire', 'merge', 'delete', 'purge',"
    " 'forget', 'tombstone')"
)

_FIRST: LiteralString = "v.belief = (SELECT min(w.belief) FROM memory_validity AS w WHERE w.item = i.item)"

_NUMBERED_AFTER_UNDO: LiteralString = (
    "o.kind IN ('update', 'metadata') AND o.version ="
    " (SELECT w.version + 1 FROM memory_validity AS w WHERE w.closed_by = v.opened_by)"
    " AND v.version = (SELECT max(j.version) + 1 FROM memory_items AS j"
    " WHERE j.memory_id = v.memory_id AND j.item < v.item)"
)
"""What releases before 0.4.0 wrote of a version that was made after an undo: the number after the one undo
brought back, where the version has the next that was free.
"""

_BELIEFS: tuple[tuple[str, LiteralString, str], ...] = (
    (
        "belief_without_event",
        "o.event IS NULL OR o.owner <> i.owner OR o.memory_id <> v.memory_id"
        " OR o.store_time <> v.recorded_from OR o.kind NOT IN " + _OPENING,
        "the event that is said to have opened a belief of it tells of no such thing",
    ),
    (
        "belief_twice",
        "EXISTS (SELECT 1 FROM memory_validity AS w"
        " WHERE w.opened_by = v.opened_by AND w.belief <> v.belief)",
        "one event is said to have opened two beliefs",
    ),
    (
        "belief_closing",
        "(v.closed_by IS NULL) <> (v.recorded_to = '9999-12-31T23:59:59.999999Z') OR (v.closed_by IS NOT NULL"
        " AND (c.event IS NULL OR c.owner <> i.owner OR c.memory_id <> v.memory_id OR c.store_time <>"
        " v.recorded_to OR c.kind NOT IN " + _CLOSING + "))",
        "the event that is said to have closed a belief of it tells of no such thing",
    ),
    (
        "belief_of_another_version",
        "v.memory_id <> i.memory_id OR v.version <> i.version OR v.audience <> i.audience OR v.type <> i.type"
        " OR v.variant <> i.variant OR v.conversation_id <> i.conversation_id OR v.agent_id <> i.agent_id",
        "a belief says other things of its version than that does",
    ),
    (
        "version",
        _FIRST + " AND o.version <> v.version AND NOT (" + _NUMBERED_AFTER_UNDO + ")",
        "the event that is said to have made a version of it tells of another",
    ),
    (
        "another_agent",
        _FIRST + " AND a.agent_id <> i.agent_id",
        "it is said to be of another agent than the one whose event made it",
    ),
)
"""What may be wrong with a belief."""


_GONE: LiteralString = """
SELECT h.memory_id FROM memory_history AS h WHERE h.owner = ? AND h.kind = 'create'
AND NOT EXISTS (SELECT 1 FROM memory_items AS i WHERE i.memory_id = h.memory_id)
AND NOT EXISTS (SELECT 1 FROM memory_history AS f WHERE f.memory_id = h.memory_id AND f.owner = h.owner
 AND f.kind IN ('forget', 'purge') AND f.sequence > h.sequence) ORDER BY h.sequence LIMIT 1"""

_HELD: tuple[LiteralString, ...] = (
    *("i.type", "i.title", "i.content", "i.metadata", "i.conversation_id"),
    *("v.valid_from", "v.valid_to", "v.trust_state", "v.audience"),
)
"""A version and its belief, as an event digests them."""


_OF_EVENTS: LiteralString = """
FROM memory_history AS h LEFT JOIN memory_history_salts AS s ON s.event = h.event
LEFT JOIN memory_validity AS cv ON cv.closed_by = h.event LEFT JOIN memory_items AS ci ON ci.item = cv.item
LEFT JOIN memory_validity AS ov ON ov.opened_by = h.event LEFT JOIN memory_items AS oi ON oi.item = ov.item
WHERE h.owner = ? AND h.sequence > ? ORDER BY h.sequence LIMIT ?"""
"""Events with the versions whose beliefs they closed and opened."""


def _events(owner: int, after: int) -> Sql:
    held = ", ".join([f"{end}{column}" for end in ("c", "o") for column in _HELD])
    return (
        sql("SELECT h.sequence, h.memory_id, h.digest_before, h.digest_after, s.salt, ci.item, oi.item,")
        + sql("oi.content_hash, EXISTS (SELECT 1 FROM memory_items AS k WHERE k.memory_id = h.memory_id),")
        + Sql(held)
        + sql(_OF_EVENTS, owner, after, _PAGE)
    )


def _check_events(reader: Reader, owner: int, report: Report) -> None:
    after = history.BEFORE_ALL
    while page := reader.rows(_events(owner, after)):
        for row in page:
            report.events += 1
            _check_event(row, report)
        after = number(page[-1][0])


def _check_event(row: Row, report: Report) -> None:
    sequence, memory_id, before, after, salt, closed, opened, hashed, is_kept, *held = row
    where = f"event {sequence}, memory {memory_id}"
    said_before, said_after = text(before).partition(":"), text(after).partition(":")
    if opened is not None:
        report.beliefs += 1
        report.unchecked += not said_after[1]
        if not said_after[0]:
            report.add(Flaw("memories", "digest", where, "the event that opened a belief says nothing of it"))
        if hashed != content_hash(text(held[len(_HELD) + 2])):
            report.add(Flaw("memories", "content", where, "its content is not the one that was hashed"))
    if not (memory_id and is_kept and (said_before[1] or said_after[1])):
        return  # nothing is left to be compared, or the event is of a form that digested less
    key = salt if isinstance(salt, bytes) else None
    changes = said_before[0] != said_after[0]
    for verb, said, item, says in (
        ("closed", said_before[0], closed, held[: len(_HELD)]),
        ("opened", said_after[0], opened, held[len(_HELD) :]),
    ):
        if item is None and said and changes and key:
            report.add(Flaw("memories", "digest", where, f"the belief that it {verb} is not there"))
        elif item is not None and (not key or history.said_digest(key, says) != said):
            report.add(Flaw("memories", "digest", where, f"the belief that it {verb} is not what it was"))
