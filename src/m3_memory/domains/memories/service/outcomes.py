"""What the check of a new statement leads to: memories that end, questions for a person, and the answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Conflict, WriteResult, WriteStatus
from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, Question, ReviewKind, mark_of
from m3_memory.domains.memories.service.neighbours import Finding, needs_person, shown_text
from m3_memory.domains.memories.service.reviews import ask_all
from m3_memory.domains.memories.service.superseding import succeed
from m3_memory.domains.memories.service.targets import Target, standing_target
from m3_memory.kernel.contradiction import Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3_memory.domains.memories.model import Belief, Draft
    from m3_memory.domains.memories.service.neighbours import Found, Proposal
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.kernel.contradiction import Statement

MOST_ASKED = 3
"""Of what one statement may contradict so many are put to a person: a numbered series is no dispute."""

QUOTED_CHARACTERS = 200
"""How much of a memory's text stands in a remark; memory_get has the rest."""

_VAGUE = frozenset({"may_have_changed", "other_event"})

ASKED = Comparison(Verdict.UPDATE, "asked")
"""Its writer said so."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """The memory whose place a caller gives to a new statement, and what a person is asked to do."""

    old: Target
    act: Act = Act.SUPERSEDE

    def needs_person(self, op: Operation, draft: Draft) -> bool:
        return needs_person(op.caller, draft, self.old.belief.trust_state)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A proposal that is stored, or said already by the memory `new_id`, and what it does to others."""

    proposal: Proposal
    new_id: str
    finding: Finding
    replaced: Replaced | None = None

    @property
    def waits(self) -> bool:
        return self.proposal.draft.trust_state == "candidate"

    def was_asked_to_end(self, memory_id: str) -> bool:
        """Whether its writer named this memory as the one it replaces."""
        return bool(self.replaced) and self.replaced.old.belief.memory_id == memory_id

    @property
    def endings(self) -> list[Conflict]:
        """The memories that end by it; the one it was asked to replace first."""
        ends = _named(self.finding.ends)
        if self.replaced and not self.waits:
            old = self.replaced.old.version
            ends.insert(0, Conflict(old.memory_id, shown_text(old.content), ASKED.reason))
        return ends

    @property
    def ended(self) -> list[str]:
        """The ids of the memories that end by it."""
        return [old.id for old in self.endings]

    @property
    def disputes(self) -> Sequence[Found]:
        """Those of what it may contradict that a person is asked about: the surest first, then the near."""
        return sorted(self.finding.unsure, key=lambda found: found[1].reason in _VAGUE)[:MOST_ASKED]

    @property
    def conflicts(self) -> list[Conflict]:
        """The memories it may contradict, as far as a person is asked about them."""
        return _named([*self.finding.protected, *self.disputes])


def _named(found: Iterable[Found]) -> list[Conflict]:
    """What each of them says, and why it is named."""
    said = [(old.statement, why.reason) for old, why in found]
    return [Conflict(old.memory_id, shown_text(old.content), reason) for old, reason in said]


