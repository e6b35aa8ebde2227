"""What a real process says of its place: in its first answer, whichever tool that is, and not again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.doors import Mcp
from tests.surfaces.mcp_wire import Wire
from tests.unit.git_folders import origin, repository

SAID = "earlier memories of this folder, from before it had a remote, are included"
M3 = [sys.executable, "-m", "m3_memory"]


@pytest.fixture
def gained(tmp_path: Path) -> CommandLine:
    """Programs in a repository that has a remote since something was written there."""
    programs = command_line(repository(tmp_path / "atlas"))
    programs.run("memory", "write", "The release train leaves on Fridays", "--type", "fact")
    repository(tmp_path / "atlas", origin())
    return programs


@pytest.mark.parametrize("is_modern", [False, True])
def test_a_server_says_it_once_in_text_and_structure(gained: CommandLine, is_modern: bool) -> None:
    with Wire("--agent", "claude", command=M3, cwd=gained.folder, env=gained.environment) as wire:
        server = Mcp(wire, is_modern=is_modern)
        refused = server.ask("memory_get", {"id": "00000000-0000-7000-8000-000000000000"})
        assert refused.facts is None
        first = server.ask("memory_search", {"query": "release"})
        assert first.facts is not None
        assert (first.facts["notices"], SAID in first.text) == ([SAID], True)
        assert len(first.facts["hits"]) == 1
        second = server.ask("memory_search", {"query": "release"})
        assert second.facts is not None
        assert ("notices" in second.facts, SAID in second.text) == (False, False)


def test_a_person_reads_it_below_the_answer(gained: CommandLine) -> None:
    code, shown = gained.on_terminal("memory", "search", "release")
    assert code == 0
    assert shown.rstrip().endswith(f"note: {SAID}")


def test_a_tool_that_needs_no_store_opens_none_to_say_it(gained: CommandLine, home: Path) -> None:
    for path in home.iterdir():
        path.unlink()
    assert "notices" not in gained.run("call", "tools_list_domains").answer
    assert [*home.iterdir()] == []
