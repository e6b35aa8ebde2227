"""The operator at a real terminal: the passphrase is typed there, unseen, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from m3_memory.kernel.clock import SystemClock
from m3_memory.storage import open_database
from m3_memory.storage.sql import sql
from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.doors import Mcp, facts
from tests.surfaces.mcp_wire import Wire
from tests.surfaces.terminal import Person
from tests.unit.git_folders import repository

FIRST, SECOND = "correct horse battery", "another horse entirely"
PROMPT = "Operator's passphrase: "

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is Unix's")


@pytest.fixture
def programs(tmp_path: Path) -> CommandLine:
    """Programs that start `m3` in a project folder, without a terminal."""
    return command_line(repository(tmp_path / "atlas"))


@pytest.fixture
def person(programs: CommandLine) -> Person:
    """A person at a terminal in the same folder."""
    return Person(programs.folder, programs.environment)


@pytest.fixture
def operator(person: Person) -> Person:
    """A person who set the first passphrase."""
    assert person.types("operator", "init", answers=[FIRST, FIRST]).code == 0
    return person


def test_the_passphrase_is_typed_twice_unseen_and_kept_nowhere(
    person: Person, programs: CommandLine, home: Path
) -> None:
    done = person.types("operator", "init", answers=[FIRST, FIRST])
    assert (done.code, "is_set: true" in done.shown) == (0, True)
    assert done.shown.count(": \n") == 2
    assert FIRST not in done.shown
    assert not [path for path in home.rglob("*") if path.is_file() and FIRST.encode() in path.read_bytes()]
    assert programs.run("operator", "status").answer["is_set"] is True
    again = person.types("operator", "init")
    assert (again.code, "already" in again.shown) == (2, True)


def test_two_that_differ_and_one_too_short_set_nothing(person: Person, programs: CommandLine) -> None:
    differing = person.types("operator", "init", answers=[FIRST, SECOND])
    assert (differing.code, "differ" in differing.shown) == (2, True)
    short = person.types("operator", "init", answers=["short"])
    assert (short.code, short.shown.count(": \n")) == (2, 1)
    assert programs.run("operator", "status").answer["is_set"] is False


def test_a_line_that_never_comes_sets_nothing(person: Person, programs: CommandLine) -> None:
    assert person.types("operator", "init").code == 2
    assert programs.run("operator", "status").answer["is_set"] is False


def test_changing_it_needs_the_old_one_which_then_is_worth_nothing(operator: Person) -> None:
    refused = operator.types("operator", "change", answers=[SECOND])
    assert (refused.code, refused.shown.count(": \n")) == (3, 1)
    assert "needs_operator" in refused.shown
    assert operator.types("operator", "change", answers=[FIRST, SECOND, SECOND]).code == 0
    assert operator.types("operator", "change", answers=[FIRST]).code == 3


def test_without_a_terminal_no_pipe_argument_or_variable_gives_it(
    operator: Person, programs: CommandLine
) -> None:
    assert operator
    piped = subprocess.run(
        [sys.executable, "-m", "m3_memory", "operator", "change"],
        cwd=programs.folder,
        env=programs.environment | {"M3_OPERATOR": FIRST, "M3_PASSPHRASE": FIRST},
        input=f"{FIRST}\n{SECOND}\n{SECOND}\n".encode(),
        capture_output=True,
        check=False,
        timeout=60,
        start_new_session=True,
    )
    assert piped.returncode == 3
    said = json.loads(piped.stderr)
    assert (said["code"], "terminal" in said["message"]) == ("needs_operator", True)
    assert programs.run("operator", "change", FIRST).error["code"] == "invalid_argument"


def test_what_only_the_operator_may_is_done_once_the_passphrase_is_typed(
    operator: Person, programs: CommandLine, home: Path
) -> None:
    programs.run("agent", "heartbeat")
    distrust = ("agent", "set_trust", "--agent_id", "cli", "--trust_score", "0.6", "--json")
    assert programs.run(*distrust).error["code"] == "needs_operator"
    assert operator.types(*distrust, answers=[SECOND]).code == 3
    assert programs.run("agent", "get").answer["trust"] == 1.0
    assert operator.types(*distrust, answers=[FIRST]).code == 0
    assert programs.run("agent", "get").answer["trust"] == 0.6
    with closing(open_database(home / "m3.db", SystemClock())) as database, database.read("local") as reader:
        done_by = (
            "SELECT a.agent_id, h.surface FROM memory_history AS h JOIN agents AS a ON a.agent = h.agent"
        )
        assert reader.rows(sql(done_by + " ORDER BY h.event DESC LIMIT 1")) == [("operator", "cli")]


def test_the_next_first_answer_of_every_process_tells_that_it_was_set(
    operator: Person, programs: CommandLine
) -> None:
    assert operator
    [notice] = programs.run("memory", "search", "anything").answer["notices"]
    assert notice.startswith("the operator's passphrase was set at ")
    assert notice in programs.run("doctor").answer["notes"]


def test_a_running_server_sees_a_linked_project_at_its_next_call(
    operator: Person, programs: CommandLine, tmp_path: Path
) -> None:
    elsewhere = replace(programs, folder=repository(tmp_path / "old"))
    elsewhere.run("memory", "write", "The release train leaves on Fridays", "--type", "fact")
    [old] = [p["name"] for p in elsewhere.run("project", "list").answer["projects"] if p["current"]]
    command = [sys.executable, "-m", "m3_memory"]
    with Wire("--agent", "claude", command=command, cwd=programs.folder, env=programs.environment) as wire:
        server = Mcp(wire)
        assert facts(server, "memory_search", query="release")["hits"] == []
        refused = operator.types("project", "link", old, answers=[SECOND])
        assert refused.code == 3
        assert facts(server, "memory_search", query="release")["hits"] == []
        done = operator.types("project", "link", old, "--json", answers=[FIRST])
        assert done.shown.startswith(f"{PROMPT}\n")
        assert json.loads(done.shown.removeprefix(PROMPT))["aliases"] == [old]
        assert len(facts(server, "memory_search", query="release")["hits"]) == 1
        assert operator.types("project", "unlink", old, answers=[FIRST]).code == 0
        assert facts(server, "memory_search", query="release")["hits"] == []


def test_a_project_is_linked_by_any_form_of_its_name(
    operator: Person, programs: CommandLine, tmp_path: Path
) -> None:
    named = replace(programs, folder=tmp_path)
    written = named.run(
        "--project", "github.com/acme/atlas", "memory", "write", "We release", "--type", "fact"
    )
    assert written.answer["status"] == "created"
    done = operator.types("project", "link", "git@github.com:acme/atlas.git", "--json", answers=[FIRST])
    assert json.loads(done.shown.removeprefix(PROMPT))["aliases"] == ["github.com/acme/atlas"]
    unknown = operator.types("project", "link", "github.com/acme/typo", answers=[FIRST])
    assert (unknown.code, "m3 project list" in unknown.shown) == (2, True)


def test_a_store_on_postgresql_has_an_operator_too(programs: CommandLine, postgres_url: str) -> None:
    there = programs.environment | {"M3_DATABASE_URL": postgres_url}
    person = Person(programs.folder, there)
    assert person.types("operator", "init", answers=[FIRST, FIRST]).code == 0
    assert person.types("operator", "change", answers=[FIRST, SECOND, SECOND]).code == 0
    status = replace(programs, environment=there).run("operator", "status").answer
    assert "changed" in status["last_event"]
    assert os.environ["M3_HOME"] not in status["last_event"]


def test_maintenance_of_everything_is_done_by_hand_once_the_passphrase_is_typed(
    operator: Person, programs: CommandLine
) -> None:
    everything = ("memory", "maintenance", "--everywhere", "--json")
    assert programs.run(*everything).error["code"] == "needs_operator"
    assert operator.types(*everything, answers=[SECOND]).code == 3
    done = operator.types(*everything, answers=[FIRST])
    assert (done.code, '"skipped": []' in done.shown) == (0, True)
