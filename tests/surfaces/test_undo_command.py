"""`m3 undo`: shown before it is done, asked for at a terminal, and the same call as memory_undo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.terminal import Person
from tests.unit.git_folders import origin, repository

BEGINNING = "2000-01-01"


@pytest.fixture
def m3(tmp_path: Path) -> CommandLine:
    """A command line standing in a project, searching by words only."""
    return command_line(repository(tmp_path / "atlas", origin()))


@pytest.fixture
def written(m3: CommandLine) -> str:
    """The id of a memory written through the command line."""
    found: str = m3.run("memory", "write", "The release is cut from the branch stable").answer["id"]
    return found


def state(m3: CommandLine, memory_id: str) -> str:
    answer: dict[str, Any] = m3.run("memory", "get", memory_id).answer
    return answer.get("state", "current")


def test_a_dry_run_shows_and_changes_nothing(m3: CommandLine, written: str) -> None:
    shown = m3.run("undo", "--agent", "cli", "--since", BEGINNING, "--dry-run").answer
    assert (shown["status"], shown["withdrawn"], shown["memories"][0]["id"]) == ("preview", 1, written)
    assert state(m3, written) == "current"


@pytest.mark.parametrize("way", ["event", "operation", "memory", "agent"])
def test_yes_undoes_what_is_named_in_any_way(m3: CommandLine, written: str, way: str) -> None:
    event = m3.run("memory", "history", written).answer["events"][0]
    named = {
        "event": ["--event", str(event["sequence"])],
        "operation": ["--operation", event["operation_id"]],
        "memory": ["--memory", written],
        "agent": ["--agent=cli", f"--since={BEGINNING}", "--until", "9000-01-01"],
    }
    done = m3.run("undo", *named[way], "--yes").answer
    assert (done["status"], done["withdrawn"]) == ("undone", 1)
    assert state(m3, written) == "withdrawn"


def test_nobody_to_ask_means_nothing_is_done(m3: CommandLine, written: str) -> None:
    error = m3.run("undo", "--memory", written).error
    assert (error["code"], "--yes" in error["hint"]) == ("invalid_argument", True)
    assert state(m3, written) == "current"


def test_errors_are_those_of_the_tool(m3: CommandLine, written: str) -> None:
    for words, code, exit_code in (
        (("--yes",), "invalid_argument", 2),
        (("--agent", "cli", "--yes"), "invalid_argument", 2),
        (("--event", "first", "--yes"), "invalid_argument", 2),
        (("--event", "4711", "--yes"), "not_found", 4),
        (("--memory", written, "--colour", "red"), "invalid_argument", 2),
    ):
        done = m3.run("undo", *words)
        assert (done.error["code"], done.code) == (code, exit_code), words


def test_a_person_sees_what_would_be_undone_and_is_asked(m3: CommandLine, written: str) -> None:
    person = Person(m3.folder, m3.environment)
    for said, changed in (("", "current"), ("n", "current"), ("y", "withdrawn")):
        typed = person.types("undo", "--memory", written, answers=[said])
        assert typed.code == 0
        assert f"withdrawn  {written}  The release is cut" in typed.shown
        assert "Undo this?" in typed.shown
        assert ("Nothing was undone." in typed.shown) is (changed == "current")
        assert state(m3, written) == changed


def test_a_person_reads_what_is_in_the_way_and_is_not_asked(m3: CommandLine, written: str) -> None:
    sequence = m3.run("memory", "history", written).answer["events"][0]["sequence"]
    m3.run("memory", "update", written, "--title", "Branch")
    update = m3.run("memory", "history", written).answer["events"][0]["at"]
    person = Person(m3.folder, m3.environment)
    typed = person.types("undo", "--agent=cli", f"--since={BEGINNING}", f"--until={update}")
    assert (typed.code, "Undo this?" in typed.shown) == (0, False)
    assert f"kept       {written}  event {sequence} (create): changed since by event" in typed.shown
    assert "Nothing was undone." in typed.shown
    for how in ([], ["--dry-run"], ["--yes"]):
        typed = person.types("undo", "--event", str(sequence), *how)
        assert (typed.code, "[undo_blocked]" in typed.shown) == (3, True), how


def test_a_graph_reads_well_on_a_terminal(m3: CommandLine, written: str) -> None:
    other = m3.run("memory", "write", "The branch stable is protected").answer["id"]
    ends = {"from_id": other, "to_id": written, "relationship_type": "supports"}
    m3.run("call", "memory_link", json.dumps(ends))
    code, shown = m3.on_terminal("memory", "graph", written)
    assert code == 0
    assert f"1. The release is cut from the branch stable · note · {written}" in shown
    assert f"  2. The branch stable is protected · note · {other}" in shown
    assert "2 --[supports]--> 1" in shown


def test_a_person_reads_what_ended_in_its_own_words_and_how_to_have_it_back(m3: CommandLine) -> None:
    said = "Callers of memory_get name old_id, and dry_run=true"
    old = m3.run("memory", "write", said).answer["id"]
    code, shown = m3.on_terminal("memory", "supersede", old, "Callers name nothing")
    assert (code, f'it said "{said}"' in shown) == (0, True)
    way_back = f"m3 memory unsupersede {old}"
    assert f"{way_back} gives it its place back" in shown
    assert m3.run(*way_back.split()[1:]).answer["status"] == "restored"
    assert state(m3, old) == "current"
