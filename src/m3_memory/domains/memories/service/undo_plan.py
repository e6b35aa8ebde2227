"""What an undo comes to: which changes it takes back, and what stands in the way of the others."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Belief, Edge
from m3_memory.domains.memories.service.reviews import concerned_audiences
from m3_memory.domains.memories.service.timelines import Row, Stage, Step, Timeline
from m3_memory.domains.memories.service.tombstones import tombstoned
from m3_memory.domains.memories.service.trusting import said_hashes
from m3_memory.domains.memories.service.undo_repetitions import repetitions
from m3_memory.kernel.caller import OPERATOR
from m3_memory.storage.predicates import REJECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3_memory.domains.memories.queries import Act
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader

Thing: TypeAlias = str | tuple[str, str, str]
"""What a row is about: a memory's id, or what an edge is between."""

Change: TypeAlias = "tuple[Act, ...]"
"""What one call did to memories that belong together, as the two of a supersede: undone whole."""

OPERATORS_KINDS = frozenset("trust purge tombstone lift grant restore forget".split())
"""Kinds of events that only an operator's call makes."""

_OPERATORS_STATES = frozenset({"verified", "rejected"})
_SEQUENCE = re.compile(r"\d+")


def reason_of(undone: Iterable[Act]) -> str:
    """What an undo's event says it took back; the next undo reads it again."""
    return f"undoes {', '.join(str(act.sequence) for act in undone)}"


def decisions_in(acts: Iterable[Act], caller: Caller) -> list[Act]:
    """Of events those by which a question was decided, and of an operator's none for who is not one: an undo
    opens it again.
    """
    told = ("asked ", "withdrew ", "reopened ")
    decided = [act for act in acts if act.kind == "review" and not act.reason.startswith(told)]
    return [act for act in decided if caller.is_operator or act.agent_id != OPERATOR]


class Why(StrEnum):
    """Why a change stays."""

    CHANGED_SINCE = "changed_since"
    UNDONE_ALREADY = "undone_already"
    DUPLICATE = "duplicate"
    TOMBSTONED = "tombstoned"
    NEEDS_OPERATOR = "needs_operator"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class KeptChange:
    """A change that stays, and what is in its way: an event, or a memory that says the same.

    It is named by its first event of a memory that the caller holds.
    """

    event: int
    kind: str
    memory_id: str
    agent_id: str
    why: str
    by_event: int | None = None
    by_kind: str | None = None
    by_agent_id: str | None = None
    by_memory_id: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What changes with one memory: the events undone, newest first, and its belief, from `now` to `then`.

    `belief` is what it says then, or said last; `rows` are all that is closed and opened, edges too.
    """

    memory_id: str
    undone: list[Act]
    now: Belief | None
    then: Belief | None
    belief: Belief
    rows: list[tuple[Row | None, Row | None]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What an undo does: events newest first, memories by the last of theirs, each row in one turn.

    `left` are events that changed only what keeps no past.
    """

    undone: list[Act]
    turns: list[Turn]
    kept: list[KeptChange]
    left: list[Act]

    @property
    def blocked(self) -> list[KeptChange]:
        """What is kept though it was not undone before."""
        return [kept for kept in self.kept if kept.why != Why.UNDONE_ALREADY]


def plan(reader: Reader, caller: Caller, chosen: Sequence[Act], event: int = 0) -> Plan:
    """What undoing these events, or of them the change alone that holds one event, comes to for this caller.

    Changes of which no part lies in an audience the caller holds are left out without a word, and edges that
    lead out of those.
    """
    past = _past_of(reader, chosen)
    changes = [
        change for change in _changes(past, chosen) if not event or any(act.event == event for act in change)
    ]
    idle = [act for act in chosen if act.event not in past.touched and (not event or act.event == event)]
    return _Planning(reader, caller, past, changes).settled(idle)


@dataclass(frozen=True)
class _Past:
    """All that ever happened to what some events touched.

    `touched` and `changed` tell, by event, of which things it changed which rows.
    """

    acts: dict[int, Act]
    rows: dict[Thing, list[Row]]
    touched: dict[int, list[Thing]]
    timelines: dict[Thing, Timeline]
    changed: dict[int, list[Row]]

    def open_row(self, thing: Thing) -> Row | None:
        """The belief or edge that is open now."""
        newest = self.rows[thing][-1]
        return newest if newest.closed_by is None else None


def _past_of(reader: Reader, chosen: Sequence[Act]) -> _Past:
    events = [act.event for act in chosen]
    edges = queries.edges_changed_by(reader, events)
    ends = {end for edge in edges for end in (edge.from_id, edge.to_id)}
    rows = defaultdict[Thing, list[Row]](list)
    for belief in queries.beliefs_of(reader, ends | {act.memory_id for act in chosen}):
        rows[belief.memory_id].append(belief)
    for edge in queries.edges_between(reader, [edge.between for edge in edges]):
        rows[edge.between].append(edge)
    touching = {thing: _events(listed) for thing, listed in rows.items()}
    acts = {act.event: act for act in queries.acts(reader, set[int]().union(*touching.values()))}
    touched = defaultdict[int, list[Thing]](list)
    for thing, by in touching.items():
        for event in by.keys() & events:
            touched[event].append(thing)
    numbers = {act.sequence: act.event for act in acts.values()}
    timelines = {
        thing: Timeline(_step(acts[event], row, numbers) for event, row in sorted(by.items()))
        for thing, by in touching.items()
    }
    changed = defaultdict[int, list[Row]](list)
    for row in (row for listed in rows.values() for row in listed):
        changed[row.opened_by].append(row)
        changed[row.closed_by or 0].append(row)
    return _Past(acts, dict(rows), dict(touched), timelines, dict(changed))


