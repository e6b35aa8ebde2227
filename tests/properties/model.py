"""What the verbs do to beliefs, in plain Python: written from the table of data_model.md §2, and §6 and §7.

The rows are the oracle's, so that what a caller sees of them is the oracle's answer.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from m3_memory.kernel.clock import BEGINNING, Clock, later, plus
from tests.properties.oracle import OPEN, Asker, Belief, Place, Question, Store

EVENTS = ("log", "conversation")
"""Of the types used here: records of events, whose words may be the same twice."""


class Text(NamedTuple):
    """What a version says."""

    content: str
    title: str = ""
    note: str = ""

    @property
    def sense(self) -> str:
        """What duplicates are compared by; enough for the sentences used here."""
        return " ".join(self.content.lower().removesuffix(".").split())


class Event(NamedTuple):
    kind: str
    at: str
    version: int


@dataclass(frozen=True)
class Statement:
    """What a caller gives to be stored. Absent dates are None."""

    text: Text
    type: str = "fact"
    scope: str = "agent"
    valid_from: str | None = None
    valid_to: str | None = None
    reassert: bool = False


@dataclass(frozen=True)
class Verdict:
    """What a call must come to: a status or an error's code, and the ids it may name."""

    what: str
    of: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Done:
    """What one change did: each memory's stage before and after, which supersedings it began and ended."""

    stages: dict[str, tuple[int, int]]
    began: frozenset[tuple[str, str]] = frozenset()
    ended: frozenset[tuple[str, str]] = frozenset()


