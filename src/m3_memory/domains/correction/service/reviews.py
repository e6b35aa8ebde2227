"""Questions for a person: listed, proposed and decided; each decision is one operation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from m3_memory.catalog.answers import LIST_BYTES, fitting, size_bytes
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
from m3_memory.domains.correction.service.plans import (
    apply,
    cleaned,
    in_words,
    question_of,
    stale,
    worded,
)
from m3_memory.domains.memories.model.review import (
    Act,
    Plan,
    PlanStep,
    ReviewKind,
    ReviewState,
    as_text,
    named_in,
    plan_text,
)
from m3_memory.domains.memories.service.drafts import without_secrets
from m3_memory.domains.memories.service.endings import end_all, pinned_among
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
from m3_memory.domains.memories.service.tombstones import refusal, tombstoned, writing
from m3_memory.domains.memories.service.trusting import set_trust_all
from m3_memory.errors import InvalidArgument, NeedsOperator, NotFound, PlanStale
from m3_memory.kernel.normal import normal_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.storage.database import Reader

WHEN_LAPSED = "everything stays as it stands; what waits as candidate stays a candidate"
"""What becomes of a question that nobody decides in time."""

LONGEST_PLAN_BYTES = LIST_BYTES // 4
"""What the steps of one proposed plan may take in words."""

WITHHELD = "(rejected or erased since)"
"""What stands for the text of a plan that may not be said any more."""

ELICITED = "elicited"
"""Who decided, where a person answered a host's own prompt: nobody proved to be the operator."""

_READABLE = frozenset({"current", "candidate"})
_REMEDY = "review_list shows what waits, each with its digest"


@dataclass(frozen=True, slots=True)
class DecideRequest:
    """A decision on the question shown under this digest; `content` is a better text for what wins."""

    review_id: str
    digest: str | None
    decision: Decision
    content: str = ""


def listed(ctx: Context, limit: int, offset: int, memory_id: str, review_id: str) -> ReviewList:
    """The questions that concern the caller: all that wait, those of one memory, or one, decided or not.

    Raises NotFound for a review_id that does not concern it.
    """
    with ctx.read() as reader:
        audiences = concerned_audiences(reader, ctx.caller)
        which = queries.waiting(reader, audiences, memory_id)
        if review_id:
            items = [_found(reader, review_id, audiences)]
        else:
            items = queries.page(reader, which, limit, offset)
        total = queries.count(reader, queries.decidable(which))
        return ReviewList([*fitting(_shown(ctx, reader, items, audiences))], total, WHEN_LAPSED)


def waiting_for_owner(reader: Reader) -> int:
    """How many questions wait for the reader's user, wherever they were asked."""
    return queries.count(reader, queries.decidable(queries.waiting(reader, user_audiences(reader))))


def propose(ctx: Context, steps: Sequence[PlanStep], reason: str) -> ProposeResult:
    """Puts a plan about memories of one audience the caller holds to a person; nothing is changed.

    It is rehearsed as a person would carry it out now. Raises what that raises, InvalidArgument where they
    lie in several, what `target` raises for a memory, SecretRefused, Tombstoned.
    """
    steps, (told, _) = cleaned(ctx, steps), without_secrets(ctx, {"reason": reason})
    if size_bytes(list(map(in_words, steps))) > LONGEST_PLAN_BYTES:
        raise InvalidArgument("the plan is too long for a person to read", "send it in parts")
    with writing(ctx, rehearses=True) as writer:
        _places(ctx, writer, steps)
        op = operation(ctx, writer)
        apply(replace(op, caller=ctx.caller.as_operator()), Plan(tuple(steps)))
    with writing(ctx) as writer:
        audiences = _places(ctx, writer, steps)
        said = [(audience, normal_hash(told["reason"])) for audience in audiences]
        for buried in filter(None, tombstoned(writer, said, ctx.caller)):
            raise refusal(buried)
        evidence = {"reason": told["reason"], "proposed_by": ctx.caller.agent_id}
        question = question_of(writer, audiences.pop(), steps, evidence)
        once = (*question.memories, as_text([plan_text(question.plan), evidence]))
        (asked,) = ask_all(operation(ctx, writer), [replace(question, derived_from=once)])
        item = _found(writer, asked.review_id, [question.audience])
    return ProposeResult(
        item.review_id,
        "asked" if asked.is_new else item.state,
        item.digest,
        list(map(in_words, item.plan.steps)),
        dict(Counter(step.act.value for step in steps)),
        item.lapses_at,
    )


def _places(ctx: Context, reader: Reader, steps: Sequence[PlanStep]) -> set[int]:
    """The one audience of the memories that steps name, all of which the caller may change."""
    found = [target(reader, ctx.caller, memory_id) for memory_id in named_in(steps)]
    audiences = {of.belief.audience for of in found}
    if len(audiences) != 1:
        raise InvalidArgument("the memories of a plan lie in one place", "make a plan for each place")
    return audiences


