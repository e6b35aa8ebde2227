"""Curation: a plan about many memories, given as data; what only a person may do becomes a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from m3_memory.domains.correction.service import plans
from m3_memory.domains.lifecycle.model import CurationError, CurationResult
from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, named_in
from m3_memory.domains.memories.service.chunks import CHUNK_ROWS
from m3_memory.domains.memories.service.endings import pinned_among
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.reviews import ask_all
from m3_memory.domains.memories.service.targets import Target, targets
from m3_memory.domains.memories.service.tombstones import writing
from m3_memory.errors import InvalidArgument, M3Error, PlanStale
from m3_memory.kernel.caller import Grant
from m3_memory.kernel.ids import parse_full
from m3_memory.kernel.interval import parse_moment
from m3_memory.kernel.vocabulary import CLEAR

if TYPE_CHECKING:
    from m3_memory.context import Context

MANY_ENDINGS = 20
"""More than so many endings an agent without the grant `curate` can only propose."""

_KEYS = frozenset({"delete", "delete_hard", "link", "update", "expects", "expires_at"})
_ERASURE = "an agent asks to erase these; deleted, they can be erased by m3 privacy forget"
_TOO_MANY = f"a plan that ends more than {MANY_ENDINGS} memories"
_PROTECTED = "a plan about memories that a person verified or pinned"


@dataclass(frozen=True, slots=True)
class Request:
    """A plan that was read: steps in order, what to erase, and until when it is meant."""

    steps: tuple[PlanStep, ...]
    to_erase: tuple[PlanStep, ...]
    expects: Mapping[str, str]
    expires_at: str


def read_plan(given: Mapping[str, object]) -> Request:
    """The plan as it was sent. Raises InvalidArgument and InvalidId, naming what can't be understood."""
    if unknown := given.keys() - _KEYS:
        raise InvalidArgument(
            f"a plan has no {min(unknown)!r:.40}", f"its keys are {', '.join(sorted(_KEYS))}"
        )
    sent = [
        *({"act": "update", "id": each.pop("id", ""), "changes": each} for each in _objects(given, "update")),
        *(
            {"act": "link", "id": each.pop("from_id", ""), "other_id": each.pop("to_id", ""), "changes": each}
            for each in _objects(given, "link")
        ),
        *({"act": "delete", "id": memory_id} for memory_id in _listed(given, "delete")),
    ]
    to_erase = [{"act": "delete", "id": memory_id} for memory_id in _listed(given, "delete_hard")]
    steps = tuple(plans.steps_of([*sent, *to_erase]))
    if len(steps) > CHUNK_ROWS:
        raise InvalidArgument(f"a plan has at most {CHUNK_ROWS} steps", "send it in parts")
    one: dict[str, object] = {"expects": [given.get("expects") or dict[str, str]()]}
    (expects,) = _objects(one, "expects")
    until = str(given.get("expires_at") or "")
    return Request(
        steps[: len(sent)],
        steps[len(sent) :],
        {parse_full(key): str(mark) for key, mark in expects.items()},
        parse_moment(until) if until else "",
    )


def curate(ctx: Context, request: Request, *, dry_run: bool) -> CurationResult:
    """Carries a plan out as one operation, undone by one memory_undo; a dry run does and takes it back.

    Steps about what is not there are errors and stop no other. Steps about what a person verified or pinned,
    more endings than MANY_ENDINGS without the grant, and every erasure become questions. Raises PlanStale
    where the plan is over or something expected changed, and what a step's own verb raises: then nothing
    was done.
    """
    if request.expires_at and request.expires_at <= ctx.clock.now():
        raise PlanStale(f"the plan was meant until {request.expires_at}", "look again, and plan anew")
    request = replace(request, steps=tuple(plans.cleaned(ctx, request.steps)))
    with ctx.rehearsal() if dry_run else writing(ctx) as writer:
        result = _curated(ctx, operation(ctx, writer), request)
    return replace(result, status="preview", operation_id=None, proposals=[]) if dry_run else result


