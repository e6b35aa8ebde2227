"""SQL over questions for a person, as far as writing and reading memories needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model.review import as_text, plan_text
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.predicates import of_user
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.model.review import Question
    from m3_memory.storage.database import Reader, Writer


def open_conflicts(reader: Reader, memory_ids: Sequence[str]) -> dict[str, list[str]]:
    """For each of these memories that an open conflict names: the others it names, by when it was opened.

    A conflict with what is no longer believed, or has ended, or that nobody decided in time, is none.
    """
    if not memory_ids:
        return {}
    found: dict[str, list[str]] = {}
    for one, other in reader.rows(
        sql(
            "SELECT named.memory_id, other.memory_id FROM review_memories AS named"
            " JOIN review_items AS item ON item.review_id = named.review_id"
            " AND item.state = 'open' AND item.kind = 'conflict'"
            " AND item.lapses_at > ?"
            " JOIN review_memories AS other ON other.review_id = named.review_id"
            " AND other.memory_id <> named.memory_id"
            " JOIN memory_validity AS believed ON believed.memory_id = other.memory_id"
            " AND believed.recorded_to = '9999-12-31T23:59:59.999999Z'"
            " AND believed.trust_state <> 'rejected' AND believed.valid_to > ? WHERE",
            reader.now,
            reader.now,
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


def asked_and_decided(
    reader: Reader, operations: Sequence[str], memory_ids: Sequence[str]
) -> list[tuple[str, str, str]]:
    """What these calls asked or decided about these memories, or about none: (what, review id, its state)."""
    found = reader.rows(
        sql(
            "SELECT h.reason, item.review_id, item.state FROM memory_history AS h"
            " JOIN review_items AS item ON item.owner = h.owner AND substr(h.reason, length(h.reason) - 35)"
            " = item.review_id WHERE h.kind = 'review' AND"
        )
        + any_of("h.operation_id", tuple(operations))
        + sql("AND")
        + of_user(reader, "h.owner")
        + sql("AND (EXISTS (SELECT 1 FROM review_memories AS m WHERE m.review_id = item.review_id AND")
        + any_of("m.memory_id", tuple(memory_ids))
        + sql(") OR substr(h.reason, 1, 6) <> 'asked ') ORDER BY h.event")
    )
    return [(text(reason).partition(" ")[0], text(review), text(state)) for reason, review, state in found]


def decide_question(
    writer: Writer, review_id: str, states: tuple[str, str], decision: str = "", decided_by: str = ""
) -> bool:
    """Brings a question from the first of these states to the second; False where it was not in it."""
    now, then = states
    decided_at = "" if then == "open" else writer.store_time
    changed = writer.execute(
        sql("UPDATE review_items SET state = ?, decision = ?, decided_by = ?", then, decision, decided_by)
        + sql(", decided_at = ? WHERE review_id = ? AND state = ?", decided_at, review_id, now)
    )
    return changed == 1


def plan_stored(reader: Reader, review_id: str) -> str:
    """The plan of a question that is there, as it is stored."""
    row = reader.row(sql("SELECT plan FROM review_items WHERE review_id = ?", review_id))
    return text(row[0]) if row else ""


def put_plan(writer: Writer, review_id: str, plan: str) -> None:
    """Gives a question another plan."""
    writer.execute(sql("UPDATE review_items SET plan = ? WHERE review_id = ?", plan, review_id))


def audiences_of_user(reader: Reader) -> list[int]:
    """The numbers of every audience of the reader's user."""
    found = reader.rows(sql("SELECT audience FROM audiences WHERE") + of_user(reader))
    return [number(row[0]) for row in found]


def copy_sightings(writer: Writer, from_id: str, to_id: str, event: int) -> None:
    """Counts what was seen of one memory for another too."""
    writer.execute(
        sql(
            "INSERT INTO memory_corroborations (memory_id, agent_id, conversation_id, agrees, trust,"
            " recorded_at, event) SELECT CAST(? AS TEXT), agent_id, conversation_id, agrees, trust,"
            " recorded_at, CAST(? AS BIGINT) FROM memory_corroborations WHERE memory_id = ?",
            to_id,
            event,
            from_id,
        )
    )


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
