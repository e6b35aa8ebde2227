"""Questions for a person: asked in the transaction that finds what only a person may decide."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from m3_memory.domains.memories import queries
from m3_memory.kernel.clock import plus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3_memory.domains.memories.model.review import Question
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.storage.database import Reader
    from m3_memory.storage.history import Event

LAPSE_SECONDS = 30 * 24 * 60 * 60
"""How long a question waits for a person; then everything stays as it stands."""


class Asked(NamedTuple):
    """A question's id, and whether it was put to a person only now."""

    review_id: str
    is_new: bool


def ask_all(op: Operation, questions: Sequence[Question]) -> list[Asked]:
    """Opens a question for a person for each, in order.

    One that names what it is `derived_from`, and was asked before, is not asked again, whatever was decided;
    any other is not while the same is open. Each new one is an event of the first memory it names.
    """
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
    return [Asked(review_id, review_id in fresh) for review_id in ids]


def disputed(reader: Reader, memory_ids: Iterable[str]) -> dict[str, list[str]]:
    """Of these memories those that an open conflict names, each with the others it names."""
    return queries.open_conflicts(reader, list(memory_ids))


def derived_id(reader: Reader, *parts: str) -> str:
    """An id that follows from these texts in this store alone: the same each time, and foreseen by nobody."""
    digest = hmac.new(reader.secret_key, "\x1f".join(parts).encode(), hashlib.sha256)
    return str(UUID(bytes=digest.digest()[:16], version=5))


def _question_id(reader: Reader, question: Question) -> str:
    return derived_id(reader, "review", question.kind, *(question.derived_from or question.memories))


def _event_of(op: Operation, review_id: str, question: Question) -> Event:
    first, *others = question.memories or ("",)
    return op.event("review", first, 0, other_id=others[0] if others else "", reason=f"asked {review_id}")
