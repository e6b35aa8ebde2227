"""What an answer to the host's own prompt makes of the answer to the call that brought it."""

from __future__ import annotations

from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.catalog.dispatch import Outcome
from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, Question, ReviewKind
from m3_memory.domains.memories.service.operations import operation
from m3_memory.domains.memories.service.reviews import ask_all, believed, standing_as
from m3_memory.launch import Launch
from m3_memory.surfaces.session import Session

TEXTS = ("The gateway is reached by port 4000", "Backups are made at night")


class Host:
    """A client of no name and no roots."""

    name = ""
    roots: tuple[str, ...] = ()


@pytest.fixture
def session(app: App) -> Session:
    """A session of an agent in a project; the test runs once per engine."""
    return Session(Launch(agent="claude", project="atlas"), app)


def called(session: Session, tool: str, **arguments: Any) -> dict[str, Any]:
    found = session.call(tool, arguments, Host())
    assert found.structured is not None, found.text
    return found.structured


def disputed(session: Session) -> tuple[list[str], Outcome]:
    """Two memories of an open conflict, and the outcome of the write that brought it."""
    ids = [called(session, "memory_write", content=text, type="fact")["id"] for text in TEXTS]
    caller, _ = session.app.caller_for(Launch(agent="claude", project="atlas"), "", tuple)
    ctx = session.app.context(caller)
    with ctx.write() as writer:
        op = operation(ctx, writer)
        newer = believed(writer, ids)[ids[1]].belief
        marks = {memory_id: mark for memory_id, (mark, _) in standing_as(writer, ids).items()}
        plan = Plan((PlanStep(Act.SUPERSEDE, ids[0], ids[1], newer.valid_from),), marks)
        (asked,) = ask_all(op, [Question(ReviewKind.CONFLICT, newer.audience, (ids[0], ids[1]), {}, plan)])
    written: dict[str, Any] = {"id": ids[1], "status": "disputed", "superseded": [], "warnings": []}
    return ids, Outcome({**written, "review_id": asked.review_id}, "")


def states(session: Session, ids: list[str]) -> list[str]:
    return [called(session, "memory_get", id=memory_id).get("state", "current") for memory_id in ids]


@pytest.mark.parametrize(
    ("decision", "status", "left"),
    [
        ("accept", "superseding", ["superseded", "current"]),
        ("reject", "created", ["current", "current"]),
        ("withdraw", "created", ["current", "deleted"]),
    ],
)
def test_the_answer_says_what_a_person_decided(
    session: Session, decision: str, status: str, left: list[str]
) -> None:
    ids, outcome = disputed(session)
    settled = session.settle(outcome, decision, Host()).structured
    assert settled is not None
    assert (settled["status"], states(session, ids)) == (status, left)
    assert "a person answered" in settled["warnings"][0]
    assert settled["superseded"] == (ids[:1] if decision == "accept" else [])


def test_an_answer_that_comes_too_late_changes_nothing(session: Session) -> None:
    ids, outcome = disputed(session)
    called(session, "memory_delete", id=ids[0])
    assert session.settle(outcome, "accept", Host()) == outcome
    assert states(session, ids) == ["deleted", "current"]
