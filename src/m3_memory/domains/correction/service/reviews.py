"""Questions for a person: listed, proposed and decided; each decision is one operation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from m3_memory.domains.correction import queries
from m3_memory.domains.correction.model import (
    DecideResult,
    Decision,
    ProposeResult,
    Review,
    ReviewedMemory,
    ReviewItem,
    ReviewList,
)
from m3_memory.domains.correction.service.plans import apply, checked, in_words, stale
from m3_memory.domains.memories.model.review import (
    Act,
    Plan,
    PlanStep,
    Question,
    ReviewKind,
    ReviewState,
    as_text,
    mark_of,
    plan_text,
)
from m3_memory.domains.memories.service import changes
from m3_memory.domains.memories.service.changes import UpdateRequest
from m3_memory.domains.memories.service.drafts import without_secrets
from m3_memory.domains.memories.service.endings import end_all
from m3_memory.domains.memories.service.operations import operation
from m3_memory.domains.memories.service.reviews import (
    ask_all,
    believed,
    concerned_audiences,
    settle,
    standing_as,
    user_audiences,
)
from m3_memory.domains.memories.service.standing import state_now
from m3_memory.domains.memories.service.targets import target
from m3_memory.domains.memories.service.trusting import set_trust_all
from m3_memory.errors import InvalidArgument, NeedsOperator, NotFound, PlanStale
from m3_memory.kernel.redaction import redact_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.domains.memories.service.targets import Target
    from m3_memory.storage.database import Reader

WHEN_LAPSED = "everything stays as it stands; what waits as candidate stays a candidate"
"""What becomes of a question that nobody decides in time."""

ELICITED = "elicited"
"""Who decided, where a person answered a host's own prompt: nobody proved to be the operator."""

_ENDED = {
    Decision.ACCEPT: ReviewState.ACCEPTED,
    Decision.REJECT: ReviewState.REJECTED,
    Decision.WITHDRAW: ReviewState.REJECTED,
    Decision.BURY: ReviewState.REJECTED,
}
_READABLE = frozenset({"current", "candidate"})
_REMEDY = "review_list shows what waits, each with its digest"


class ListRequest(NamedTuple):
    """Which questions to show: all that wait, those of one memory, or one, whatever became of it."""

    limit: int = 20
    offset: int = 0
    memory_id: str = ""
    review_id: str = ""


@dataclass(frozen=True, slots=True)
class DecideRequest:
    """A decision on the question shown under this digest; `content` is a better text for what wins."""

    review_id: str
    digest: str
    decision: Decision
    content: str = ""


def listed(ctx: Context, request: ListRequest) -> ReviewList:
    """The questions that concern the caller. Raises NotFound for a review_id that does not."""
    with ctx.read() as reader:
        audiences = concerned_audiences(reader, ctx.caller)
        which = queries.waiting(reader, audiences, request.memory_id)
        items = (
            [_found(reader, request.review_id, audiences)]
            if request.review_id
            else queries.page(reader, which, request.limit, request.offset)
        )
        return ReviewList(_shown(ctx, reader, items), queries.count(reader, which), WHEN_LAPSED)


def waiting_for_owner(reader: Reader) -> int:
    """How many questions wait for the reader's user, wherever they were asked."""
    return queries.count(reader, queries.waiting(reader, user_audiences(reader)))


def propose(ctx: Context, steps: Sequence[PlanStep], reason: str) -> ProposeResult:
    """Puts a plan about memories of one audience the caller holds to a person; nothing is changed.

    Raises InvalidArgument for a plan that could never be carried out, what `target` raises for a memory.
    """
    steps = checked(steps)
    with ctx.write() as writer:
        op = operation(ctx, writer)
        named = dict.fromkeys(id_ for step in steps for id_ in (step.id, step.other_id) if id_)
        found = [target(writer, ctx.caller, memory_id) for memory_id in named]
        audiences = {of.belief.audience for of in found}
        if len(audiences) != 1:
            raise InvalidArgument("the memories of a plan lie in one place", "make a plan for each place")
        steps = [replace(step, changes=_without_secrets(writer, dict(step.changes))) for step in steps]
        plan = Plan(tuple(steps), {of.belief.memory_id: mark_of(of.belief) for of in found})
        evidence = {"reason": _without_secrets(writer, reason), "proposed_by": ctx.caller.agent_id}
        question = Question(ReviewKind.PLAN, audiences.pop(), tuple(named), evidence, plan)
        key = as_text([plan_text(plan), evidence])
        ((review_id, is_new),) = ask_all(op, [replace(question, derived_from=(*named, key))])
        item = _found(writer, review_id, [question.audience])
        counts = Counter(step.act.value for step in steps)
        status = "asked" if is_new else item.state
        return ProposeResult(
            review_id, status, item.digest, in_words(item.plan), dict(counts), item.lapses_at
        )