def perform_all(op: Operation, outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Ends what the new statements end and asks what only a person may decide; the questions' ids of each."""
    for outcome in outcomes:
        for memory_id in outcome.ended:
            old, at = standing_target(op.writer, memory_id), outcome.proposal.valid_from
            is_fresh = old.belief.recorded_from == op.writer.store_time
            if outcome.was_asked_to_end(memory_id) or is_fresh or old.belief.valid_to > at:
                succeed(op, old, outcome.new_id, at)
    asked = [[*_questions(outcome)] for outcome in outcomes]
    if not any(asked):
        return [[] for _ in outcomes]
    every = [question for questions in asked for question in questions]
    ids = iter(ask_all(op, marked(op, every)))
    return [[next(ids).review_id for _ in questions] for questions in asked]


def marked(op: Operation, questions: Sequence[Question]) -> list[Question]:
    """The questions with the marks of the memories they name, as they stand now."""
    named = {memory_id for question in questions for memory_id in question.memories}
    beliefs: dict[str, Belief] = {}
    for part in queries.in_parts(sorted(named)):
        beliefs |= queries.open_beliefs_of(op.writer, part)
    return [
        replace(
            question,
            plan=Plan(question.plan.steps, {name: mark_of(beliefs.get(name)) for name in question.memories}),
        )
        for question in questions
    ]


def result_of(op: Operation, outcome: Outcome, review_ids: Sequence[str]) -> WriteResult:
    """The answer to a write that was stored."""
    proposal, finding = outcome.proposal, outcome.finding
    draft, ended = proposal.draft, outcome.ended
    if outcome.waits:
        status = WriteStatus.CANDIDATE
    elif ended:
        status = WriteStatus.SUPERSEDING
    else:
        status = WriteStatus.DISPUTED if finding.unsure else WriteStatus.CREATED
    return WriteResult(
        id=outcome.new_id,
        status=status,
        superseded=ended,
        conflicts=outcome.conflicts,
        vector=draft.vectors.status,
        warnings=[
            *draft.warnings,
            *draft.vectors.warnings,
            *out_of_sight(proposal.valid_from, draft.valid_to, op.writer.now),
            *remarks(outcome),
        ],
        type=draft.type,
        review_id=next(iter(review_ids), None),
    )


def quoted(content: str, characters: int = QUOTED_CHARACTERS) -> str:
    """The first words of a memory in a sentence: one line between quotation marks, whatever it says."""
    line = " ".join(content.split())
    cut = f"{line[:characters]}…" if len(line) > characters else line
    return json.dumps(cut, ensure_ascii=False)


def out_of_sight(valid_from: str, valid_to: str, now: str) -> tuple[str, ...]:
    """What to say of a memory that a default read does not show now."""
    if valid_to <= now:
        return ("it ended in the past: default reads leave it out, reads with as_of find it",)
    if valid_from > now:
        return (f"it holds from {valid_from} on: default reads leave it out until then",)
    return ()


def remarks(outcome: Outcome) -> Iterable[str]:
    """What there is to say of what a statement did to others, or they to it."""
    finding, replaced = outcome.finding, outcome.replaced
    at = outcome.proposal.valid_from
    verb = f"ends at {at}" if at > outcome.proposal.now else "ended"
    for old in outcome.endings:
        yield (
            f"memory {old.id} {verb} ({old.reason}); it said {quoted(old.content)};"
            f" memory_unsupersede {old.id} gives it its place back"
        )
    if replaced and not outcome.waits:
        start = replaced.old.belief.valid_from
        if at <= start:
            yield f"the old memory began only at {start}: it holds at no time now; known_at finds it"
    if finding.before:
        said = finding.before.statement
        yield f"it ends at {said.valid_from}, where memory {said.memory_id} begins"
    if outcome.waits and (replaced or finding.protected):
        yield "it waits as a candidate until a person decides: reads leave it out, nothing was ended"
    for other, why in finding.elsewhere[:3]:
        is_here = other.audience == outcome.proposal.audience
        where = f"type {other.statement.type}" if is_here else "another scope"
        yield (
            f"memory {other.statement.memory_id} of {where} says something about the same"
            f" ({why.reason}); nothing was done to it"
        )


def _questions(outcome: Outcome) -> Iterable[Question]:
    if outcome.waits and outcome.replaced:
        replaced = outcome.replaced
        yield _question(outcome, ReviewKind.CANDIDATE, replaced.old.belief, ASKED, replaced.act)
    for old, why in outcome.finding.protected:
        yield _question(outcome, ReviewKind.CANDIDATE, old.statement, why)
    for old, why in outcome.disputes:
        kind = ReviewKind.CANDIDATE if outcome.waits else ReviewKind.CONFLICT
        yield _question(outcome, kind, old.statement, why)


def _question(
    outcome: Outcome, kind: ReviewKind, old: Belief | Statement, why: Comparison, act: Act = Act.SUPERSEDE
) -> Question:
    """Whether the newer of two takes the place of the older, from when it begins to hold."""
    proposal = outcome.proposal
    named, at = (old.memory_id, outcome.new_id), proposal.valid_from
    if proposal.stands and at < old.valid_from:
        named, at = (outcome.new_id, old.memory_id), old.valid_from
    step = PlanStep(act, named[0], named[1], at if act is Act.SUPERSEDE else "")
    said = proposal.draft.content_hash
    return Question(kind, proposal.audience, named, evidence_of(why), Plan((step,)), (*named, said, act))


def evidence_of(why: Comparison) -> dict[str, str]:
    """Why two statements are put to a person, as data."""
    values = {"old_value": why.old_value, "new_value": why.new_value}
    return {"reason": why.reason} | {name: value for name, value in values.items() if value}