def decide(ctx: Context, request: DecideRequest) -> DecideResult:
    """Decides a question once, as one operation.

    Raises PlanStale where it was decided before, was shown otherwise, or its plan's memories changed (the
    question is closed as stale then, and nothing else done); NotFound for one that does not concern the
    caller; NeedsOperator for an agent; what the plan's steps raise, and then nothing was done.
    """
    if not ctx.caller.is_operator:
        raise NeedsOperator("only a person decides this", "ask the person: m3 review")
    clean, _ = without_secrets(ctx, {"content": request.content})
    return _decided(ctx, replace(request, content=clean["content"]), ctx.caller.agent_id)


def elicited(ctx: Context, review_id: str, decision: Decision) -> DecideResult:
    """A person's answer to a host's prompt about a conflict of two memories that nobody verified or pinned.

    It is the caller's own act, recorded as elicited, and undone like any. Raises as `decide` does, and
    NeedsOperator for what such an answer does not decide.
    """
    return _decided(ctx, DecideRequest(review_id, None, decision), ELICITED)


overdue = queries.overdue
"""The ids of open questions of the reader's user that nobody answered in time: a query."""


def lapse(op: Operation, review_ids: Sequence[str]) -> None:
    """Closes open questions whose time is over, with an event each."""
    for item in queries.named(op.writer, review_ids):
        _close(op, item, ReviewState.LAPSED, "", "")


def _decided(ctx: Context, request: DecideRequest, by: str) -> DecideResult:
    """Carries a decision out, or closes the question as stale where it can't be any more."""
    accepts, changed, done = request.decision is Decision.ACCEPT, list[str](), list[str]()
    if request.content and not accepts:
        raise InvalidArgument("content goes with accept", "leave it out")
    with writing(ctx) as writer:
        op = operation(ctx, writer)
        item = _found(writer, request.review_id, concerned_audiences(writer, ctx.caller))
        _ensure_shown(writer, item, request.digest)
        if by == ELICITED:
            _ensure_elicitable(writer, item, request.decision)
        state = ReviewState.ACCEPTED if accepts else ReviewState.REJECTED
        if accepts and stale(writer, item.plan):
            state = ReviewState.STALE
        else:
            changed, done = _carried_out(op, item, request)
        told = {"decision": request.decision.value, "changed": changed, "operation": op.operation_id}
        _close(op, item, state, as_text(told), by)
    if state is ReviewState.STALE:
        raise PlanStale(
            f"what review {item.review_id} is about changed after it was asked; nothing was done",
            "the question is closed as stale; look at what holds now",
        )
    return DecideResult(item.review_id, state.value, op.operation_id, changed, done)


def _carried_out(op: Operation, item: ReviewItem, request: DecideRequest) -> tuple[list[str], list[str]]:
    """Does what was decided; the ids of what that changed, and what it did in words."""
    if request.decision is Decision.ACCEPT:
        plan = worded(item.plan, request.content)
        return apply(op, plan), [in_words(step) for step in plan.steps]
    if request.decision is Decision.REJECT:
        return [], []
    if not item.newcomer:
        raise InvalidArgument(
            "this question is about no newer memory", "reject it: all stays; memory_delete ends one memory"
        )
    found = believed(op.writer, [item.newcomer])
    if not found or item.newcomer in stale(op.writer, item.plan):
        raise PlanStale("the newer memory changed after this was asked", "look at what holds now: reject it")
    if request.decision is Decision.BURY:
        set_trust_all(op, [(of, "rejected") for of in found.values()], f"review {item.review_id}")
        return [item.newcomer], [f"rejected {item.newcomer}: what it says may not be said again"]
    end_all(op, [item.newcomer], "delete", f"review {item.review_id}")
    return [item.newcomer], [f"deleted {item.newcomer}"]


def _close(op: Operation, item: ReviewItem, state: ReviewState, decision: str, by: str) -> None:
    settle(op, item.review_id, (ReviewState.OPEN, state), decision, by)
    first, other, *_ = (*item.memories, "", "")
    told = f"{ELICITED}: {state}" if by == ELICITED else state.value
    op.record("review", first, 0, other_id=other, reason=f"{told} {item.review_id}")


def _found(reader: Reader, review_id: str, audiences: Sequence[int]) -> ReviewItem:
    for item in queries.named(reader, [review_id]):
        if item.audience in audiences:
            return item
    raise NotFound("no such question in what you may see", _REMEDY)


def _ensure_shown(reader: Reader, item: ReviewItem, digest: str | None) -> None:
    if item.state != ReviewState.OPEN:
        raise PlanStale(f"review {item.review_id} was closed before: {item.state}", _REMEDY)
    if item.lapses_at <= reader.now:
        raise PlanStale(f"review {item.review_id} lapsed at {item.lapses_at}: {WHEN_LAPSED}", _REMEDY)
    if digest not in (None, item.digest):
        raise PlanStale(f"review {item.review_id} is not what was shown under {digest:.16}", _REMEDY)