def decide(ctx: Context, request: DecideRequest) -> DecideResult:
    """Decides a question once, as one operation.

    Raises PlanStale where it was decided before, was shown otherwise, or its plan's memories changed (the
    question is closed as stale then, and nothing else done); NotFound for one that does not concern the
    caller; NeedsOperator for an agent; what the plan's steps raise, and then nothing was done.
    """
    if not ctx.caller.is_operator:
        raise NeedsOperator("only a person decides this", "ask the person: m3 review")
    if request.content:
        cleaned, _ = without_secrets(ctx, {"content": request.content})
        request = replace(request, content=cleaned["content"])
    with ctx.write() as writer:
        item = _found(writer, request.review_id, concerned_audiences(writer, ctx.caller))
        _ensure_shown(writer, item, request.digest)
        result = _decided(operation(ctx, writer), item, request, ctx.caller.agent_id)
    return _ensure_done(result)


def elicited(ctx: Context, review_id: str, decision: Decision) -> DecideResult:
    """A person's answer to a host's prompt about a conflict of two memories that nobody verified.

    It is the caller's own act, recorded as elicited, and undone like any. Raises as `decide` does, and
    NeedsOperator for what such an answer does not decide.
    """
    with ctx.write() as writer:
        item = _found(writer, review_id, concerned_audiences(writer, ctx.caller))
        _ensure_shown(writer, item, item.digest)
        found = believed(writer, item.memories)
        trusted = {of.belief.trust_state for of in found.values()}
        acts = {step.act for step in item.plan.steps}
        fits = item.kind == ReviewKind.CONFLICT and len(found) == 2 and acts <= {Act.SUPERSEDE}
        if not fits or trusted != {"accepted"} or decision is Decision.BURY:
            raise NeedsOperator("this is decided by the operator alone", "ask the person: m3 review")
        request = DecideRequest(review_id, item.digest, decision)
        result = _decided(operation(ctx, writer), item, request, ELICITED)
    return _ensure_done(result)


def lapse(op: Operation, limit: int = 500) -> int:
    """Closes open questions of the owner whose time is over, with an event each; returns how many."""
    items = queries.lapsed(op.writer, op.writer.owner, limit)
    for item in items:
        _close(op, item, ReviewState.LAPSED, "", "")
    return len(items)


def _decided(op: Operation, item: ReviewItem, request: DecideRequest, by: str) -> DecideResult:
    """Carries a decision out, or closes the question as stale where it can't be any more."""
    if request.content and request.decision is not Decision.ACCEPT:
        raise InvalidArgument("content goes with accept", "leave it out")
    state, changed, reason = _ENDED[request.decision], list[str](), f"review {item.review_id}"
    if request.decision is Decision.ACCEPT:
        if stale(op.writer, item.plan):
            state = ReviewState.STALE
        else:
            changed = apply(op, _edited(op, item.plan, request.content))
    elif request.decision is not Decision.REJECT:
        newcomer = _newcomer(op, item)
        if request.decision is Decision.WITHDRAW:
            end_all(op, [newcomer.belief.memory_id], "delete", reason)
        else:
            set_trust_all(op, [(newcomer, "rejected")], reason)
        changed = [newcomer.belief.memory_id]
    decision = as_text({"decision": request.decision.value, "changed": changed, "operation": op.operation_id})
    _close(op, item, state, decision, by)
    return DecideResult(item.review_id, state.value, op.operation_id, changed)


def _ensure_done(result: DecideResult) -> DecideResult:
    """Raises PlanStale, once it is stored that a question was."""
    if result.status == ReviewState.STALE:
        raise PlanStale(
            f"what review {result.review_id} is about changed after it was asked; nothing was done",
            "the question is closed as stale; look at what holds now",
        )
    return result


def _close(op: Operation, item: ReviewItem, state: ReviewState, decision: str, by: str) -> None:
    settle(op, item.review_id, (ReviewState.OPEN, state), decision, by)
    first, *others = item.memories or ("",)
    told = f"{ELICITED}: {state}" if by == ELICITED else state.value
    other = others[0] if others else ""
    op.record("review", first, 0, other_id=other, reason=f"{told} {item.review_id}")


