"""SQL over questions for a person, as far as writing and reading memories needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model.review import as_text, plan_text
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.model.review import Question
    from m3_memory.storage.database import Reader, Writer


def open_conflicts(reader: Reader, memory_ids: Sequence[str]) -> dict[str, list[str]]:
    """For each of these memories that an open conflict names: the others it names, by when it was opened."""
    if not memory_ids:
        return {}
    found: dict[str, list[str]] = {}
    for one, other in reader.rows(
        sql(
            "SELECT named.memory_id, other.memory_id FROM review_memories AS named"
            " JOIN review_items AS item ON item.review_id = named.review_id"
            " AND item.state = 'open' AND item.kind = 'conflict'"
            " JOIN review_memories AS other ON other.review_id = named.review_id"
            " AND other.memory_id <> named.memory_id WHERE"
        )
        + any_of("named.memory_id", tuple(memory_ids))
        + sql("ORDER BY item.opened_at, item.review_id, other.place")
    ):
        found.setdefault(text(one), []).append(text(other))
    return found


def asked_already(reader: Reader, review_ids: Sequence[str]) -> dict[str, str]:
    """Which of these questions were put to a person before, each with its state."""
    if not review_ids:
        return {}
    statement = sql("SELECT review_id, state FROM review_items WHERE") + any_of(
        "review_id", tuple(review_ids)
    )
    return {text(review_id): text(state) for review_id, state in reader.rows(statement)}


def insert_questions(writer: Writer, asked: Sequence[tuple[str, Question, int]], lapses_at: str) -> None:
    """Puts questions to a person: each with its id and the event that asked it."""
    insert_rows(
        writer,
        sql(
            "INSERT INTO review_items (review_id, owner, audience, kind, evidence, plan, state, decision,"
            " decided_by, decided_at, opened_at, lapses_at, opened_by)"
        ),
        [
            (
                *(review_id, writer.owner, question.audience, question.kind.value),
                *(as_text(question.evidence), plan_text(question.plan)),
                *("open", "", "", "", writer.store_time, lapses_at, event),
            )
            for review_id, question, event in asked
        ],
    )
    insert_rows(
        writer,
        sql("INSERT INTO review_memories (review_id, place, memory_id)"),
        [
            (review_id, place, memory_id)
            for review_id, question, _ in asked
            for place, memory_id in enumerate(question.memories)
        ],
    )
