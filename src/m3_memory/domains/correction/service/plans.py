"""Plans: changes as data, carried out only while all they name stands as it did when they were made.

A row of ACTS says of each act what a step must name, what it does, and how that reads.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from m3_memory.domains.memories.model.review import (
    NONE_OPEN,
    Act,
    Plan,
    PlanStep,
    Question,
    ReviewKind,
    named_in,
)
from m3_memory.domains.memories.service import changes
from m3_memory.domains.memories.service.changes import UpdateRequest
from m3_memory.domains.memories.service.chunks import only
from m3_memory.domains.memories.service.drafts import without_secrets
from m3_memory.domains.memories.service.edges import LinkRequest, linked
from m3_memory.domains.memories.service.endings import end_all
from m3_memory.domains.memories.service.reviews import believed, concerned_audiences, merge_in, standing_as
from m3_memory.domains.memories.service.succession import refuse_superseded_memory
from m3_memory.domains.memories.service.superseding import succeed
from m3_memory.domains.memories.service.targets import Target, not_found
from m3_memory.domains.memories.service.trusting import set_trust_all
from m3_memory.errors import InvalidArgument, NeedsOperator, PlanStale
from m3_memory.kernel.ids import parse_full
from m3_memory.kernel.interval import parse_moment, parse_time
from m3_memory.kernel.limits import (
    MAX_CONTENT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    checked_metadata,
    checked_text,
)
from m3_memory.kernel.vocabulary import CLEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.storage.database import Reader

    Found: TypeAlias = Mapping[str, Target]

BY_A_PLAN = "by a plan"

_TEXTS = {
    "content": MAX_CONTENT_CHARACTERS,
    "title": MAX_TITLE_CHARACTERS,
    "relationship_type": MAX_LABEL_CHARACTERS,
}


def _checked(name: str, given: object) -> object:
    """A value of a step's `changes` as its verb takes it. Raises InvalidInput errors."""
    match name, given:
        case (("content" | "title" | "relationship_type"), str()):
            return given and checked_text(given, name, _TEXTS[name])
        case "valid_to", str():
            return given if given in ("", CLEAR) else parse_time(given)
        case "importance", int() | float() if given is not True and 0.0 <= given <= 1.0:
            return given
        case "metadata", _:
            checked_metadata(given)
            return given
        case _:
            raise InvalidArgument(f"{name} is not what memory_update takes", "see its description")


def _set_trust(op: Operation, steps: Sequence[PlanStep], found: Found) -> None:
    worded = [step for step in steps if step.changes]
    judged = [(found[step.id], ACTS[step.act].trust) for step in steps if not step.changes]
    if judged:
        set_trust_all(op, judged, BY_A_PLAN)
    for step in worded:
        _say(op, found[step.id], step, ACTS[step.act].trust)


def _say(op: Operation, of: Target, step: PlanStep, trust: str) -> None:
    """Gives a memory this trust state, in the step's words if it has any: one change, in one event."""
    content = step.changes.get("content", of.version.content)
    if content != of.version.content:
        changes.update_in(op, of, UpdateRequest(of.belief.memory_id, content=content, trust_state=trust))
    elif trust:
        set_trust_all(op, [(of, trust)], BY_A_PLAN)


def _delete(op: Operation, steps: Sequence[PlanStep], _: Found) -> None:
    end_all(op, [step.id for step in steps], "delete", BY_A_PLAN)


def _supersede(op: Operation, steps: Sequence[PlanStep], found: Found) -> None:
    (step,) = steps
    winner = found[step.other_id]
    belief, at = winner.belief, step.at or winner.belief.valid_from
    for named in (step.id, step.other_id):
        refuse_superseded_memory(op.writer, op.caller, named)
    if not belief.valid_from <= at < belief.valid_to:
        raise InvalidArgument(
            f"memory {step.other_id} does not hold at {at}, when it would take another's place",
            f"it holds from {belief.valid_from} on: leave out at",
        )
    _say(op, winner, step, "accepted" if belief.trust_state == "candidate" else "")
    succeed(op, found[step.id], step.other_id, at)


def _update(op: Operation, steps: Sequence[PlanStep], found: Found) -> None:
    (step,) = steps
    given: dict[str, Any] = dict(step.changes)
    if step.other_id:
        said = found[step.other_id].version
        given = {"content": said.content, "title": said.title, **given}
        end_all(op, [step.other_id], "delete", BY_A_PLAN)
    changes.update_in(op, found[step.id], UpdateRequest(step.id, **given))