def _newcomer(op: Operation, item: ReviewItem) -> Target:
    """The memory that a question was asked because of: the last it names."""
    found = believed(op.writer, item.memories[-1:])
    if not found or stale(op.writer, item.plan).keys() & found.keys():
        raise PlanStale("the newer memory changed after this was asked", "look at what holds now: reject it")
    return found[item.memories[-1]]


def _edited(op: Operation, plan: Plan, content: str) -> Plan:
    """The plan once the text that wins has become this one, by an ordinary change."""
    if not content:
        return plan
    for place, step in enumerate(plan.steps):
        if step.act is Act.UPDATE and not step.other_id:
            edited = replace(step, changes={**step.changes, "content": content})
            return Plan((*plan.steps[:place], edited, *plan.steps[place + 1 :]), plan.expects)
        winner = step.other_id if step.act in (Act.SUPERSEDE, Act.UPDATE) else step.id
        if step.act in (Act.SUPERSEDE, Act.UPDATE, Act.ACCEPT, Act.VERIFY):
            changes.update_in(
                op, believed(op.writer, [winner])[winner], UpdateRequest(winner, content=content)
            )
            mark, _ = standing_as(op.writer, [winner])[winner]
            return Plan(plan.steps, {**plan.expects, winner: mark})
    raise InvalidArgument("no text wins by this plan", "accept it without content")


def _found(reader: Reader, review_id: str, audiences: Sequence[int]) -> ReviewItem:
    item = queries.find(reader, review_id, audiences)
    if item is None:
        raise NotFound("no such question in what you may see", _REMEDY)
    return item


def _ensure_shown(reader: Reader, item: ReviewItem, digest: str) -> None:
    if item.state != ReviewState.OPEN:
        raise PlanStale(f"review {item.review_id} was closed before: {item.state}", _REMEDY)
    if item.lapses_at <= reader.now:
        raise PlanStale(f"review {item.review_id} lapsed at {item.lapses_at}: {WHEN_LAPSED}", _REMEDY)
    if item.digest != digest:
        raise PlanStale(f"review {item.review_id} is not what was shown under {digest[:16]}", _REMEDY)


def _without_secrets(reader: Reader, value: Any) -> Any:
    return redact_json(value, reader.secret_key)[0]


# What is shown.


def _shown(ctx: Context, reader: Reader, items: Sequence[ReviewItem]) -> list[Review]:
    named = {memory_id for item in items for memory_id in item.memories}
    newest = {memory_id: belief for memory_id, (_, belief) in standing_as(reader, named).items()}
    texts = believed(reader, list(named))
    held = frozenset(concerned_audiences(reader, ctx.caller))

    def memory(memory_id: str) -> ReviewedMemory:
        belief = newest.get(memory_id)
        if belief is None or belief.audience not in held:
            return ReviewedMemory(memory_id, "gone", "")
        state, since = state_now(reader, belief)
        readable = state in _READABLE or ctx.caller.is_operator
        return (
            _reviewed(texts[memory_id], state, since)
            if readable and memory_id in texts
            else (ReviewedMemory(memory_id, state, since))
        )

    return [
        _review(item, _state(reader, item), [memory(memory_id) for memory_id in item.memories])
        for item in items
    ]


def _state(reader: Reader, item: ReviewItem) -> str:
    """How a question stands now, whether or not anybody has closed it yet."""
    if item.state != ReviewState.OPEN:
        return item.state
    if item.lapses_at <= reader.now:
        return ReviewState.LAPSED
    return ReviewState.STALE if stale(reader, item.plan) else ReviewState.OPEN


def _reviewed(target: Target, state: str, since: str) -> ReviewedMemory:
    belief, version = target.belief, target.version
    return ReviewedMemory(
        belief.memory_id,
        state,
        since,
        version.type,
        version.title or None,
        version.content,
        belief.trust_state,
        version.agent_id,
        belief.valid_from,
    )


def _review(item: ReviewItem, state: str, memories: list[ReviewedMemory]) -> Review:
    evidence: dict[str, Any] = json.loads(item.evidence)
    decided: dict[str, Any] = json.loads(item.decision) if item.decision.startswith("{") else {}
    return Review(
        item.review_id,
        item.memories[0] if item.memories else "",
        item.kind,
        state,
        item.digest,
        str(evidence.pop("reason", "")),
        item.asked_by,
        item.opened_at,
        item.lapses_at,
        in_words(item.plan),
        memories,
        evidence,
        str(decided.get("decision", item.decision)) or None,
        item.decided_by or None,
        item.decided_at or None,
        decided.get("operation"),
    )
