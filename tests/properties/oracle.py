"""What a caller sees, in plain Python over rows: written from data_model.md, sections 2, 4 and 5, alone.

It shares no line with the product: neither its conditions, nor the text of its audiences. A place where a
memory belongs is a tuple here, and two places are the same only if their parts are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

OPEN = "9999-12-31T23:59:59.999999Z"
NOWHERE = ""
"""The project of who stands in none: a place of its own, never everywhere."""

Place: TypeAlias = tuple[str, ...]
"""("agent", user, circle, project), ("session", user, circle, conversation) or ("user", user)."""


@dataclass(frozen=True)
class Belief:
    """One row: that a version of a memory holds, from when to when, and since when the store believes it."""

    number: int
    memory_id: str
    version: int
    place: Place
    valid_from: str
    valid_to: str
    recorded_from: str
    recorded_to: str
    trust_state: str
    expires_at: str
    type: str
    agent_id: str
    conversation_id: str
    variant: str


@dataclass(frozen=True)
class Asker:
    """Who looks. `aliases` are the other names of the project; who `may_widen` reads other projects too."""

    user: str
    agent: str
    circle: str
    project: str
    aliases: tuple[str, ...]
    conversation: str
    is_operator: bool = False
    may_widen: bool = False

    def is_refused(self, question: Question) -> bool:
        """Whether another place than the asker's own is asked for without the right to it."""
        return not (self._stays(question) or self.may_widen or self.is_operator)

    def places(self) -> dict[str, frozenset[Place]]:
        """What this asker holds, by scope: its circle in its place, its session, its user."""
        return self.held(None, ())

    def held(self, question: Question | None, of: Place) -> dict[str, frozenset[Place]]:
        """The same with the project that is asked for instead of its own.

        Asked for all, `of` is held if it is one of the same user and circle.
        """
        circle = ("agent", self.user, self.circle)
        names = {self.project, *self.aliases}
        asked = question.project if question else None
        if asked == "*":
            names |= {of[-1]} if of[:-1] == circle else set()
        elif asked and question and not self._stays(question):
            names = {NOWHERE if asked == "-" else asked}
        return {
            "agent": frozenset((*circle, name) for name in names),
            "session": frozenset({("session", self.user, self.circle, self.conversation)}),
            "user": frozenset({("user", self.user)}),
        }

    def _stays(self, question: Question) -> bool:
        asked = NOWHERE if question.project == "-" else question.project
        return question.project is None or asked in (self.project, *self.aliases)


@dataclass(frozen=True)
class Question:
    """What is asked for. An absent moment, variant or narrowing is None or empty; `now` is the store's."""

    now: str
    as_of: str | None = None
    known_at: str | None = None
    trust_states: frozenset[str] = frozenset({"accepted", "verified"})
    variant: str | None = None
    scopes: frozenset[str] = frozenset({"agent", "session", "user"})
    types: frozenset[str] = frozenset()
    excluded_types: frozenset[str] = frozenset()
    agent: str | None = None
    conversation: str | None = None
    valid_since: str | None = None
    valid_until: str | None = None
    project: str | None = None


@dataclass
class Store:
    """All rows there are."""

    beliefs: list[Belief] = field(default_factory=list[Belief])

    def seen(self, asker: Asker, question: Question) -> set[tuple[str, int]] | None:
        """(memory, number of the belief) of all that this asker sees; None where the question is refused."""
        if asker.is_refused(question):
            return None
        return {
            (belief.memory_id, belief.number)
            for belief in self.beliefs
            if not self.hidden_by(belief, asker, question)
        }

    def reasons(self, memory_id: str, asker: Asker, question: Question) -> set[frozenset[str]]:
        """Each answer that is right: the conditions hiding the belief that fails fewest.

        Who holds nowhere this memory has been learns that and no more.
        """
        held = [belief for belief in self._of(memory_id) if not _foreign(belief, asker, question)]
        failing = [self.hidden_by(belief, asker, question) for belief in held]
        fewest = min(map(len, failing), default=0)
        return {found for found in failing if len(found) == fewest} or {frozenset({"audience"})}

    def hidden_by(self, belief: Belief, asker: Asker, question: Question) -> frozenset[str]:
        """The conditions of section 4 that this belief fails; the second of them goes by two names."""
        failed = {
            "audience": _foreign(belief, asker, question),
            "belief": not _holds(belief, question),
            "expiry": belief.expires_at <= (question.known_at or question.now),
            "trust": not self._trusted(belief, asker, question),
            "variant": belief.variant not in ("", question.variant),
            "narrowing": any(_narrowed_out(belief, asker, question)),
        }
        return frozenset(name for name, fails in failed.items() if fails)

    def _trusted(self, belief: Belief, asker: Asker, question: Question) -> bool:
        """Its state is admitted, and its memory not rejected since; an operator's review sees both."""
        reviewing = asker.is_operator and "rejected" in question.trust_states
        rejected = "rejected" in (belief.trust_state, self._newest(belief.memory_id).trust_state)
        return belief.trust_state in question.trust_states and (reviewing or not rejected)

    def _newest(self, memory_id: str) -> Belief:
        return max(self._of(memory_id), key=lambda belief: belief.number)

    def _of(self, memory_id: str) -> Iterable[Belief]:
        return [belief for belief in self.beliefs if belief.memory_id == memory_id]


def _foreign(belief: Belief, asker: Asker, question: Question) -> bool:
    return not any(belief.place in places for places in asker.held(question, belief.place).values())


def _holds(belief: Belief, question: Question) -> bool:
    """It holds at both moments. Without `known_at` the open beliefs count, by no clock."""
    as_of = question.as_of or question.now
    if not belief.valid_from <= as_of < belief.valid_to:
        return False
    if question.known_at is None:
        return belief.recorded_to == OPEN
    return belief.recorded_from <= question.known_at < belief.recorded_to


def _narrowed_out(belief: Belief, asker: Asker, question: Question) -> Iterator[bool]:
    """Each way in which the question's narrowing passes over this belief."""
    held = asker.held(question, belief.place)
    asked = [held[scope] for scope in question.scopes]
    yield not _foreign(belief, asker, question) and not any(belief.place in places for places in asked)
    yield bool(question.types) and belief.type not in question.types
    yield belief.type in question.excluded_types
    yield question.agent is not None and belief.agent_id != question.agent
    yield question.conversation is not None and belief.conversation_id != question.conversation
    yield question.valid_since is not None and belief.valid_to <= question.valid_since
    yield question.valid_until is not None and belief.valid_from >= question.valid_until
