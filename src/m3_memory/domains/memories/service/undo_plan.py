"""What an undo comes to: which changes it takes back, and what stands in the way of the others."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Belief, Edge
from m3_memory.domains.memories.service.timelines import Stage, Step, Timeline
from m3_memory.domains.memories.service.undo_repetitions import repetitions
from m3_memory.storage.predicates import Filter, audience_numbers, view_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from m3_memory.domains.memories.queries import Act
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader

Row: TypeAlias = Belief | Edge
Thing: TypeAlias = str | tuple[str, str, str]
"""What a row is about: a memory's id, or what an edge is between."""

OPERATORS_KINDS = frozenset("trust purge merge tombstone lift grant restore forget".split())
"""Kinds of events that only an operator's call makes."""

_OPERATORS_STATES = frozenset({"verified", "rejected"})
_SEQUENCE = re.compile(r"\d+")


def reason_of(undone: Iterable[Act]) -> str:
    """What an undo's event says it took back; `Past` reads it again."""
    return f"undoes {', '.join(str(act.sequence) for act in undone)}"


class Why(StrEnum):
    """Why a change stays."""

    CHANGED_SINCE = "changed_since"
    UNDONE_ALREADY = "undone_already"
    DUPLICATE = "duplicate"
    NEEDS_OPERATOR = "needs_operator"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a change: the event in the way, or the memory that says the same."""

    why: Why
    act: Act | None = None
    memory_id: str = ""


@dataclass(frozen=True, eq=False)
class Change:
    """What one call did to memories that belong together, as the two of a supersede: undone whole."""

    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A change that stays; `act` is its first event of a memory that the caller holds."""

    act: Act
    obstacle: Obstacle


@dataclass(frozen=True, slots=True)
class Plan:
    """What an undo does: `undone` newest first, `stages` as each thing that changes will stand.

    `left` are events that changed only what keeps no past.
    """

    past: Past
    undone: list[Act]
    stages: dict[Thing, Stage[Row]]
    kept: list[Kept]
    left: list[Act]

    @property
    def blocked(self) -> list[Kept]:
        """What is kept though it was not undone before."""
        return [kept for kept in self.kept if kept.obstacle.why is not Why.UNDONE_ALREADY]


@dataclass(frozen=True)
class Past:
    """All that ever happened to what some events touched, and the events that touched nothing."""

    acts: dict[int, Act]
    rows: dict[Thing, list[Row]]
    touched: dict[int, list[Thing]]
    timelines: dict[Thing, Timeline[Row]]
    idle: list[Act]

    def open_row(self, thing: Thing) -> Row | None:
        """The belief or edge that is open now."""
        newest = self.rows[thing][-1]
        return newest if newest.closed_by is None else None

    def rows_of(self, act: Act) -> Iterator[Row]:
        """What the event opened and closed."""
        for thing in self.touched.get(act.event, ()):
            yield from (row for row in self.rows[thing] if act.event in (row.opened_by, row.closed_by))


def past_of(reader: Reader, chosen: Sequence[Act]) -> Past:
    """The past of everything that these events touched."""
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
    idle = [act for act in chosen if act.event not in touched]
    return Past(acts, dict(rows), dict(touched), timelines, idle)


def _events(rows: Iterable[Row]) -> dict[int, Row | None]:
    """The events of a thing, each with the row it left open."""
    found: dict[int, Row | None] = {}
    for row in rows:
        found[row.opened_by] = row
        if row.closed_by is not None:
            found.setdefault(row.closed_by, None)
    return found


def _step(act: Act, row: Row | None, numbers: dict[int, int]) -> Step[Row]:
    if act.kind != "undo":
        return Step(act.event, row)
    undone = map(int, _SEQUENCE.findall(act.reason)) if act.reason.startswith("undoes") else ()
    return Step(act.event, row, frozenset(numbers[number] for number in undone if number in numbers))


