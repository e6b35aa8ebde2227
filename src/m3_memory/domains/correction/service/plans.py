"""Plans: changes as data, carried out only while all they name stands as it did when they were made."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from m3_memory.domains.memories.model.review import NONE_OPEN, Act, Plan, PlanStep
from m3_memory.domains.memories.service import changes
from m3_memory.domains.memories.service.changes import UpdateRequest
from m3_memory.domains.memories.service.chunks import only
from m3_memory.domains.memories.service.edges import LinkRequest, linked
from m3_memory.domains.memories.service.endings import end_all
from m3_memory.domains.memories.service.reviews import (
    believed,
    concerned_audiences,
    merge_in,
    standing_as,
)
from m3_memory.domains.memories.service.superseding import succeed
from m3_memory.domains.memories.service.targets import Target, not_found
from m3_memory.domains.memories.service.trusting import set_trust_all
from m3_memory.errors import InvalidArgument, NeedsOperator, PlanStale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.storage.database import Reader

CHANGEABLE = frozenset({"content", "title", "metadata", "importance", "valid_to"})
"""What a step's `changes` may name of a memory."""

_KINDS = {"content": str, "title": str, "valid_to": str, "relationship_type": str, "importance": int | float}
_TRUST = {Act.ACCEPT: "accepted", Act.VERIFY: "verified", Act.REJECT: "rejected"}
_WITH_OTHER = frozenset({Act.SUPERSEDE, Act.MERGE, Act.LINK})

_Performed: TypeAlias = "Callable[[Operation, Sequence[PlanStep], dict[str, Target]], None]"


def stale(reader: Reader, plan: Plan) -> dict[str, str]:
    """The memories that stand otherwise than the plan expects, each with the moment since when."""
    now = standing_as(reader, plan.expects)
    changed: dict[str, str] = {}
    for memory_id, expected in plan.expects.items():
        mark, belief = now.get(memory_id, (NONE_OPEN, None))
        if mark != expected:
            changed[memory_id] = "" if belief is None else min(belief.recorded_to, reader.now)
            if belief is not None and belief.is_open:
                changed[memory_id] = belief.recorded_from
    return changed


def apply(op: Operation, plan: Plan) -> list[str]:
    """Carries out a plan in the open transaction, its steps in order; returns the ids it changed, each once.

    Raises PlanStale, before anything is done, where a memory stands otherwise than the plan expects; what
    the steps' own verbs raise; NotFound for memories in no audience that concerns the caller, NeedsOperator
    for a step that only an operator takes. Nothing is done then: the transaction is to be rolled back.
    """
    if changed := stale(op.writer, plan):
        memory_id, since = next(iter(changed.items()))
        raise PlanStale(
            f"memory {memory_id} changed{f' at {since}' if since else ''}, after this was planned",
            "nothing was done; look at what holds now, and plan anew",
        )
    for act, group in groupby(plan.steps, key=lambda step: step.act):
        steps = list(group)
        for part in [steps] if act in _AT_ONCE else [[step] for step in steps]:
            _PERFORM[act](op, part, _permitted(op, part))
    return list(dict.fromkeys(step.id for step in plan.steps))


def _permitted(op: Operation, steps: Sequence[PlanStep]) -> dict[str, Target]:
    """What steps change, and what takes its place; all believed, and the caller's to change."""
    named = dict.fromkeys(id_ for step in steps for id_ in (step.id, step.other_id) if id_)
    found = believed(op.writer, list(named))
    held = frozenset(concerned_audiences(op.writer, op.caller))
    for memory_id in named:
        if memory_id not in found or found[memory_id].belief.audience not in held:
            raise not_found(memory_id)
        if not op.caller.is_operator and found[memory_id].belief.trust_state == "verified":
            raise NeedsOperator(f"memory {memory_id} was verified by a person", "leave it to them")
    if not op.caller.is_operator and steps[0].act in _TRUST:
        raise NeedsOperator("only a person accepts, verifies or rejects", "propose it: review_propose")
    return found


def _set_trust(op: Operation, steps: Sequence[PlanStep], found: dict[str, Target]) -> None:
    set_trust_all(op, [(found[step.id], _TRUST[step.act]) for step in steps], "by a plan")


