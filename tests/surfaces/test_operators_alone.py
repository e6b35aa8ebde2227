"""What is the operator's alone is nobody else's, whichever door is tried: a terminal proves nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from m3_memory.catalog.tool import Effect
from m3_memory.kernel.clock import SystemClock
from m3_memory.storage import open_database
from m3_memory.toolbox import CATALOG
from tests.stored import stored
from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.doors import CallCommand, Door, Mcp, Nested, VerbCommand, error, flags
from tests.surfaces.mcp_wire import Wire
from tests.surfaces.terminal import Person
from tests.unit.git_folders import repository

RIGHT, WRONG = "correct horse battery", "another horse entirely"
OURS = tuple(tool for tool in CATALOG.tools if tool.effect is Effect.OPERATE)
COMMANDS = (
    "agents isolate cli",
    "agents join cli",
    "agents grant cli widen",
    "agents revoke cli widen",
    "agents trust cli 0.5",
    "audit verify --whole-store",
    "audit export -",
    "project list --all",
    "project link other",
    "project unlink other",
    "project merge other another",
    "operator change",
    "export - --whole-store",
    "import lines.jsonl --operator",
    "move copy.db",
    "doctor --accept-head",
)
"""Commands that are no tools, and ask for the passphrase."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is Unix's")


@pytest.fixture
def programs(tmp_path: Path) -> CommandLine:
    """Programs that start `m3` in a project folder, where a memory was written and an operator is set."""
    made = command_line(repository(tmp_path / "atlas"))
    (made.folder / "lines.jsonl").write_text(json.dumps({"content": "said in a file", "type": "fact"}))
    person = Person(made.folder, made.environment)
    person.becomes_operator(RIGHT)
    made.run("memory", "write", "The release train leaves on Fridays", "--type", "fact")
    return made


@pytest.fixture
def unchanged(programs: CommandLine, home: Path) -> Generator[None]:
    """Whatever the test tries, the store holds what it held."""
    assert programs

    def held() -> dict[str, Any]:
        with closing(open_database(home / "m3.db", SystemClock())) as database:
            return stored(database)

    before = held()
    yield
    assert held() == before


@pytest.mark.case("B61")
@pytest.mark.parametrize("answers", [(), (WRONG,)])
@pytest.mark.usefixtures("unchanged")
def test_at_a_pseudo_terminal_no_command_is_done_without_the_passphrase(
    programs: CommandLine, answers: tuple[str, ...]
) -> None:
    """Issue 4, point 5; `gateway.model_cannot_claim_human_authority`. Case B61."""
    person = Person(programs.folder, programs.environment)
    for command in COMMANDS:
        done = person.types(*command.split(), answers=answers)
        refused = "needs_operator" in done.shown or (not answers and "did not end" in done.shown)
        assert (done.code in (2, 3), refused) == (True, True), (command, done)
    assert not (programs.folder / "copy.db").exists()


@pytest.mark.usefixtures("unchanged")
def test_at_a_pseudo_terminal_no_tool_is_run_without_the_passphrase(programs: CommandLine) -> None:
    """Issue 4, point 5: every operating tool there is, by its verb and by `m3 call`."""
    person = Person(programs.folder, programs.environment)
    assert OURS
    for tool in OURS:
        by_verb = (tool.domain, tool.name, *flags(tool.example))
        for command in (by_verb, ("call", tool.name, json.dumps(tool.example))):
            done = person.types(*command, answers=[WRONG])
            assert (done.code, "needs_operator" in done.shown) == (3, True), (command, done)


@pytest.mark.usefixtures("unchanged")
def test_without_a_terminal_no_command_is_done(programs: CommandLine) -> None:
    for command in COMMANDS:
        done = programs.run(*command.split(), stdin=f"{RIGHT}\n{RIGHT}\n")
        assert (done.code, json.loads(done.err)["code"]) == (3, "needs_operator"), command


@pytest.mark.case("B61")
@pytest.mark.parametrize("door", ["mcp", "mcp-modern", "m3_call", "m3 call", "m3 verb"])
@pytest.mark.usefixtures("unchanged")
def test_no_door_runs_what_is_the_operators(programs: CommandLine, door: str) -> None:
    """`gateway.no_bypass_path`. Case B61: stdio of both eras, the dispatcher, both forms of commands."""
    command = [sys.executable, "-m", "m3_memory"]
    with Wire(
        "--agent", "operator-like", command=command, cwd=programs.folder, env=programs.environment
    ) as wire:
        served = Mcp(wire, is_modern=door == "mcp-modern")
        doors: dict[str, Door] = {
            "m3_call": Nested(served),
            "m3 call": CallCommand(),
            "m3 verb": VerbCommand(),
        }
        for tool in OURS:
            refused = error(doors.get(door, served), tool.name, **tool.example)
            assert refused["code"] == "needs_operator", tool.name


def test_the_same_commands_are_done_once_the_passphrase_is_typed(programs: CommandLine) -> None:
    """The control: what was refused above is refused for nothing but the passphrase."""
    person = Person(programs.folder, programs.environment)
    for command in COMMANDS[:8]:
        done = person.types(*command.split(), answers=[RIGHT])
        assert done.code == 0, (command, done)
