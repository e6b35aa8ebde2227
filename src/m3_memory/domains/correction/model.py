"""What the correction slice takes and gives: questions for a person as they are shown and decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, plan_of, question_digest
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.ids import parse_full
from m3_memory.kernel.interval import parse_moment, parse_time
from m3_memory.kernel.vocabulary import CLEAR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Decision(StrEnum):
    """accept: the plan is carried out. reject: everything stays as it stands. withdraw: as reject, and the
    newcomer is deleted. bury: as reject, and the newcomer's value is rejected for good, with a tombstone.
    """

    ACCEPT = "accept"
    REJECT = "reject"
    WITHDRAW = "withdraw"
    BURY = "bury"


DECISIONS = tuple(decision.value for decision in Decision)


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A stored question; evidence and plan as they are stored, memories the one that stands first."""

    review_id: str
    audience: int
    kind: str
    evidence: str
    plan_text: str
    state: str
    decision: str
    decided_by: str
    decided_at: str
    opened_at: str
    lapses_at: str
    asked_by: str
    memories: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        return plan_of(self.plan_text)

    @property
    def digest(self) -> str:
        return question_digest(self.review_id, self.kind, self.evidence, self.plan_text)


@dataclass(frozen=True)
class ReviewedMemory:
    """A memory that a question names, as it stands; without text where nobody may read that any more."""

    id: str
    state: str
    since: str
    type: str | None = None
    title: str | None = None
    content: str | None = None
    trust_state: str | None = None
    agent_id: str | None = None
    valid_from: str | None = None


@dataclass(frozen=True)
class Review:
    """One question for a person. `subject` is the memory it is about first, `plan` what accepting does."""

    review_id: str
    subject: str
    kind: str
    state: str
    digest: str
    reason: str
    asked_by: str
    opened_at: str
    lapses_at: str
    plan: list[str]
    memories: list[ReviewedMemory]
    evidence: dict[str, Any] = field(default_factory=dict[str, Any])
    decision: str | None = None
    decided_by: str | None = None
    decided_at: str | None = None
    operation_id: str | None = None


@dataclass(frozen=True)
class ReviewList:
    """The answer to review_list, by subject; `total` counts all that wait."""

    reviews: list[Review]
    total: int
    when_lapsed: str

    def headline(self) -> str:
        waiting = "question waits" if self.total == 1 else "questions wait"
        return f"{self.total} {waiting} for a person; {len(self.reviews)} shown"


@dataclass(frozen=True)
class ProposeResult:
    """The answer to review_propose: the question, and what accepting it would do."""

    review_id: str
    status: str
    digest: str
    plan: list[str]
    steps: dict[str, int]
    lapses_at: str

    def headline(self) -> str:
        return f"Waits for a person: {self.review_id}"


@dataclass(frozen=True)
class DecideResult:
    """The answer to a decision. `operation_id` undoes it, and opens the question again."""

    review_id: str
    status: str
    operation_id: str
    changed: list[str]
    warnings: list[str] = field(default_factory=list[str])

    def headline(self) -> str:
        return f"{self.status.capitalize()}: {self.review_id}"


def steps_of(given: Sequence[Mapping[str, object]]) -> list[PlanStep]:
    """The steps of a plan as they were sent. Raises InvalidArgument, InvalidId or InvalidTime, by number."""
    return [_step(number, step) for number, step in enumerate(given, 1)]


def _step(number: int, given: Mapping[str, object]) -> PlanStep:
    texts = {name: given.get(name) or "" for name in ("act", "id", "other_id", "at")}
    changes: object = given.get("changes") or {}
    unknown = given.keys() - texts.keys() - {"changes"}
    if unknown or not isinstance(changes, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise InvalidArgument(
            f"step {number} is not {{act, id, other_id, at, changes}}", "texts, and an object"
        )
    act, memory_id, other_id, at = map(str, texts.values())
    if act not in set(Act):
        raise InvalidArgument(f"step {number}: there is no act {act!r:.40}", f"one of: {', '.join(Act)}")
    named = cast("dict[str, Any]", changes)
    if isinstance(until := named.get("valid_to"), str) and until not in ("", CLEAR):
        named = named | {"valid_to": parse_time(until)}
    return PlanStep(
        Act(act),
        parse_full(memory_id),
        parse_full(other_id) if other_id else "",
        parse_moment(at) if at else "",
        named,
    )