def _events(rows: Iterable[Row]) -> dict[int, Row | None]:
    """The events of a thing, each with the row it left open."""
    found: dict[int, Row | None] = {}
    for row in rows:
        found[row.opened_by] = row
        if row.closed_by is not None:
            found.setdefault(row.closed_by, None)
    return found


def _step(act: Act, row: Row | None, numbers: dict[int, int]) -> Step:
    if act.kind != "undo":
        return Step(act.event, row)
    undone = map(int, _SEQUENCE.findall(act.reason)) if act.reason.startswith("undoes") else ()
    return Step(act.event, row, frozenset(numbers[number] for number in undone if number in numbers))


def _changes(past: _Past, chosen: Iterable[Act]) -> list[Change]:
    """The events in changes that can only be undone whole, the newest first.

    Whole are one call's acts on a memory, and on those that a `supersedes` edge joins; a link is by itself.
    """
    acts = [act for act in chosen if act.event in past.touched]
    over: dict[tuple[str, str], tuple[str, str]] = {}

    def first(operation_id: str, memory_id: str) -> tuple[str, str]:
        one = operation_id, memory_id
        while one in over:
            one = over[one]
        return one

    for act in acts:
        for thing in past.touched[act.event]:
            if not isinstance(thing, str) and thing[2] == "supersedes":
                one, other = (first(act.operation_id, end) for end in thing[:2])
                if one != other:
                    over[max(one, other)] = min(one, other)
    groups: dict[tuple[str, str], list[Act]] = defaultdict(list)
    for act in acts:
        is_link = act.kind in ("link", "unlink")
        groups[
            (act.operation_id, str(act.event)) if is_link else first(act.operation_id, act.memory_id)
        ].append(act)
    return [tuple(group) for group in reversed(groups.values())]