def _merge(op: Operation, steps: Sequence[PlanStep], found: Found) -> None:
    (step,) = steps
    merge_in(op, found[step.id], step.other_id)


def _link(op: Operation, steps: Sequence[PlanStep], _: Found) -> None:
    (step,) = steps
    only(linked(op, [LinkRequest(step.id, step.other_id, _relation(step))]))


class Row(NamedTuple):
    """One act.

    `perform` gets as many steps as follow each other where they are done `at_once`, else one. An act that
    sets a `trust` is a person's; after one that `ends` its memory no other step may name that. `changes` are
    those that a step may be sent with; where something `wins`, a person may put it in better words.
    """

    in_words: str
    perform: Callable[[Operation, Sequence[PlanStep], Found], None]
    trust: str = ""
    at_once: bool = False
    needs_other: bool = False
    ends: bool = False
    wins: bool = False
    changes: tuple[str, ...] = ()


ACTS = {
    Act.ACCEPT: Row("accept {id}", _set_trust, "accepted", at_once=True, wins=True),
    Act.VERIFY: Row("verify {id}", _set_trust, "verified", at_once=True, wins=True),
    Act.REJECT: Row("reject {id} for good", _set_trust, "rejected", at_once=True, ends=True),
    Act.DELETE: Row("delete {id}", _delete, at_once=True, ends=True),
    Act.SUPERSEDE: Row(
        "{other} takes the place of {id}{at}", _supersede, needs_other=True, ends=True, wins=True
    ),
    Act.UPDATE: Row(
        *("{id} says from now on {what}", _update),
        wins=True,
        changes=("content", "title", "metadata", "importance", "valid_to"),
    ),
    Act.MERGE: Row("close {id}, said to say what {other} says", _merge, needs_other=True, ends=True),
    Act.LINK: Row("link {id} to {other} as {what}", _link, needs_other=True, changes=("relationship_type",)),
}


def in_words(step: PlanStep) -> str:
    """What carrying out a step does."""
    at = f" from {step.at} on" if step.at else ""
    return ACTS[step.act].in_words.format(id=step.id, other=step.other_id, at=at, what=_what(step))


def _what(step: PlanStep) -> str:
    if step.act is Act.LINK:
        return _relation(step)
    said = [f"{name}: {value}" for name, value in step.changes.items() if value not in ("", None)]
    return "; ".join(said) or f"what {step.other_id} says, which is closed"


def _relation(step: PlanStep) -> str:
    return str(step.changes.get("relationship_type", "related"))


def steps_of(given: Sequence[Mapping[str, object]]) -> list[PlanStep]:
    """The steps of a plan as they were sent.

    Raises InvalidArgument, InvalidId or InvalidTime for what could never be carried out.
    """
    steps: list[PlanStep] = []
    for number, sent in enumerate(given, 1):
        step = _read(number, sent)
        if fault := _fault(step, steps):
            raise InvalidArgument(
                f"step {number} {fault}", "the description of the tool says what each takes"
            )
        steps.append(step)
    return steps


