"""What the correction slice takes and gives: questions for a person as they are shown and decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from m3_memory.domains.memories.model.review import Plan, ReviewKind, plan_of, question_digest
from m3_memory.kernel.counting import counted


class Decision(StrEnum):
    """accept: the plan is carried out. reject: everything stays as it stands. withdraw: as reject, and the
    newcomer is deleted. bury: as reject, and the newcomer's value is rejected for good, with a tombstone.
    The last two only where the question names a newcomer.
    """

    ACCEPT = "accept"
    REJECT = "reject"
    WITHDRAW = "withdraw"
    BURY = "bury"


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
    place: str
    memories: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        return plan_of(self.plan_text)

    @property
    def newcomer(self) -> str:
        """The memory because of which it was asked: the last of two that contradict each other, or ""."""
        asks = self.kind in (ReviewKind.CONFLICT, ReviewKind.CANDIDATE)
        return self.memories[-1] if asks and len(self.memories) == 2 else ""

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
    """One question for a person. `subject` is the memory it is about first, `plan` what accepting does.

    `decisions` are those that may be made; `memories_left` did not fit into the answer.
    """

    review_id: str
    subject: str
    kind: str
    state: str
    digest: str
    reason: str
    asked_by: str
    audience: str
    opened_at: str
    lapses_at: str
    plan: list[str]
    memories: list[ReviewedMemory]
    evidence: dict[str, Any] = field(default_factory=dict[str, Any])
    decision: str | None = None
    decided_by: str | None = None
    decided_at: str | None = None
    operation_id: str | None = None
    memories_left: int | None = None
    decisions: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class ReviewList:
    """The answer to review_list, by subject, as many as fit; `total` counts all that wait to be decided.

    Those whose memories changed meanwhile are stale: shown, but not counted.
    """

    reviews: list[Review]
    total: int
    when_lapsed: str

    def headline(self) -> str:
        waiting = counted(self.total, "question waits", "questions wait")
        return f"{waiting} for a person; {len(self.reviews)} shown"


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
    done: list[str]

    def headline(self) -> str:
        return "; ".join((f"{self.status.capitalize()}: {self.review_id}", *self.done))