class _Planning:
    def __init__(self, reader: Reader, caller: Caller, past: _Past, changes: Sequence[Change]) -> None:
        self._reader = reader
        self._caller = caller
        self._past = past
        self._held = frozenset(concerned_audiences(reader, caller))
        self._kept: list[KeptChange] = []
        self._wanted: dict[int, Change] = {}
        self._by_thing = defaultdict[Thing, set[int]](set)
        self._stages: dict[Thing, Stage] = {}
        for change in changes:
            if any(self._holds(act.memory_id) for act in change):
                self._want(change)

    def settled(self, idle: Iterable[Act]) -> Plan:
        """The plan once nothing that is kept stands in the way of what is undone."""
        unsettled = set(self._by_thing)
        while unsettled:
            unsettled = (
                self._without_obstacles(unsettled) or self._without_leaned_on() or self._without_duplicates()
            )
        undone = [self._past.acts[event] for event in sorted(self._wanted, reverse=True)]
        self._kept.sort(key=lambda kept: -kept.event)
        return Plan(
            undone, self._turns(undone), self._kept, [act for act in idle if self._holds(act.memory_id)]
        )

    def _turns(self, undone: Iterable[Act]) -> list[Turn]:
        found: dict[str, Turn] = {}
        changed = {thing: (self._past.open_row(thing), self._stages[thing].row) for thing in self._changed()}
        waiting = set(changed)
        for act in undone:
            touched = self._past.touched[act.event]
            if changed.keys().isdisjoint(touched):
                continue
            if act.memory_id not in found:
                now, then = map(_belief, changed.get(act.memory_id, (None, None)))
                belief = then or now or _belief(self._past.rows[act.memory_id][-1])
                assert belief, "a memory's first row is a belief, and so are all"
                found[act.memory_id] = Turn(act.memory_id, [], now, then, belief, [])
            found[act.memory_id].undone.append(act)
            found[act.memory_id].rows.extend(changed[thing] for thing in touched if thing in waiting)
            waiting.difference_update(touched)
        return list(found.values())

    def _want(self, change: Change) -> None:
        rows = [row for act in change for row in self._past.changed[act.event]]
        if all(isinstance(row, Edge) and not all(map(self._holds, _ends([row]))) for row in rows):
            return
        for act in change:
            self._wanted[act.event] = change
            for thing in self._past.touched[act.event]:
                self._by_thing[thing].add(act.event)
        if not all(map(self._holds, _ends(rows))):
            self._keep(change, Why.ELSEWHERE)
        elif not self._caller.is_operator and _is_operators(change, rows):
            self._keep(change, Why.NEEDS_OPERATOR)

    def _without_obstacles(self, things: Iterable[Thing]) -> set[Thing]:
        """Keeps what something stands in the way of; returns the things to be looked at again."""
        again = set[Thing]()
        for thing in sorted(things, key=str):
            self._stages[thing], staying = self._past.timelines[thing].undoing(self._by_thing[thing])
            for event, by in staying.items():
                if change := self._wanted.get(event):
                    why = Why.UNDONE_ALREADY if by is None else Why.CHANGED_SINCE
                    again |= self._keep(change, why, self._past.acts.get(by or 0))
        return again

    def _without_leaned_on(self) -> set[Thing]:
        """Keeps what took the place of another memory since, by a call that stays: else neither stood.

        That memory is not named where it lies elsewhere.
        """
        again, changed = set[Thing](), self._changed()
        withdrawn = {thing for thing in changed if isinstance(thing, str) and not self._stages[thing].row}
        for edge in queries.open_edges_from(self._reader, withdrawn, "supersedes"):
            is_since = any(edge.opened_by > event for event in self._by_thing[edge.from_id])
            if not is_since or edge.between in changed:
                continue
            replaced = queries.beliefs_of(self._reader, {edge.to_id})
            if replaced and replaced[-1].audience in self._held:
                (act,) = queries.acts(self._reader, [edge.opened_by])
                again |= self._keep_all(edge.from_id, Why.CHANGED_SINCE, act)
            else:
                again |= self._keep_all(edge.from_id, Why.ELSEWHERE)
        return again

    def _without_duplicates(self) -> set[Thing]:
        """Keeps what would say again what another memory says by now."""
        again, changed = set[Thing](), self._changed()
        beliefs = [row for thing in changed if isinstance(row := self._stages[thing].row, Belief)]
        for belief, of in repetitions(self._reader, self._caller, beliefs, changed):
            again |= self._keep_all(belief.memory_id, Why.DUPLICATE, of=of)
        return again or self._without_tombstoned(beliefs)

    def _without_tombstoned(self, beliefs: Sequence[Belief]) -> set[Thing]:
        """Keeps what would say again what was rejected meanwhile, or erased; not the rejection's own undo."""
        again = set[Thing]()
        hashes = said_hashes(self._reader, beliefs)
        places = [(belief.audience, hashes[belief.item]) for belief in beliefs]
        for belief, tombstone in zip(beliefs, tombstoned(self._reader, places, self._caller), strict=True):
            now = _belief(self._past.open_row(belief.memory_id))
            is_lifted = now is not None and now.trust_state == REJECTED
            if not tombstone or belief.trust_state == REJECTED or (is_lifted and not tombstone.is_erased):
                continue
            again |= self._keep_all(belief.memory_id, Why.TOMBSTONED, of=tombstone.memory_id)
        return again

    def _changed(self) -> dict[Thing, None]:
        """The things the undo changes, in the order of their coming; from nothing to nothing is no change."""
        return {
            thing: None
            for thing, stage in self._stages.items()
            if stage is not self._past.timelines[thing].now and (stage.row or self._past.open_row(thing))
        }

    def _keep_all(self, memory_id: str, why: Why, by: Act | None = None, of: str = "") -> set[Thing]:
        """Keeps every change of a memory's belief."""
        changes = {self._wanted[event] for event in self._by_thing[memory_id]}
        return set[Thing]().union(*(self._keep(change, why, by, of) for change in changes))

    def _keep(self, change: Change, why: Why, by: Act | None = None, of: str = "") -> set[Thing]:
        """Keeps a change for what is in its way; returns the things to be looked at again."""
        act = next(act for act in change if self._holds(act.memory_id))
        named = (by.sequence, by.kind, by.agent_id, by.memory_id) if by else (None, None, None, of or None)
        self._kept.append(KeptChange(act.sequence, act.kind, act.memory_id, act.agent_id, why, *named))
        for act in change:
            del self._wanted[act.event]
            for thing in self._past.touched[act.event]:
                self._by_thing[thing].discard(act.event)
        return {thing for act in change for thing in self._past.touched[act.event]}

    def _holds(self, memory_id: str) -> bool:
        newest = _belief(self._past.rows.get(memory_id, [None])[-1])
        return newest is not None and newest.audience in self._held


def _belief(row: Row | None) -> Belief | None:
    return row if isinstance(row, Belief) else None


def _ends(rows: Iterable[Row]) -> set[str]:
    """The memories that rows are about."""
    ends = ((row.memory_id,) if isinstance(row, Belief) else (row.from_id, row.to_id) for row in rows)
    return {end for pair in ends for end in pair}


def _is_operators(change: Change, rows: Iterable[Row]) -> bool:
    """Whether an operator made the change, or it is one that only an operator makes."""
    beliefs = [row for row in rows if isinstance(row, Belief)]
    places = {(belief.memory_id, belief.audience) for belief in beliefs}
    return (
        any(act.agent_id == OPERATOR or act.kind in OPERATORS_KINDS for act in change)
        or any(belief.trust_state in _OPERATORS_STATES for belief in beliefs)
        or len(places) > len({memory_id for memory_id, _ in places})
    )
