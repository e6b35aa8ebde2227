"""Questions for a person, and the plans they are about: changes as data, with what must still hold."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from m3_memory.domains.memories.model import Belief

NONE_OPEN = ""
"""The mark of a memory without an open belief."""


class ReviewKind(StrEnum):
    CONFLICT = "conflict"
    CANDIDATE = "candidate"
    DUPLICATE = "duplicate"
    PLAN = "plan"


class ReviewState(StrEnum):
    """A question is decided once; `stale` is one whose world had changed when somebody accepted it."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    STALE = "stale"
    LAPSED = "lapsed"


class Act(StrEnum):
    """What one step of a plan does with the memory `id`.

    supersede: `other_id`, which stands already, takes its place from `at` on (accepted, if it waited as
    candidate). update: it says what `other_id` says, whose candidate is retired; or gets the fields of
    `changes`. merge: a duplicate of `other_id`; closes, and its sightings count there. link: an edge of
    `changes["relationship_type"]` to `other_id`.
    """

    ACCEPT = "accept"
    VERIFY = "verify"
    REJECT = "reject"
    SUPERSEDE = "supersede"
    UPDATE = "update"
    DELETE = "delete"
    MERGE = "merge"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class PlanStep:
    act: Act
    id: str
    other_id: str = ""
    at: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])


Marks: TypeAlias = "Mapping[str, str]"
"""Memory ids, and how each stood: see `mark_of`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be done, in order; `expects` marks every memory named as it stood when this was planned."""

    steps: tuple[PlanStep, ...] = ()
    expects: Marks = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a person about `memories`, the one that stands first; all in one audience.

    `evidence` says why it is asked, as data: a `reason` in words, values that differ; no copy of a memory's
    text. `derived_from` names what it may be asked once about; empty: once while it is open.
    """

    kind: ReviewKind
    audience: int
    memories: tuple[str, ...]
    evidence: Mapping[str, Any]
    plan: Plan = field(default_factory=Plan)
    derived_from: tuple[str, ...] = ()


def named_in(steps: Iterable[PlanStep]) -> list[str]:
    """The memories that steps name, each once."""
    return list(dict.fromkeys(id_ for step in steps for id_ in (step.id, step.other_id) if id_))


def mark_of(belief: Belief | None) -> str:
    """How a memory stands: its open belief by version and store time, the same in every copy of the store."""
    if belief is None or not belief.is_open:
        return NONE_OPEN
    return f"{belief.version}@{belief.recorded_from}"


def plan_text(plan: Plan) -> str:
    """A plan as it is stored."""
    steps = [
        {name: value for name in ("act", "id", "other_id", "at", "changes") if (value := getattr(step, name))}
        for step in plan.steps
    ]
    return as_text({"steps": steps, "expects": dict(plan.expects)})


def plan_of(stored: str) -> Plan:
    """A stored plan."""
    given = json.loads(stored)
    steps = tuple(PlanStep(Act(step.pop("act")), **step) for step in given["steps"])
    return Plan(steps, given["expects"])


def as_text(value: object) -> str:
    """Evidence, or a plan's data, as it is stored."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def question_digest(review_id: str, kind: str, evidence: str, plan: str) -> str:
    """What a person's decision names, so that it applies to what was shown and to nothing else."""
    return hashlib.sha256("\x1f".join((review_id, kind, evidence, plan)).encode()).hexdigest()[:16]