def _read(number: int, given: Mapping[str, object]) -> PlanStep:
    texts = {name: given.get(name) or "" for name in ("act", "id", "other_id", "at")}
    named: object = given.get("changes") or {}
    unknown = given.keys() - texts.keys() - {"changes"}
    if unknown or not isinstance(named, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise InvalidArgument(
            f"step {number} is not {{act, id, other_id, at, changes}}", "texts, and an object"
        )
    act, memory_id, other_id, at = map(str, texts.values())
    if act not in set(Act):
        raise InvalidArgument(f"step {number}: there is no act {act!r:.40}", f"one of: {', '.join(Act)}")
    allowed, sent = ACTS[Act(act)].changes, cast("dict[str, object]", named)
    if others := sent.keys() - {*allowed}:
        raise InvalidArgument(
            f"step {number}: {act} changes no {min(others)!r:.40}", f"but: {', '.join(allowed) or 'nothing'}"
        )
    changed = {name: _checked(name, value) for name, value in sent.items()}
    other_id, at = other_id and parse_full(other_id), at and parse_moment(at)
    return PlanStep(Act(act), parse_full(memory_id), other_id, at, changed)


def _fault(step: PlanStep, before: Sequence[PlanStep]) -> str:
    """Why a step could never be carried out after these; "" if it may be."""
    if ACTS[step.act].needs_other and step.other_id in ("", step.id):
        return f"needs another memory as other_id to {step.act}"
    if step.act is Act.UPDATE and not (step.other_id or step.changes):
        return "needs changes, or other_id, whose text it takes"
    if {step.id, step.other_id} & {id_ for each in before for id_ in _changed(each) if _ends(each, id_)}:
        return "is about a memory that an earlier one ended"
    if _changed(step) & {id_ for each in before if _changed(each) for id_ in named_in([each])}:
        return "changes a memory that an earlier one is about: a plan changes each once, and before it wins"
    return ""


def _changed(step: PlanStep) -> set[str]:
    """The memories a step changes, so that what another one says of them would not hold any more."""
    taken = {step.other_id} - {""} if step.act is Act.UPDATE else set[str]()
    return taken if step.act is Act.LINK else {step.id} | taken


def _ends(step: PlanStep, memory_id: str) -> bool:
    return ACTS[step.act].ends or memory_id == step.other_id


def worded(plan: Plan, content: str) -> Plan:
    """The plan in a person's words for what wins by it. Raises InvalidArgument where nothing does."""
    for place, step in enumerate(plan.steps):
        if content and ACTS[step.act].wins:
            said = replace(step, changes={**step.changes, "content": content})
            return replace(plan, steps=(*plan.steps[:place], said, *plan.steps[place + 1 :]))
    if content:
        raise InvalidArgument("no text wins by this plan", "accept it without content")
    return plan


def stale(reader: Reader, plan: Plan) -> dict[str, str]:
    """The memories that stand otherwise than the plan expects, each with the moment since when."""
    now = standing_as(reader, plan.expects)
    changed: dict[str, str] = {}
    for memory_id, expected in plan.expects.items():
        mark, belief = now.get(memory_id, (NONE_OPEN, None))
        if mark != expected:
            since = belief and (belief.recorded_from if belief.is_open else belief.recorded_to)
            changed[memory_id] = since or ""
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
        for part in [steps] if ACTS[act].at_once else [[step] for step in steps]:
            ACTS[act].perform(op, part, _permitted(op, part))
    return list(dict.fromkeys(step.id for step in plan.steps))


def _permitted(op: Operation, steps: Sequence[PlanStep]) -> dict[str, Target]:
    """What steps change, and what takes its place; all believed, and the caller's to change."""
    named = named_in(steps)
    found = believed(op.writer, named)
    held = frozenset(concerned_audiences(op.writer, op.caller))
    turning = {id_ for step in steps for id_ in _changed(step)}
    for memory_id in named:
        if memory_id not in found or found[memory_id].belief.audience not in held:
            raise not_found(memory_id)
        if found[memory_id].is_kept_from(op.caller):
            raise NeedsOperator(f"memory {memory_id} was verified by a person", "leave it to them")
        if memory_id in turning and found[memory_id].belief.recorded_from == op.writer.store_time:
            raise InvalidArgument(f"two steps change memory {memory_id}", "plan one change of each")
    if not op.caller.is_operator and ACTS[steps[0].act].trust:
        raise NeedsOperator("only a person accepts, verifies or rejects", "propose it: review_propose")
    return found


def question_of(
    reader: Reader, audience: int, steps: Sequence[PlanStep], evidence: Mapping[str, Any]
) -> Question:
    """Whether a person wants these steps, about memories of one audience, as they stand now."""
    named = named_in(steps)
    marks = {memory_id: mark for memory_id, (mark, _) in standing_as(reader, named).items()}
    return Question(ReviewKind.PLAN, audience, tuple(named), evidence, Plan(tuple(steps), marks))


def cleaned(ctx: Context, steps: Iterable[PlanStep]) -> list[PlanStep]:
    """The steps with what their new texts must not say replaced. Raises SecretRefused and InvalidMetadata."""
    return [replace(step, changes=_cleaned(ctx, step.changes)) for step in steps]


def _cleaned(ctx: Context, given: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: said for name, said in given.items() if isinstance(said, str) and name != "metadata"}
    labels = checked_metadata(given.get("metadata"))
    clean, _ = without_secrets(ctx, texts, json.dumps(labels, ensure_ascii=False))
    return {**given, **{name: clean[name] for name in (*texts, *(["metadata"] if labels else []))}}
