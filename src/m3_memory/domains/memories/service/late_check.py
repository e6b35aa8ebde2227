"""The check of a statement that was written without a vector: made when its first one comes.

Which of two arrives first does not matter: the one that began later in the world ends the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Draft, Near
from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, Question, ReviewKind, mark_of
from m3_memory.domains.memories.service.nearness import near_all
from m3_memory.domains.memories.service.neighbours import Finding, Proposal, neighbours
from m3_memory.domains.memories.service.outcomes import Outcome, perform_all
from m3_memory.domains.memories.service.reviews import ask_all, merge_in
from m3_memory.domains.memories.service.superseding import succeed
from m3_memory.domains.memories.service.targets import Target, standing_target
from m3_memory.domains.memories.service.undo_plan import plan
from m3_memory.domains.memories.service.undoing import perform
from m3_memory.domains.memories.service.versions import SAID
from m3_memory.errors import SupersededValue, Tombstoned
from m3_memory.kernel.caller import Caller

if TYPE_CHECKING:
    from m3_memory.domains.memories.model import Belief, Vectors, Version
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.domains.memories.service.undo_plan import Turn
    from m3_memory.storage.database import Reader

Late: TypeAlias = "tuple[Version, Vectors]"
"""A version, and its first vectors."""


def near_late(reader: Reader, late: Late) -> Near:
    """What is near the version in meaning; nothing where it is not what its memory says now."""
    version, _ = late
    belief = _belief(reader, version)
    if belief is None:
        return Near()
    (draft,) = near_all(reader, _writer(reader, version), [_draft(late, belief, Near())])
    return draft.near


def check_late(op: Operation, late: Late, near: Near) -> None:
    """Does what the write would have done, with the writer's rights; the lock is held."""
    version, _ = late
    belief = _belief(op.writer, version)
    if belief is None or belief.trust_state in ("verified", "rejected"):
        return
    op = replace(op, caller=_writer(op.writer, version))
    state = queries.state_of(op.writer, version.memory_id)
    draft = replace(_draft(late, belief, near), pinned=state.pinned)
    proposal = Proposal(draft, version.memory_id, version.audience, op.writer.store_time, stands=True)
    try:
        finding = neighbours(op.writer, op.caller, [proposal]).check(op, proposal)
    except Tombstoned:
        _withdraw(op, Target(belief, version))
        return
    except SupersededValue:
        return
    if finding.repeats:
        _merge(op, Target(belief, version), finding.repeats)
        return
    perform_all(op, [Outcome(proposal, version.memory_id, _unprotected(finding))])
    if finding.before and belief.trust_state != "candidate":
        newer = finding.before.statement
        succeed(op, standing_target(op.writer, version.memory_id), newer.memory_id, newer.valid_from)


def _unprotected(finding: Finding) -> Finding:
    """What stands already is no candidate: where a person has to agree it is a dispute."""
    return replace(finding, protected=(), unsure=(*finding.protected, *finding.unsure))


def _merge(op: Operation, own: Target, other_id: str) -> None:
    """The younger of two that say the same closes into the older; what machines leave alone stays."""
    other = standing_target(op.writer, other_id)
    younger, older = sorted((own, other), key=lambda of: of.belief.recorded_from, reverse=True)
    state = queries.state_of(op.writer, younger.belief.memory_id)
    if younger.belief.trust_state == "verified" or state.pinned:
        return
    if op.contradiction == "propose":
        ask_all(op, [_whether_to_merge(younger.belief, older.belief)])
    else:
        merge_in(op, younger, older.belief.memory_id)


def _whether_to_merge(younger: Belief, older: Belief) -> Question:
    """The question whether two say the same, as a search for duplicates asks it too."""
    marks = {belief.memory_id: mark_of(belief) for belief in (older, younger)}
    step = PlanStep(Act.MERGE, younger.memory_id, older.memory_id)
    evidence = {"reason": "they say the same"}
    derived_from = ("duplicate", *sorted(f"{memory_id} {mark}" for memory_id, mark in marks.items()))
    return Question(
        ReviewKind.DUPLICATE, older.audience, tuple(marks), evidence, Plan((step,), marks), derived_from
    )


def _withdraw(op: Operation, of: Target) -> None:
    """Ends the belief in what turned out to be a rejected value in other words; what that had taken the place
    of comes back, unless something was built on it since.
    """
    (act,) = queries.acts(op.writer, [of.belief.opened_by])
    planned = plan(op.writer, op.caller, queries.acts_of_operation(op.writer, act.operation_id), act.event)
    before = of.digestible(queries.state_of(op.writer, of.belief.memory_id))
    named = of.belief.memory_id, of.belief.version
    event = op.record("tombstone", *named, reason="found when its vector came", before=before)
    queries.close_belief(op.writer, of.belief, event)
    if not planned.kept:
        turns = [_without(turn, of.belief) for turn in planned.turns]
        perform(op, replace(planned, turns=[turn for turn in turns if any(map(any, turn.rows))]))


def _without(turn: Turn, closed: Belief) -> Turn:
    """The turn without the closing of a belief that is closed already."""
    rows = [(None if now == closed else now, then) for now, then in turn.rows]
    return replace(turn, now=None if turn.now == closed else turn.now, rows=rows)


def _belief(reader: Reader, version: Version) -> Belief | None:
    """The open belief in this very version."""
    found = queries.open_beliefs_of(reader, [version.memory_id]).get(version.memory_id)
    return found if found and found.item == version.item and found.expires_at > reader.now else None


def _writer(reader: Reader, version: Version) -> Caller:
    return Caller(
        *(reader.user_id, version.agent_id, version.written_in, version.circle, version.project),
        surface="worker",
    )


def _draft(late: Late, belief: Belief, near: Near) -> Draft:
    version, vectors = late
    said = {name: getattr(version, name) for name in SAID}
    return Draft(
        **said,
        importance=0.5,
        valid_from=belief.valid_from,
        valid_to=belief.valid_to,
        refresh_on="",
        refresh_reason="",
        tokens=(),
        trust_state=belief.trust_state,
        vectors=vectors,
        near=near,
    )
