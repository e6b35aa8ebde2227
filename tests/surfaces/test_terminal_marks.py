"""What a person at the terminal must not miss: disputes, what is lost at once, names that nobody has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.terminal import Person
from tests.unit.git_folders import origin, repository

RIGHT = "correct horse battery"


@pytest.fixture
def m3(tmp_path: Path) -> CommandLine:
    programs = command_line(repository(tmp_path / "atlas", origin()))
    return replace(programs, environment=programs.environment | {"M3_EMBEDDER": "hashing"})


@pytest.fixture
def disputed(m3: CommandLine) -> tuple[str, str]:
    """Two memories that a person is asked about, since both began at once."""
    same = {"type": "fact", "valid_from": "2026-01-01"}
    said = [same | {"content": f"The billing worker retries {number} times."} for number in (5, 8)]
    first, second = m3.run("memory", "write-bulk", "--items", json.dumps(said)).answer["results"]
    return first["id"], second["id"]


def test_a_dispute_is_shown_wherever_the_memory_is(m3: CommandLine, disputed: tuple[str, str]) -> None:
    first, second = disputed
    for command in (["search", "billing worker"], ["list"], ["suggest", "billing worker"]):
        shown = m3.on_terminal("memory", *command)[1]
        assert f"DISPUTED by {second}: verify first" in shown
        assert f"DISPUTED by {first}: verify first" in shown
    hits = {hit["id"]: hit for hit in m3.run("memory", "suggest", "billing worker").answer["hits"]}
    assert (hits[first]["disputed_by"], hits[first]["actionable"]) == ([second], "verify")
    m3.run("memory", "delete", second)
    assert "DISPUTED" not in m3.on_terminal("memory", "list")[1]


def test_a_command_says_that_what_it_wrote_for_its_session_is_gone(m3: CommandLine) -> None:
    written = m3.run("memory", "write", "Tea is at four", "--scope", "session").answer
    assert any("scope session is this one command" in notice for notice in written["notices"])
    assert m3.run("memory", "search", "tea").answer["hits"] == []
    assert "notices" not in m3.run("memory", "write", "Tea is at five", "--scope", "agent").answer
    of_a_host = replace(m3, environment=m3.environment | {"CLAUDE_CODE_SESSION_ID": "s1"})
    written = of_a_host.run("memory", "write", "Tea is at six", "--scope", "session").answer
    assert "notices" not in written
    assert of_a_host.run("memory", "search", "tea is at six").answer["hits"][0]["id"] == written["id"]


def test_a_tool_is_found_by_the_words_of_its_name(m3: CommandLine) -> None:
    assert set(m3.run("gdpr").answer) == {"export", "forget"}
    for words in (["gdpr", "export"], ["admin", "gdpr-export"], ["tombstone", "list"]):
        assert m3.run(*words).error["code"] == "needs_operator"


def test_an_agent_that_never_came_is_isolated_with_a_word_about_its_name(m3: CommandLine) -> None:
    person = Person(m3.folder, m3.environment)
    assert person.types("operator", "init", answers=[RIGHT, RIGHT]).code == 0
    m3.run("memory", "write", "Tea is at four", "--type", "fact")
    assert "no agent came" not in person.types("agents", "isolate", "cli", answers=[RIGHT]).shown
    shown = person.types("agents", "isolate", "clii", answers=[RIGHT]).shown
    assert "no agent came by the name clii yet" in shown
    assert "did you mean cli?" in shown
    notices = m3.run("memory", "list").answer["notices"]
    assert len(notices) == 1
    assert "passphrase was set" in notices[0]
    assert "and 2 more" in notices[0]