@dataclass
class Model:
    """One user's memories in one circle and project, as the data model wants them."""

    asker: Asker
    clock: Clock
    last: str = BEGINNING
    rows: Store = field(default_factory=Store)
    texts: dict[tuple[str, int], Text] = field(default_factory=dict[tuple[str, int], Text])
    events: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]])
    importance: dict[str, float] = field(default_factory=dict[str, float])
    supersedes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    closed_by: dict[int, str] = field(default_factory=dict[int, str])
    done: list[Done] = field(default_factory=list[Done])
    stage: dict[str, int] = field(default_factory=dict[str, int])
    stands: list[Belief | None] = field(default_factory=lambda: [None])
    changing: set[str] = field(default_factory=set[str])

    @property
    def now(self) -> str:
        return max(self.clock.now(), self.last)

    @property
    def store_time(self) -> str:
        """That of the next change."""
        return max(self.clock.now(), later(self.last))

    @property
    def ids(self) -> list[str]:
        return list(self.events)

    def newest(self, memory_id: str) -> Belief:
        return max((b for b in self.rows.beliefs if b.memory_id == memory_id), key=lambda b: b.number)

    def text(self, belief: Belief) -> Text:
        return self.texts[belief.memory_id, belief.version]

    def seen(self, as_of: str | None = None, known_at: str | None = None) -> dict[str, Belief]:
        """What a read shows, by memory."""
        shown = {
            number for _, number in self.rows.seen(self.asker, Question(self.now, as_of, known_at)) or ()
        }
        return {belief.memory_id: belief for belief in self.rows.beliefs if belief.number in shown}

    def standing(self, memory_id: str) -> tuple[str, str]:
        """(state, since) of a memory today."""
        newest = self.newest(memory_id)
        if newest.recorded_to != OPEN:
            return self.closed_by[newest.number], newest.recorded_to
        if newest.expires_at <= self.now:
            return "expired", newest.expires_at
        if newest.valid_to <= self.now:
            superseded = any(old == memory_id for _, old in self.supersedes)
            return "superseded" if superseded else "ended", newest.valid_to
        if newest.valid_from > self.now:
            return "not_yet_valid", newest.valid_from
        return "current", newest.recorded_from

    def can_change(self, memory_id: str) -> bool:
        newest = self.newest(memory_id)
        return newest.recorded_to == OPEN and newest.expires_at > self.store_time

    # What a call must come to.

    def judged_write(self, said: Statement) -> Verdict:
        valid_from = said.valid_from or self.store_time
        if valid_from >= (said.valid_to or OPEN):
            return Verdict("invalid_time")
        place = self._place(said.scope)
        if same := self._same(said, place):
            return Verdict("duplicate", frozenset(same))
        if not said.reassert and self._is_superseded(said, place):
            return Verdict("superseded_value")
        return Verdict("created")

    def judged_update(self, memory_id: str, text: Text, valid_to: str | None) -> Verdict:
        if not self.can_change(memory_id):
            return Verdict("not_current")
        old = self.newest(memory_id)
        if old.valid_from >= (valid_to or old.valid_to):
            return Verdict("invalid_time")
        said = Statement(text, old.type, old.place[0], old.valid_from, valid_to or old.valid_to)
        grows = (valid_to or old.valid_to) > old.valid_to
        if grows and any(map(self._is_open, self._successors(memory_id))):
            return Verdict("not_current")
        if grows or text.content != self.text(old).content:
            if self._same(said, old.place, but=memory_id):
                return Verdict("duplicate_value")
            if self._is_superseded(replace(said, valid_from=None), old.place, but=memory_id):
                return Verdict("superseded_value")
        changed = (text, valid_to or old.valid_to) != (self.text(old), old.valid_to)
        return Verdict("updated" if changed else "unchanged")

    def judged_supersede(self, old_id: str, said: Statement) -> Verdict:
        if not self.can_change(old_id) or any(self._is_open(new) for new in self._successors(old_id)):
            return Verdict("not_current")
        old = self.newest(old_id)
        if said.text.sense == self.text(old).sense:
            return Verdict("duplicate_value")
        place = self._place(said.scope)
        start = said.valid_from or self.store_time
        same = map(self.newest, self._same(said, place))
        covering = [other.memory_id for other in same if other.valid_from <= start and other.valid_to == OPEN]
        if not covering and self._is_superseded(said, place, but=old_id):
            return Verdict("superseded_value")
        return Verdict("superseding", frozenset(covering))

    def judged_restore(self, memory_id: str) -> Verdict:
        gone = self.newest(memory_id)
        if gone.recorded_to == OPEN or self.closed_by[gone.number] != "deleted":
            return Verdict("undo_blocked")
        return Verdict("duplicate_value" if self._is_repeated(gone, {memory_id}) else "restored")

    def judged_undo(self, number: int) -> Verdict:
        """Of one change, by its number: refused where a memory moved on, or another was put in its place."""
        done = self.done[number]
        if any(self.stage[memory_id] != after for memory_id, (_, after) in done.stages.items()):
            return Verdict("undo_blocked")
        back = {memory_id: self.stands[before] for memory_id, (before, _) in done.stages.items()}
        since = {pair for later in self.done[number + 1 :] for pair in later.began} & {*self.supersedes}
        if any(back.get(new, new) is None for new, _ in since):
            return Verdict("undo_blocked")
        if any(belief and self._is_repeated(belief, back.keys()) for belief in back.values()):
            return Verdict("duplicate_value")
        return Verdict("undone")

    def last_change(self, memory_id: str) -> int:
        """The number of the change that moved this memory last."""
        return max(number for number, done in enumerate(self.done) if memory_id in done.stages)

    # What it does then.

    def write(self, memory_id: str, said: Statement) -> None:
        at = self._begin()
        self._create(memory_id, said, at)
        self.importance[memory_id] = 0.5
        self._note()

    def sight(self, memory_id: str) -> None:
        at = self._begin()
        self.events[memory_id].append(Event("corroborate", at, self.newest(memory_id).version))

    def update(self, memory_id: str, text: Text, valid_to: str | None) -> None:
        at, old = self._begin(), self.newest(memory_id)
        was, ends = self.text(old), valid_to or old.valid_to
        version = old.version
        if text != was:
            version = max(v for found, v in self.texts if found == memory_id) + 1
            self.texts[memory_id, version] = text
        kind = "metadata" if (was._replace(note=text.note), old.valid_to) == (text, ends) else "update"
        self._close(old, at, "withdrawn")
        self._open(replace(old, version=version, valid_to=ends), at)
        self.events[memory_id].append(Event(kind, at, version))
        self._note()

    def weigh(self, memory_id: str, importance: float) -> None:
        self.importance[memory_id] = importance
        self.events[memory_id].append(Event("importance", self._begin(), self.newest(memory_id).version))

    def supersede(self, old_id: str, new_id: str, said: Statement) -> None:
        at, old = self._begin(), self.newest(old_id)
        moment = said.valid_from or at
        self._close(old, at, "superseded")
        if moment > old.valid_from:
            self._open(replace(old, valid_to=min(old.valid_to, moment)), at)
        self.events[old_id].append(Event("supersede", at, old.version))
        self.supersedes.append((new_id, old_id))
        if new_id not in self.events:
            self._create(new_id, said, at)
            self.importance[new_id] = self.importance[old_id]
        self._note(frozenset({(new_id, old_id)}))

    def delete(self, memory_id: str) -> None:
        at, old = self._begin(), self.newest(memory_id)
        self._close(old, at, "deleted")
        self.events[memory_id].append(Event("delete", at, old.version))
        self._note()

    def undo(self, number: int) -> None:
        at, done = self._begin(), self.done[number]
        for memory_id, (before, _) in done.stages.items():
            now, back = self.newest(memory_id), self.stands[before]
            if now.recorded_to == OPEN:
                self._close(now, at, "withdrawn")
            if back:
                self._open(back, at)
            self.events[memory_id].append(Event("undo", at, (back or now).version))
            self.stage[memory_id] = before
        self.supersedes = [pair for pair in self.supersedes if pair not in done.began] + sorted(done.ended)
        turned = {memory_id: (after, before) for memory_id, (before, after) in done.stages.items()}
        self.done.append(Done(turned, done.ended, done.began))

    # How.

    def _begin(self) -> str:
        self.last = self.store_time
        self.changing = set()
        return self.last

    def _note(self, began: frozenset[tuple[str, str]] = frozenset()) -> None:
        """Every memory that the change opened or closed is at a stage of its own now."""
        stages: dict[str, tuple[int, int]] = {}
        for memory_id in self.changing:
            newest = self.newest(memory_id)
            self.stands.append(newest if newest.recorded_to == OPEN else None)
            stages[memory_id] = (self.stage.get(memory_id, 0), len(self.stands) - 1)
            self.stage[memory_id] = len(self.stands) - 1
        self.done.append(Done(stages, began))

    def _create(self, memory_id: str, said: Statement, at: str) -> None:
        self.texts[memory_id, 1] = said.text
        expires = plus(at, 24 * 60 * 60) if said.scope == "session" else OPEN
        belief = Belief(
            0, memory_id, 1, self._place(said.scope), said.valid_from or at, said.valid_to or OPEN, at, OPEN,
            "accepted", expires, said.type, self.asker.agent, "", "",
        )  # fmt: skip
        self._open(belief, at)
        self.events[memory_id] = [Event("create", at, 1)]

    def _open(self, belief: Belief, at: str) -> None:
        number = len(self.rows.beliefs) + 1
        self.rows.beliefs.append(replace(belief, number=number, recorded_from=at, recorded_to=OPEN))
        self.changing.add(belief.memory_id)

    def _close(self, belief: Belief, at: str, why: str) -> None:
        self.rows.beliefs[belief.number - 1] = replace(belief, recorded_to=at)
        self.closed_by[belief.number] = why
        self.changing.add(belief.memory_id)

    def _place(self, scope: str) -> Place:
        (place,) = self.asker.places()[scope]
        return place

    def _is_open(self, memory_id: str) -> bool:
        return self.newest(memory_id).recorded_to == OPEN

    def _successors(self, memory_id: str) -> set[str]:
        """What took its place, and the places of those in turn."""
        found: set[str] = set()
        reached = {memory_id}
        while reached:
            found |= reached
            reached = {new for new, old in self.supersedes if old in reached} - found
        return found - {memory_id}

    def _same(self, said: Statement, place: Place, but: str = "") -> list[str]:
        """Memories that say the same: open, of the same place and type, about a time that overlaps.

        Compared are those that hold at the statement's start and those that hold now.
        """
        if said.type in EVENTS:
            return []
        now = self.store_time
        start, end = said.valid_from or now, said.valid_to or OPEN
        wanted = (place, said.type, said.text.sense)
        standing = [b for b in self.rows.beliefs if b.recorded_to == OPEN and b.expires_at > now]
        return [
            belief.memory_id
            for belief in standing
            if (belief.place, belief.type, self.text(belief).sense) == wanted and belief.memory_id != but
            if belief.valid_from < end and start < belief.valid_to
            if any(belief.valid_from <= moment < belief.valid_to for moment in (start, now))
        ]

    def _is_repeated(self, belief: Belief, but: Collection[str]) -> bool:
        """Whether another memory says by now what comes back, and never did so side by side with it."""
        said = Statement(self.text(belief), belief.type, belief.place[0], belief.valid_from, belief.valid_to)
        others = [other for other in self._same(said, belief.place) if other not in but]
        return any(not self._stood_together(belief, self.newest(other)) for other in others)

    def _stood_together(self, one: Belief, other: Belief) -> bool:
        ours, theirs = (
            [b for b in self.rows.beliefs if self._said(b) == self._said(belief)] for belief in (one, other)
        )
        return any(
            a.recorded_from < b.recorded_to and b.recorded_from < a.recorded_to for a in ours for b in theirs
        )

    def _said(self, belief: Belief) -> tuple[str, ...]:
        """The same for versions that differ in their titles alone."""
        return belief.memory_id, self.text(belief).sense, belief.valid_from, belief.valid_to

    def _is_superseded(self, said: Statement, place: Place, but: str = "") -> bool:
        """Whether another memory took this value's place and is current, and no later start is named."""
        if said.type in EVENTS:
            return False
        for old in {old for _, old in self.supersedes} - {but}:
            was = self.newest(old)
            if (was.place, was.type, self.text(was).content) != (place, said.type, said.text.content):
                continue
            others = map(self.newest, self._successors(old) - {but})
            current = [b for b in others if self._holds(b) and self.text(b).content != said.text.content]
            if any(said.valid_from is None or said.valid_from <= b.valid_from for b in current):
                return True
        return False

    def _holds(self, belief: Belief) -> bool:
        now = self.store_time
        return (
            belief.recorded_to == OPEN
            and belief.valid_from <= now < belief.valid_to
            and belief.expires_at > now
        )