def _curated(ctx: Context, op: Operation, request: Request) -> CurationResult:
    named = list(dict.fromkeys([*named_in([*request.steps, *request.to_erase]), *request.expects]))
    found = dict(zip(named, targets(op.writer, op.caller, named), strict=True))
    there = {memory_id: of for memory_id, of in found.items() if isinstance(of, Target)}
    if gone := sorted(request.expects.keys() - there.keys()):
        raise PlanStale(f"memory {gone[0]} is not there as was planned", "look again, and plan anew")
    errors = [CurationError(id_, of.code, of.message) for id_, of in found.items() if isinstance(of, M3Error)]
    fit = [step for step in request.steps if there.keys() >= set(named_in([step]))]
    protected = _protected_by_a_person(op, fit, there)
    others = [step for step in fit if step not in protected]
    ending = [step for step in fit if _ends(step, op.writer.now)]
    many = len(ending) > MANY_ENDINGS and not op.caller.may(Grant.CURATE)
    held_back = [step for step in others if many and step in ending]
    done = [step for step in others if step not in held_back]
    to_erase = [step for step in request.to_erase if step.id in there]
    plans.apply(op, Plan(tuple(done), request.expects))

    def place(step: PlanStep) -> int:
        return there[step.id].belief.audience

    waiting = {_PROTECTED: protected, _TOO_MANY: held_back, _ERASURE: to_erase}
    questions = [
        plans.question_of(op.writer, audience, list(steps), {"reason": reason})
        for reason, proposed in waiting.items()
        for audience, steps in groupby(sorted(proposed, key=place), key=place)
    ]
    asked = [each.review_id for each in ask_all(op, questions)]
    deleted, linked, updated = (
        [step for step in done if step.act is act] for act in (Act.DELETE, Act.LINK, Act.UPDATE)
    )
    return CurationResult(
        status="applied" if done else "proposed" if asked else "nothing",
        store=ctx.store,
        delete=[step.id for step in deleted],
        delete_hard=[step.id for step in to_erase],
        link=[{"from_id": step.id, "to_id": step.other_id, **step.changes} for step in linked],
        update=[step.id for step in updated],
        errors=errors,
        summary={
            "deleted_soft": len(deleted),
            "deleted_hard": 0,
            "linked": len(linked),
            "updated": len(updated),
            "proposed": sum(map(len, waiting.values())),
        },
        proposals=asked,
        operation_id=op.operation_id if done else None,
    )


def _ends(step: PlanStep, now: str) -> bool:
    """Whether what the step names no longer holds once it is taken."""
    until = step.changes.get("valid_to") or CLEAR
    return step.act is Act.DELETE or (until != CLEAR and until <= now)


def _protected_by_a_person(
    op: Operation, steps: Sequence[PlanStep], there: Mapping[str, Target]
) -> list[PlanStep]:
    """Those of these steps that change what only a person changes."""
    verified = {memory_id for memory_id, of in there.items() if of.is_kept_from(op.caller)}
    pinned = frozenset[str]() if op.caller.is_operator else pinned_among(op.writer, list(there))
    return [
        step
        for step in steps
        if verified & set(named_in([step])) or (step.act is not Act.LINK and step.id in pinned)
    ]


def _listed(given: Mapping[str, object], key: str) -> list[object]:
    value: object = given.get(key) or []
    if not isinstance(value, list):
        raise InvalidArgument(f"{key} is no list", "give a list, or leave it out")
    return [*cast("list[object]", value)]


def _objects(given: Mapping[str, object], key: str) -> list[dict[str, Any]]:
    entries = _listed(given, key)
    if not all(isinstance(each, dict) for each in entries):
        raise InvalidArgument(f"{key} holds what is no object", "the tool's description names its members")
    return [dict(each) for each in cast("list[dict[str, Any]]", entries)]
