"""Both hosts' entries, started as real processes beside each other: one memory in a project, none across."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.surfaces.mcp_wire import Wire, call
from tests.surfaces.setup_homes import CURSOR, Home, claude_settings, entry_in, new_home
from tests.unit.git_folders import origin, repository

Start = Callable[[Path], Wire]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home in which both hosts are wired."""
    made = new_home(tmp_path / "home")
    made.has_claude(json.dumps(claude_settings(), indent=2))
    made.has_cursor(CURSOR)
    made.setup()
    return made


@pytest.fixture
def starts(home: Home) -> Iterator[tuple[Start, Start]]:
    """Starts a server in a project as Claude Code does, and as Cursor does."""
    with ExitStack() as running:

        def as_claude_code(project: Path) -> Wire:
            entry = entry_in(home.claude_file)
            environment = entry["env"] | {"CLAUDE_PROJECT_DIR": str(project)}
            return opened([entry["command"], *entry["args"]], project, environment, "claude-code")

        def as_cursor(project: Path) -> Wire:
            """In the root folder; what it knows of the project stands in the arguments."""
            entry = entry_in(home.cursor_file)
            words = [word.replace("${workspaceFolder}", str(project)) for word in entry["args"]]
            return opened([entry["command"], *words], Path("/"), {}, "cursor-vscode")

        def opened(command: list[str], folder: Path, variables: dict[str, str], client: str) -> Wire:
            environment = home.m3.environment | {"M3_EMBEDDER": "off"} | variables
            server = running.enter_context(Wire(command=command, cwd=folder, env=environment))
            server.open(clientInfo={"name": client, "version": "1"})
            return server

        yield as_claude_code, as_cursor


def write(server: Wire, content: str, **more: str) -> None:
    """Writes a memory through a host's server."""
    answer = server.result(call("memory_write", {"content": content, "type": "decision", **more}))
    assert not answer.get("isError"), answer


def found(server: Wire, query: str) -> list[tuple[str, str]]:
    """What a search through a host's server finds, and who wrote it."""
    answer = server.result(call("memory_search", {"query": query}))["structuredContent"]
    return [(hit["content"], hit["agent_id"]) for hit in answer["hits"]]


def test_what_one_host_writes_the_other_finds_in_the_same_project_and_in_no_other(
    tmp_path: Path, starts: tuple[Start, Start]
) -> None:
    as_claude_code, as_cursor = starts
    atlas = repository(tmp_path / "atlas", origin())
    borealis = repository(tmp_path / "borealis", origin("git@github.com:acme/borealis.git"))
    claude_here, cursor_here = as_claude_code(atlas), as_cursor(atlas)
    claude_there, cursor_there = as_claude_code(borealis), as_cursor(borealis)

    write(claude_here, "Releases are cut from main")
    write(cursor_here, "Releases are signed by the build server")
    write(cursor_there, "Releases are built by hand")

    shared = {
        ("Releases are cut from main", "claude-code"),
        ("Releases are signed by the build server", "cursor"),
    }
    for server in (claude_here, cursor_here):
        assert set(found(server, "releases")) == shared
    for server in (claude_there, cursor_there):
        assert found(server, "releases") == [("Releases are built by hand", "cursor")]


def test_what_holds_for_the_user_is_found_through_both_hosts_everywhere(
    tmp_path: Path, starts: tuple[Start, Start]
) -> None:
    as_claude_code, as_cursor = starts
    atlas = repository(tmp_path / "atlas", origin())
    write(as_cursor(atlas), "Ask before you force-push", scope="user")
    elsewhere = repository(tmp_path / "borealis", origin("git@github.com:acme/borealis.git"))
    for server in (as_claude_code(elsewhere), as_cursor(elsewhere), as_claude_code(atlas)):
        assert found(server, "force-push") == [("Ask before you force-push", "cursor")]


def test_cursors_own_variable_names_the_project_where_it_left_ours_as_it_was(
    home: Home, tmp_path: Path, starts: tuple[Start, Start]
) -> None:
    as_claude_code, _ = starts
    atlas = repository(tmp_path / "atlas", origin())
    write(as_claude_code(atlas), "Releases are cut from main")
    entry = entry_in(home.cursor_file)
    for folders, finds in ((str(atlas), True), (f"{atlas},{tmp_path / 'other'}", False)):
        environment = home.m3.environment | {"M3_EMBEDDER": "off", "WORKSPACE_FOLDER_PATHS": folders}
        with Wire(command=[entry["command"], *entry["args"]], cwd="/", env=environment) as server:
            server.open()
            assert bool(found(server, "releases")) == finds