def _ensure_elicitable(reader: Reader, item: ReviewItem, decision: Decision) -> None:
    found = believed(reader, item.memories)
    trusted = {of.belief.trust_state for of in found.values()}
    acts = {step.act for step in item.plan.steps}
    fits = item.kind == ReviewKind.CONFLICT and len(found) == 2 and acts <= {Act.SUPERSEDE}
    fits = fits and not pinned_among(reader, item.memories)
    if not fits or trusted != {"accepted"} or decision is Decision.BURY:
        raise NeedsOperator("this is decided by the operator alone", "ask the person: m3 review")


# What is shown.


def _shown(
    ctx: Context, reader: Reader, items: Sequence[ReviewItem], audiences: Sequence[int]
) -> list[Review]:
    named = {memory_id for item in items for memory_id in item.memories}
    newest = {memory_id: belief for memory_id, (_, belief) in standing_as(reader, named).items()}
    texts = believed(reader, list(named))

    def memory(memory_id: str) -> ReviewedMemory:
        belief = newest.get(memory_id)
        if belief is None or belief.audience not in audiences:
            return ReviewedMemory(memory_id, "gone", "")
        state, since = state_now(reader, belief)
        of = texts.get(memory_id) if state in _READABLE or ctx.caller.is_operator else None
        if of is None:
            return ReviewedMemory(memory_id, state, since)
        said = of.version
        return ReviewedMemory(
            *(memory_id, state, since, said.type, said.title or None, said.content),
            *(belief.trust_state, said.agent_id, belief.valid_from),
        )

    return [_review(item, _readable(ctx, reader, item), list(map(memory, item.memories))) for item in items]


class _Readable(NamedTuple):
    """What is shown of a question, without texts that were rejected or erased since."""

    state: str
    plan: list[str]
    evidence: dict[str, Any]


def _readable(ctx: Context, reader: Reader, item: ReviewItem) -> _Readable:
    evidence, steps, said = json.loads(item.evidence), item.plan.steps, set[str]()
    _each_text([evidence, *(dict(step.changes) for step in steps)], lambda text: said.add(text) or text)
    texts = sorted(said)
    places = [(item.audience, normal_hash(text)) for text in texts]
    found = tombstoned(reader, places, ctx.caller) if texts else []
    buried = {text for text, tombstone in zip(texts, found, strict=True) if tombstone}

    def shown(value: Any) -> Any:
        return _each_text(value, lambda text: WITHHELD if text in buried else text)

    plan = [in_words(replace(step, changes=shown(dict(step.changes)))) for step in steps]
    return _Readable(_state(reader, item), plan, shown(evidence))


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed."""
    match value:
        case str():
            return change(value)
        case dict():
            return {name: _each_text(each, change) for name, each in cast("dict[str, Any]", value).items()}
        case list():
            return [_each_text(each, change) for each in cast("list[Any]", value)]
        case _:
            return value


def _decisions(item: ReviewItem, state: str) -> list[str]:
    """What a person may decide of a question in this state; nothing once it is closed or lapsed."""
    if item.state != ReviewState.OPEN or state == ReviewState.LAPSED:
        return []
    of_newcomer = [Decision.WITHDRAW.value, Decision.BURY.value] if item.newcomer else []
    accepts = [Decision.ACCEPT.value] if state == ReviewState.OPEN else []
    return [*accepts, Decision.REJECT.value, *of_newcomer]


def _state(reader: Reader, item: ReviewItem) -> str:
    """How a question stands now, whether or not anybody has closed it yet."""
    if item.state != ReviewState.OPEN:
        return item.state
    if item.lapses_at <= reader.now:
        return ReviewState.LAPSED
    return ReviewState.STALE if stale(reader, item.plan) else ReviewState.OPEN


def _review(item: ReviewItem, readable: _Readable, memories: Sequence[ReviewedMemory]) -> Review:
    state, plan, evidence = readable
    shown = list(fitting(memories, LIST_BYTES // 2))
    decided: dict[str, Any] = json.loads(item.decision) if item.decision.startswith("{") else {}
    subject, reason = next(iter(item.memories), ""), str(evidence.pop("reason", ""))
    return Review(
        *(item.review_id, subject, item.kind, state, item.digest, reason),
        *(item.asked_by, item.place, item.opened_at, item.lapses_at),
        plan,
        shown,
        evidence,
        str(decided.get("decision", item.decision)) or None,
        item.decided_by or None,
        item.decided_at or None,
        decided.get("operation"),
        len(memories) - len(shown) or None,
        _decisions(item, state),
    )
