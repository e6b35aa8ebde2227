"""Questions for a person: asked in the transaction that finds what only a person may decide."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model.review import ReviewState, as_text, mark_of, plan_of, plan_text
from m3_memory.domains.memories.service.targets import Target
from m3_memory.domains.memories.service.tombstones import refused, tombstoned
from m3_memory.kernel.clock import plus
from m3_memory.kernel.normal import normal_hash
from m3_memory.storage.predicates import Filter, audience_numbers, view_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3_memory.domains.memories.model import Belief
    from m3_memory.domains.memories.model.review import Question
    from m3_memory.domains.memories.queries import Act
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader
    from m3_memory.storage.history import Event

LAPSE_SECONDS = 30 * 24 * 60 * 60
"""How long a question waits for a person; then everything stays as it stands."""


class Asked(NamedTuple):
    """A question's id, whether it was put to a person only now, and the state it is in."""

    review_id: str
    is_new: bool
    state: str


def ask_all(op: Operation, questions: Sequence[Question]) -> list[Asked]:
    """Opens a question for a person for each, in order.

    One that names what it is `derived_from`, and was asked before, is not asked again, whatever was decided;
    any other is not while the same is open. Each new one is an event of the first memory it names. Raises
    Tombstoned where accepting one would say what was rejected or erased.
    """
    _refuse_buried(op, questions)
    ids = [_question_id(op.writer, question) for question in questions]
    known = queries.asked_already(op.writer, ids)
    fresh: dict[str, Question] = {}
    for place, question in enumerate(questions):
        state = known.get(ids[place])
        if state is not None and state != "open" and not question.derived_from:
            ids[place] = derived_id(op.writer, "again", ids[place], op.writer.store_time)
        elif state is not None:
            continue
        fresh.setdefault(ids[place], question)
    events = op.record_all([_event_of(op, review_id, question) for review_id, question in fresh.items()])
    asked = [
        (review_id, question, event)
        for (review_id, question), event in zip(fresh.items(), events, strict=True)
    ]
    queries.insert_questions(op.writer, asked, plus(op.writer.store_time, LAPSE_SECONDS))
    return [
        Asked(review_id, review_id in fresh, "open" if review_id in fresh else known[review_id])
        for review_id in ids
    ]


def concerned_audiences(reader: Reader, caller: Caller) -> list[int]:
    """The audiences whose questions concern a caller: those it holds, an operator all of the user's."""
    if caller.is_operator:
        return user_audiences(reader)
    return audience_numbers(reader, view_of(reader, caller, Filter()))


def user_audiences(reader: Reader) -> list[int]:
    """The audiences of the reader's user, whoever holds them."""
    return queries.audiences_of_user(reader)


def standing_as(reader: Reader, memory_ids: Iterable[str]) -> dict[str, tuple[str, Belief]]:
    """How each of these memories stands: its mark, and the last belief held of it; of any audience."""
    newest = {belief.memory_id: belief for belief in queries.beliefs_of(reader, memory_ids)}
    return {memory_id: (mark_of(belief), belief) for memory_id, belief in newest.items()}


def believed(reader: Reader, memory_ids: Sequence[str]) -> dict[str, Target]:
    """Those of these memories that the store believes, of any audience: for who saw to that before."""
    beliefs = queries.open_beliefs_of(reader, memory_ids) if memory_ids else {}
    versions = queries.versions_of(reader, [belief.item for belief in beliefs.values()]) if beliefs else {}
    return {memory_id: Target(belief, versions[belief.item]) for memory_id, belief in beliefs.items()}


def merge_in(op: Operation, duplicate: Target, other_id: str) -> None:
    """Closes a memory that says what another says, where its sightings count from now on."""
    belief = duplicate.belief
    before = duplicate.digestible(queries.state_of(op.writer, belief.memory_id))
    event = op.record("merge", belief.memory_id, belief.version, other_id=other_id, before=before)
    closed = queries.close_belief(op.writer, belief, event)
    assert closed, "the owner's lock is held: nobody else can have closed it"
    queries.copy_sightings(op.writer, belief.memory_id, other_id, event)


def settle(op: Operation, review_id: str, states: tuple[str, str], decision: str, by: str) -> None:
    """Brings a question from the first of these states, which it is in, to the second; tells no history."""
    changed = queries.decide_question(op.writer, review_id, states, decision, by)
    assert changed, "the owner's lock is held: nobody else can have decided it"


def follow_undo(op: Operation, undone: Iterable[Act], memory_ids: Sequence[str]) -> None:
    """What an undo means for questions about these memories: decided by what it takes back, a question is
    open again; asked by it, and still open, it is withdrawn.
    """
    calls = sorted({act.operation_id for act in undone})
    for what, review_id, state in queries.asked_and_decided(op.writer, calls, memory_ids) if calls else ():
        then = (ReviewState.OPEN, ReviewState.STALE) if what == "asked" else (state, ReviewState.OPEN)
        if state == then[0] != then[1] and queries.decide_question(
            op.writer, review_id, then, "withdrawn" if what == "asked" else ""
        ):
            told = "withdrew" if what == "asked" else "reopened"
            if then[1] is ReviewState.OPEN:
                _expect_anew(op, review_id, memory_ids)
            op.record("review", memory_ids[0] if memory_ids else "", 0, reason=f"{told} {review_id}")


def derived_id(reader: Reader, *parts: str) -> str:
    """An id that follows from these texts in this store alone: the same each time, and foreseen by nobody."""
    digest = hmac.new(reader.secret_key, "\x1f".join(parts).encode(), hashlib.sha256)
    return str(UUID(bytes=digest.digest()[:16], version=5))


def _expect_anew(op: Operation, review_id: str, memory_ids: Sequence[str]) -> None:
    """A question that is open again expects memories as an undo has put them back."""
    plan = plan_of(queries.plan_stored(op.writer, review_id))
    now = standing_as(op.writer, [memory_id for memory_id in memory_ids if memory_id in plan.expects])
    expects = {**plan.expects, **{memory_id: mark for memory_id, (mark, _) in now.items()}}
    queries.put_plan(op.writer, review_id, plan_text(replace(plan, expects=expects)))


def _question_id(reader: Reader, question: Question) -> str:
    asked = *question.memories, plan_text(question.plan), as_text(question.evidence)
    return derived_id(reader, "review", question.kind, *(question.derived_from or asked))


def _refuse_buried(op: Operation, questions: Sequence[Question]) -> None:
    said = [
        (question.audience, normal_hash(text))
        for question in questions
        for step in question.plan.steps
        for text in step.changes.values()
        if isinstance(text, str)
    ]
    for buried in filter(None, tombstoned(op.writer, said, op.caller) if said else ()):
        raise refused(op, [buried])[0]


def _event_of(op: Operation, review_id: str, question: Question) -> Event:
    first, *others = question.memories or ("",)
    return op.event("review", first, 0, other_id=others[0] if others else "", reason=f"asked {review_id}")
