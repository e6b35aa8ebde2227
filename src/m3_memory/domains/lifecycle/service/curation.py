"""Curation: a plan about many memories, given as data; what only a person may do becomes a question."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from m3_memory.domains.correction.model import steps_of
from m3_memory.domains.correction.service import plans
from m3_memory.domains.lifecycle.model import CurationError, CurationResult
from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, Question, ReviewKind
from m3_memory.domains.memories.service import reviews
from m3_memory.domains.memories.service.chunks import CHUNK_ROWS
from m3_memory.domains.memories.service.drafts import without_secrets
from m3_memory.domains.memories.service.endings import pinned_among
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.targets import Target, targets
from m3_memory.errors import InvalidArgument, M3Error, PlanStale
from m3_memory.kernel.caller import Grant
from m3_memory.kernel.ids import parse_full
from m3_memory.kernel.interval import parse_moment
from m3_memory.kernel.limits import checked_metadata

if TYPE_CHECKING:
    from m3_memory.context import Context

MANY_ENDINGS = 20
"""More than so many deletions an agent without the grant `curate` can only propose."""

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


class _RehearsedError(Exception):
    """Everything was tried and nothing is to stay."""


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
    steps = tuple(plans.checked(steps_of([*sent, *to_erase])))
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
    more deletions than MANY_ENDINGS without the grant, and every erasure become questions. Raises PlanStale
    where the plan is over or something expected changed, and what a step's own verb raises: then nothing
    was done.
    """
    if request.expires_at and request.expires_at <= ctx.clock.now():
        raise PlanStale(f"the plan was meant until {request.expires_at}", "look again, and plan anew")
    request = replace(request, steps=tuple(_without_secrets(ctx, step) for step in request.steps))
    result: CurationResult | None = None
    try:
        with ctx.write() as writer:
            result = _curated(ctx, operation(ctx, writer), request)
            if dry_run:
                raise _RehearsedError
    except _RehearsedError:
        pass
    assert result is not None
    return replace(result, status="preview", operation_id=None, proposals=[]) if dry_run else result


def _without_secrets(ctx: Context, step: PlanStep) -> PlanStep:
    """The step with what its new texts must not say replaced. Raises SecretRefused."""
    if step.act is not Act.UPDATE:
        return step
    texts = {name: str(step.changes[name]) for name in ("content", "title") if name in step.changes}
    labels = json.dumps(checked_metadata(step.changes.get("metadata")), ensure_ascii=False)
    cleaned, _ = without_secrets(ctx, texts, labels)
    return replace(step, changes={name: cleaned.get(name, value) for name, value in step.changes.items()})


def _curated(ctx: Context, op: Operation, request: Request) -> CurationResult:
    steps = [*request.steps, *request.to_erase]
    named = dict.fromkeys(id_ for step in steps for id_ in (step.id, step.other_id) if id_)
    found = dict(zip(named, targets(op.writer, op.caller, list(named)), strict=True))
    there = {memory_id: of for memory_id, of in found.items() if isinstance(of, Target)}
    errors = [
        CurationError(memory_id, of.code, of.message)
        for memory_id, of in found.items()
        if isinstance(of, M3Error)
    ]
    fit = [step for step in request.steps if _names(step) <= there.keys()]
    to_erase = [step for step in request.to_erase if step.id in there]
    too_many = _ends_too_many(op, fit)
    untouchable = _protected_by_a_person(op, there)
    protected = [step for step in fit if untouchable(step)]
    held_back = [step for step in fit if too_many and step.act is Act.DELETE and step not in protected]
    done = [step for step in fit if step not in protected and step not in held_back]
    plans.apply(op, Plan(tuple(done), request.expects))
    asked = [
        review_id
        for reason, waiting in ((_PROTECTED, protected), (_TOO_MANY, held_back), (_ERASURE, to_erase))
        for review_id in _proposed(op, waiting, there, reason)
    ]
    by_act = {act: [step for step in done if step.act is act] for act in Act}
    return CurationResult(
        status="applied" if done else "proposed" if asked else "nothing",
        store=ctx.store,
        delete=[step.id for step in by_act[Act.DELETE]],
        delete_hard=[step.id for step in to_erase],
        link=[{"from_id": s.id, "to_id": s.other_id, **s.changes} for s in by_act[Act.LINK]],
        update=[step.id for step in by_act[Act.UPDATE]],
        errors=errors,
        summary={
            "deleted_soft": len(by_act[Act.DELETE]),
            "deleted_hard": 0,
            "linked": len(by_act[Act.LINK]),
            "updated": len(by_act[Act.UPDATE]),
            "proposed": len(protected) + len(held_back) + len(to_erase),
        },
        proposals=asked,
        operation_id=op.operation_id if done else None,
    )


def _proposed(
    op: Operation, steps: Sequence[PlanStep], there: Mapping[str, Target], reason: str
) -> list[str]:
    """The questions about these steps, one for each place."""
    by_audience: dict[int, list[PlanStep]] = {}
    for step in steps:
        by_audience.setdefault(there[step.id].belief.audience, []).append(step)
    questions: list[Question] = []
    for audience, of_audience in by_audience.items():
        named = tuple(dict.fromkeys(id_ for step in of_audience for id_ in sorted(_names(step))))
        marks = {memory_id: mark for memory_id, (mark, _) in reviews.standing_as(op.writer, named).items()}
        questions.append(
            Question(ReviewKind.PLAN, audience, named, {"reason": reason}, Plan(tuple(of_audience), marks))
        )
    return [asked.review_id for asked in reviews.ask_all(op, questions)]


def _ends_too_many(op: Operation, steps: Sequence[PlanStep]) -> bool:
    endings = sum(step.act is Act.DELETE for step in steps)
    return endings > MANY_ENDINGS and not op.caller.may(Grant.CURATE)


def _protected_by_a_person(op: Operation, there: Mapping[str, Target]) -> Callable[[PlanStep], bool]:
    """Tells of a step whether it changes what only a person changes."""
    verified = {memory_id for memory_id, of in there.items() if of.belief.trust_state == "verified"}
    pinned = pinned_among(op.writer, list(there))

    def is_protected(step: PlanStep) -> bool:
        return bool(_names(step) & verified) or (step.act is not Act.LINK and step.id in pinned)

    return (lambda _: False) if op.caller.is_operator else is_protected


def _names(step: PlanStep) -> set[str]:
    return {step.id, step.other_id} - {""}


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