def changes_of(past: Past, chosen: Iterable[Act]) -> list[Change]:
    """The events in changes that can only be undone whole, the newest first."""
    acts = [act for act in chosen if act.event in past.touched]
    joined = _Joined()
    for act in acts:
        for thing in past.touched[act.event]:
            if not isinstance(thing, str) and thing[2] == "supersedes":
                joined.join((act.operation_id, thing[0]), (act.operation_id, thing[1]))
    groups: dict[tuple[str, str], list[Act]] = defaultdict(list)
    for act in acts:
        groups[_group(past, joined, act)].append(act)
    return [Change(tuple(group)) for group in reversed(groups.values())]


def _group(past: Past, joined: _Joined, act: Act) -> tuple[str, str]:
    """Whose acts are undone together: of one call and its joined memories; a link by itself."""
    is_link = all(
        not isinstance(thing, str) and thing[2] != "supersedes" for thing in past.touched[act.event]
    )
    if is_link and act.kind in ("link", "unlink"):
        return act.operation_id, str(act.event)
    return joined.first((act.operation_id, act.memory_id))


@dataclass
class _Joined:
    """Memories of calls, joined in groups, each known by its first."""

    _over: dict[tuple[str, str], tuple[str, str]] = field(
        default_factory=dict[tuple[str, str], tuple[str, str]]
    )

    def first(self, one: tuple[str, str]) -> tuple[str, str]:
        while one in self._over:
            one = self._over[one]
        return one

    def join(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        one, other = self.first(one), self.first(other)
        if one != other:
            self._over[max(one, other)] = min(one, other)


def plan(reader: Reader, caller: Caller, past: Past, changes: Sequence[Change]) -> Plan:
    """What undoing these changes comes to for this caller.

    Changes of which no part lies in an audience the caller holds are left out without a word.
    """
    return _Planning(reader, caller, past, changes).settled()


class _Planning:
    def __init__(self, reader: Reader, caller: Caller, past: Past, changes: Sequence[Change]) -> None:
        self._reader = reader
        self._caller = caller
        self._past = past
        self._held = frozenset(audience_numbers(reader, view_of(reader, caller, Filter())))
        self._kept: dict[Change, Obstacle] = {}
        self._wanted: dict[int, Change] = {}
        self._by_thing = defaultdict[Thing, set[int]](set)
        self._stages: dict[Thing, Stage[Row]] = {}
        for change in changes:
            if any(self._holds(act.memory_id) for act in change.acts):
                self._want(change)

    def settled(self) -> Plan:
        """The plan once nothing that is kept stands in the way of what is undone."""
        unsettled = set(self._by_thing)
        while unsettled:
            unsettled = (
                self._without_obstacles(unsettled) or self._without_leaned_on() or self._without_duplicates()
            )
        acts = self._past.acts
        undone = [acts[event] for event in sorted(self._wanted, reverse=True)]
        changed = {thing: stage for thing, stage in self._stages.items() if self._changes(thing)}
        left = [act for act in self._past.idle if self._holds(act.memory_id)]
        kept = [Kept(self._first_held(change), obstacle) for change, obstacle in self._kept.items()]
        kept.sort(key=lambda entry: -entry.act.sequence)
        return Plan(self._past, undone, changed, kept, left)

    def _want(self, change: Change) -> None:
        rows = [row for act in change.acts for row in self._past.rows_of(act)]
        if not all(map(self._holds, _ends(rows))):
            self._kept[change] = Obstacle(Why.ELSEWHERE)
        elif not self._caller.is_operator and _is_operators(change, rows):
            self._kept[change] = Obstacle(Why.NEEDS_OPERATOR)
        else:
            for act in change.acts:
                self._wanted[act.event] = change
                for thing in self._past.touched[act.event]:
                    self._by_thing[thing].add(act.event)

    def _without_obstacles(self, things: Iterable[Thing]) -> set[Thing]:
        """Keeps what something stands in the way of; returns the things to be looked at again."""
        again = set[Thing]()
        for thing in sorted(things, key=str):
            undoing = self._past.timelines[thing].undoing(self._by_thing[thing])
            self._stages[thing] = undoing.stage
            for event, obstacle in undoing.obstacles.items():
                if change := self._wanted.get(event):
                    again |= self._keep(change, self._obstacle(obstacle))
        return again

    def _obstacle(self, event: int | None) -> Obstacle:
        if event is None:
            return Obstacle(Why.UNDONE_ALREADY)
        act = self._past.acts[event]
        return Obstacle(Why.CHANGED_SINCE, act, act.memory_id)

    def _without_leaned_on(self) -> set[Thing]:
        """Keeps what took the place of another memory since, by a call that stays: else neither stood."""
        again = set[Thing]()
        withdrawn = {thing for thing in self._stages if isinstance(thing, str) and self._changes(thing)}
        withdrawn = {thing for thing in withdrawn if self._stages[thing].row is None}
        for edge in queries.open_edges_from(self._reader, withdrawn, "supersedes"):
            is_since = any(edge.opened_by > event for event in self._by_thing[edge.from_id])
            if is_since and not self._changes(edge.between):
                again |= self._keep_all(edge.from_id, self._superseding(edge))
        return again

    def _superseding(self, edge: Edge) -> Obstacle:
        """That by which a memory took the place of another; not named where that lies elsewhere."""
        replaced = queries.beliefs_of(self._reader, {edge.to_id})
        if not replaced or replaced[-1].audience not in self._held:
            return Obstacle(Why.ELSEWHERE)
        (act,) = queries.acts(self._reader, [edge.opened_by])
        return Obstacle(Why.CHANGED_SINCE, act, act.memory_id)

    def _without_duplicates(self) -> set[Thing]:
        """Keeps what would say again what another memory says by now."""
        again = set[Thing]()
        reopened = [stage.row for thing, stage in self._stages.items() if self._changes(thing)]
        beliefs = [row for row in reopened if isinstance(row, Belief)]
        for belief, of in repetitions(self._reader, beliefs, lambda memory_id: not self._changes(memory_id)):
            again |= self._keep_all(belief.memory_id, Obstacle(Why.DUPLICATE, memory_id=of))
        return again

    def _changes(self, thing: Thing) -> bool:
        """Whether the undo changes how this thing stands; from nothing to nothing is no change."""
        stage = self._stages.get(thing)
        if stage is None or stage is self._past.timelines[thing].now:
            return False
        return bool(stage.row or self._past.open_row(thing))

    def _keep_all(self, memory_id: str, obstacle: Obstacle) -> set[Thing]:
        """Keeps every change of a memory's belief."""
        changes = {self._wanted[event] for event in self._by_thing[memory_id]}
        return set[Thing]().union(*(self._keep(change, obstacle) for change in changes))

    def _keep(self, change: Change, obstacle: Obstacle) -> set[Thing]:
        self._kept[change] = obstacle
        things = set[Thing]()
        for act in change.acts:
            del self._wanted[act.event]
            for thing in self._past.touched[act.event]:
                self._by_thing[thing].discard(act.event)
                things.add(thing)
        return things

    def _first_held(self, change: Change) -> Act:
        return next(act for act in change.acts if self._holds(act.memory_id))

    def _holds(self, memory_id: str) -> bool:
        rows = self._past.rows.get(memory_id)
        newest = rows[-1] if rows else None
        return isinstance(newest, Belief) and newest.audience in self._held


def _ends(rows: Iterable[Row]) -> set[str]:
    """The memories that rows are about."""
    found = set[str]()
    for row in rows:
        found |= {row.memory_id} if isinstance(row, Belief) else {row.from_id, row.to_id}
    return found


def _is_operators(change: Change, rows: Iterable[Row]) -> bool:
    """Whether the change is one that only an operator makes."""
    beliefs = [row for row in rows if isinstance(row, Belief)]
    audiences = defaultdict[str, set[int]](set)
    for belief in beliefs:
        audiences[belief.memory_id].add(belief.audience)
    return (
        any(act.kind in OPERATORS_KINDS for act in change.acts)
        or any(belief.trust_state in _OPERATORS_STATES for belief in beliefs)
        or any(len(places) > 1 for places in audiences.values())
    )
