"""`m3 review`: a person is shown both sides, asked, and proves by the passphrase to be the operator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.terminal import Person
from tests.unit.git_folders import origin, repository

PASSPHRASE = "correct horse battery"
DOCK, PIER = "The ferry leaves from dock 4", "Pier 9 is closed \u202efor repairs"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is Unix's")


@pytest.fixture
def m3(tmp_path: Path) -> CommandLine:
    """A command line standing in a project, searching by words only."""
    return command_line(repository(tmp_path / "atlas", origin()))


@pytest.fixture
def dock(m3: CommandLine) -> str:
    return str(m3.run("memory", "write", DOCK).answer["id"])


@pytest.fixture
def person(m3: CommandLine) -> Person:
    """A person at a terminal, who set the passphrase."""
    found = Person(m3.folder, m3.environment)
    assert found.types("operator", "init", answers=[PASSPHRASE, PASSPHRASE]).code == 0
    return found


def proposed(m3: CommandLine, memory_id: str, act: str = "delete") -> str:
    arguments = f'{{"steps": [{{"act": "{act}", "id": "{memory_id}"}}], "reason": "it was moved"}}'
    return str(m3.run("call", "review_propose", arguments).answer["review_id"])


def state(m3: CommandLine, memory_id: str) -> str:
    answer: dict[str, Any] = m3.run("memory", "get", memory_id).answer
    return str(answer.get("state", "current"))


def test_what_waits_is_in_the_list_and_in_the_status(m3: CommandLine, dock: str) -> None:
    assert m3.run("status").answer["reviews"] == 0
    review_id = proposed(m3, dock)
    (found,) = m3.run("review").answer["reviews"]
    assert (found["review_id"], found["memories"][0]["content"]) == (review_id, DOCK)
    assert m3.run("review", "list").answer == m3.run("review").answer
    assert m3.run("review", "show", review_id).answer["reviews"] == [found]
    assert m3.run("status").answer["reviews"] == 1


def test_a_program_decides_nothing(m3: CommandLine, person: Person, dock: str) -> None:
    review_id = proposed(m3, dock)
    done = m3.run("review", "accept", review_id)
    assert (done.code, done.error["code"]) == (3, "needs_operator")
    assert state(m3, dock) == "current"


def test_a_terminal_without_the_passphrase_decides_nothing(
    m3: CommandLine, person: Person, dock: str
) -> None:
    proposed(m3, dock)
    done = person.types("review", answers=["wrong horse battery"])
    assert (done.code, "needs_operator" in done.shown) == (3, True)
    assert state(m3, dock) == "current"
    assert m3.run("status").answer["reviews"] == 1


def test_a_person_is_asked_about_one_after_the_other_and_types_the_passphrase_once(
    m3: CommandLine, person: Person, dock: str
) -> None:
    pier = str(m3.run("memory", "write", PIER).answer["id"])
    proposed(m3, dock)
    proposed(m3, pier)
    done = person.types("review", answers=[PASSPHRASE, "perhaps", "accept", "r"])
    assert done.code == 0
    assert done.shown.count("passphrase") == 1
    assert DOCK in done.shown
    assert "\u202e" not in done.shown
    assert r"Pier 9 is closed \u202efor repairs" in done.shown
    assert "0 still wait" in done.shown
    assert (state(m3, dock), state(m3, pier)) == ("deleted", "current")


def test_what_is_passed_over_still_waits(m3: CommandLine, person: Person, dock: str) -> None:
    proposed(m3, dock)
    for said in ("skip", "q", ""):
        assert "1 still wait" in person.types("review", answers=[PASSPHRASE, said]).shown
    assert state(m3, dock) == "current"


def test_a_decision_is_taken_back_by_its_question(m3: CommandLine, person: Person, dock: str) -> None:
    review_id = proposed(m3, dock)
    assert person.types("review", "accept", review_id, answers=[PASSPHRASE]).code == 0
    assert state(m3, dock) == "deleted"
    done = person.types("review", "undo", review_id, answers=[PASSPHRASE])
    assert done.code == 0, done.shown
    assert state(m3, dock) == "current"
    assert m3.run("review", "show", review_id).answer["reviews"][0]["state"] == "open"


def test_a_question_is_accepted_in_better_words(m3: CommandLine, person: Person, dock: str) -> None:
    review_id = proposed(m3, dock, "accept")
    lacking = person.types("review", "edit", review_id, answers=[PASSPHRASE])
    assert (lacking.code, "--text" in lacking.shown) == (2, True)
    said = "The ferry leaves from dock 4 in summer"
    done = person.types("review", "edit", review_id, "--text", said, answers=[PASSPHRASE])
    assert done.code == 0, done.shown
    assert m3.run("memory", "get", dock).answer["memory"]["content"] == said


def test_deciding_takes_a_question(m3: CommandLine) -> None:
    assert m3.run("review", "accept").error["code"] == "invalid_argument"
    assert m3.run("review", "erase").code == 2
    assert m3.run("review", "show", "00000000-0000-7000-8000-000000000000").error["code"] == "not_found"
