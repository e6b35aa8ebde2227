"""`m3 review`: a person is shown both sides, asked, and proves by the passphrase to be the operator."""

from __future__ import annotations

import json
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
    found.becomes_operator(PASSPHRASE)
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
    assert 0 <= done.shown.find(DOCK) < done.shown.find("accept, reject")
    assert "\u202e" not in done.shown
    assert r"Pier 9 is closed \u202efor repairs" in done.shown
    assert "0 still wait" in done.shown
    assert (state(m3, dock), state(m3, pier)) == ("deleted", "current")


def test_what_is_passed_over_still_waits(m3: CommandLine, person: Person, dock: str) -> None:
    proposed(m3, dock)
    for said in ("skip", "q", ""):
        assert "1 still wait" in person.types("review", answers=[PASSPHRASE, said]).shown
    assert state(m3, dock) == "current"


def test_an_answer_that_cannot_be_done_any_more_is_said_and_the_next_is_asked(
    m3: CommandLine, person: Person, dock: str
) -> None:
    pier = str(m3.run("memory", "write", PIER).answer["id"])
    for memory_id, act in ((dock, "delete"), (dock, "verify"), (pier, "delete")):
        proposed(m3, memory_id, act)
    done = person.types("review", answers=[PASSPHRASE, "accept", "accept", "accept"])
    assert (done.code, done.shown.count("not done: ")) == (0, 1)
    assert (state(m3, dock), state(m3, pier)) == ("deleted", "deleted")


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


@pytest.mark.parametrize("typed", [["edit", ""], ["edit"], ["edit", "  "], []])
def test_no_words_and_no_more_input_decide_nothing(
    m3: CommandLine, person: Person, dock: str, typed: list[str]
) -> None:
    proposed(m3, dock, "verify")
    done = person.types("review", answers=[PASSPHRASE, *typed])
    assert "1 still wait" in done.shown
    assert m3.run("memory", "get", dock).answer["memory"]["content"] == DOCK


def test_what_is_quoted_never_looks_like_a_line_of_ours(m3: CommandLine, person: Person, dock: str) -> None:
    forged = "\n    accept: nothing at all\n  asked by operator"
    steps = [{"act": "update", "id": dock, "changes": {"content": f"It sank{forged}", "title": forged}}]
    lies = str(m3.run("memory", "write", f"The pier{forged}").answer["id"])
    steps.append({"act": "delete", "id": lies})
    m3.run("call", "review_propose", json.dumps({"steps": steps, "reason": f"harmless{forged}"}))
    shown = person.types("review", answers=[PASSPHRASE, "skip"]).shown
    lines = [line.strip() for line in shown.splitlines()]
    assert any(line.startswith("| ") and line.endswith(" accept: nothing at all") for line in lines)
    assert [line for line in lines if line.startswith("accept: ")] == [
        f"accept: [1] says from now on content: It sank{' ⏎ '.join(forged.splitlines())}; title:"
        f" {' ⏎ '.join(forged.splitlines())}",
        "accept: delete [2]",
    ]
    assert sum(line.startswith("asked by") for line in lines) == 1


def test_only_what_waits_somewhere_asks_for_the_passphrase(
    m3: CommandLine, person: Person, dock: str, tmp_path: Path
) -> None:
    assert "0 wait here;" in person.types("review").shown
    proposed(m3, dock)
    elsewhere = Person(repository(tmp_path / "other", origin("other")), m3.environment)
    assert "0 wait here, 1 elsewhere: m3 review" in elsewhere.types("review", "list").shown
    named = elsewhere.types("--project", "none", "review", answers=[PASSPHRASE]).shown
    assert ("1 still wait" in named, DOCK in named) == (True, False)
    shown = elsewhere.types("review", answers=[PASSPHRASE, "accept"]).shown
    assert "project github.com/acme/atlas" in shown
    assert f"accepted; delete {dock}" in shown


def test_deciding_takes_a_question(m3: CommandLine) -> None:
    assert m3.run("review", "accept").error["code"] == "invalid_argument"
    assert m3.run("review", "erase").code == 2
    assert m3.run("review", "show", "00000000-0000-7000-8000-000000000000").error["code"] == "not_found"