def _delete(op: Operation, steps: Sequence[PlanStep], _: dict[str, Target]) -> None:
    end_all(op, [step.id for step in steps], "delete", "by a plan")


def _supersede(op: Operation, steps: Sequence[PlanStep], found: dict[str, Target]) -> None:
    (step,) = steps
    if found[step.other_id].belief.trust_state == "candidate":
        set_trust_all(op, [(found[step.other_id], "accepted")], "by a plan")
    succeed(op, found[step.id], step.other_id, step.at or found[step.other_id].belief.valid_from)


def _update(op: Operation, steps: Sequence[PlanStep], found: dict[str, Target]) -> None:
    (step,) = steps
    given: dict[str, Any] = dict(step.changes)
    if step.other_id:
        said = found[step.other_id].version
        given = {"content": said.content, "title": said.title}
        end_all(op, [step.other_id], "delete", "by a plan")
    changes.update_in(op, found[step.id], UpdateRequest(step.id, **given))


def _merge(op: Operation, steps: Sequence[PlanStep], found: dict[str, Target]) -> None:
    for step in steps:
        merge_in(op, found[step.id], step.other_id)


def _link(op: Operation, steps: Sequence[PlanStep], _: dict[str, Target]) -> None:
    for step in steps:
        kind = str(step.changes.get("relationship_type", "related"))
        only(linked(op, [LinkRequest(step.id, step.other_id, kind)]))


_AT_ONCE = frozenset({Act.ACCEPT, Act.VERIFY, Act.REJECT, Act.DELETE})
"""Acts whose steps touch one memory each: as many as follow each other are one statement's work."""

_PERFORM: dict[Act, _Performed] = {
    **dict.fromkeys(_TRUST, _set_trust),
    Act.DELETE: _delete,
    Act.SUPERSEDE: _supersede,
    Act.UPDATE: _update,
    Act.MERGE: _merge,
    Act.LINK: _link,
}


def checked(steps: Iterable[PlanStep]) -> list[PlanStep]:
    """The steps of a plan that somebody made. Raises InvalidArgument for what could never be carried out."""
    found = list(steps)
    ended: set[str] = set()
    for number, step in enumerate(found, 1):
        if step.act in _WITH_OTHER and (not step.other_id or step.other_id == step.id):
            raise InvalidArgument(f"step {number}: {step.act} needs another memory", "give other_id")
        if unknown := step.changes.keys() - CHANGEABLE - {"relationship_type"}:
            raise InvalidArgument(
                f"step {number}: changes has no {min(unknown)!r:.40}", f"one of: {', '.join(CHANGEABLE)}"
            )
        if wrong := [
            name for name in _KINDS.keys() & step.changes if not isinstance(step.changes[name], _KINDS[name])
        ]:
            raise InvalidArgument(f"step {number}: {wrong[0]} is of another kind", "see memory_update")
        if step.act is Act.UPDATE and not (step.other_id or step.changes):
            raise InvalidArgument(f"step {number}: update needs changes, or other_id whose text it takes", "")
        if {step.id, step.other_id} & ended:
            raise InvalidArgument(f"step {number} is about a memory that an earlier one ended", "reorder")
        if step.act in (Act.DELETE, Act.MERGE, Act.REJECT):
            ended.add(step.id)
    return found


_WORDS = {
    Act.ACCEPT: "accept {id}",
    Act.VERIFY: "verify {id}",
    Act.REJECT: "reject {id} for good",
    Act.SUPERSEDE: "{other} takes the place of {id}{at}",
    Act.UPDATE: "{id} says from now on {what}",
    Act.DELETE: "delete {id}",
    Act.MERGE: "close {id}, which says what {other} says",
    Act.LINK: "link {id} to {other} as {what}",
}


def in_words(plan: Plan) -> list[str]:
    """What carrying out a plan does, one line a step."""
    return [
        _WORDS[step.act].format(
            id=step.id,
            other=step.other_id,
            at=f" from {step.at} on" if step.at else "",
            what=_what(step),
        )
        for step in plan.steps
    ]


def _what(step: PlanStep) -> str:
    if step.act is Act.LINK:
        return str(step.changes.get("relationship_type", "related"))
    if step.other_id:
        return f"what {step.other_id} says, which is closed"
    return "; ".join(f"{name}: {value}" for name, value in step.changes.items() if value not in ("", None))
