"""Places that change: a project gains a remote, is renamed, is cloned, is forked, moves."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from m3_memory.config import Settings
from m3_memory.domains.agents.service import operators, projects
from m3_memory.kernel.clock import ManualClock
from tests.places import Machine, Process
from tests.unit.git_folders import origin, repository, worktree

DAY = 24 * 60 * 60
REMOTE, RENAMED, FORK = "github.com/acme/atlas", "github.com/acme/atlas-two", "github.com/ann/atlas"
WITHOUT_REMOTE = "[core]\n\tbare = false\n"


@pytest.fixture
def machine(settings: Settings, clock: ManualClock) -> Generator[Machine]:
    """A machine with one store; the test runs once per engine."""
    started = Machine(settings, clock)
    yield started
    started.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An ordinary folder, by its real path."""
    made = tmp_path.resolve() / "work"
    made.mkdir()
    return made


def clone(top: Path, remote: str = REMOTE) -> Path:
    """A repository of this remote; one that is there gets it."""
    return repository(top, origin(f"https://{remote}.git"))


def memory(process: Process, content: str = "the release train leaves on Fridays") -> str:
    process.write(content)
    return content


def test_a_project_that_gains_a_remote_keeps_its_memories_and_says_so(machine: Machine, folder: Path) -> None:
    before = machine.start(repository(folder / "atlas"))
    said = memory(before)
    after = machine.start(clone(folder / "atlas"))
    assert after.news() == ["earlier memories of this folder, from before it had a remote, are included"]
    assert after.news() == []
    assert after.found() == {said}
    later = memory(after, "the release notes are written first")
    assert after.found() == {said, later}
    assert before.found() == {said}
    elsewhere = machine.start(clone(folder / "elsewhere"))
    assert elsewhere.found() == {later}


def test_what_a_project_keeps_from_before_its_remote_comes_with_that_names_aliases(
    machine: Machine, folder: Path
) -> None:
    said = memory(machine.start(repository(folder / "first")))
    second = machine.start(repository(folder / "second"))
    second.link(str(folder / "first"))
    assert machine.start(clone(folder / "second")).found() == {said}


def test_a_process_tells_first_and_once_whatever_tool_is_called(machine: Machine, folder: Path) -> None:
    memory(machine.start(repository(folder / "atlas")))
    clone(folder / "atlas")
    for tool, arguments in (
        ("memory_write", {"content": "the release notes are written first", "type": "fact"}),
        ("m3_call", {"tool": "memory_search", "args": {"query": "release"}}),
        ("memory_history", {"memory_id": memory_id_of(machine, folder)}),
    ):
        process = machine.start(folder / "atlas")
        first = process.call(tool, **arguments)
        said = first.get("result", first)
        assert len(said["notices"]) == 1, tool
        assert process.news() == []
        assert "notices" not in process.call("tools_list_domains")


def memory_id_of(machine: Machine, folder: Path) -> str:
    [hit] = machine.start(folder / "atlas").call("memory_search", query="leaves on Fridays", k=1)["hits"]
    return hit["id"]


def test_a_renamed_remote_is_told_with_the_command_and_never_joined_by_itself(
    machine: Machine, clock: ManualClock, folder: Path
) -> None:
    said = memory(machine.start(clone(folder / "atlas")))
    renamed = machine.start(clone(folder / "atlas", RENAMED))
    assert renamed.found() == set()
    [notice] = machine.start(folder / "atlas").news()
    assert REMOTE in notice
    assert notice.endswith(f"m3 project link {REMOTE}")
    clock.advance(2 * DAY)
    assert machine.start(folder / "atlas").news() == [notice]
    renamed.link(REMOTE)
    assert renamed.found() == {said}
    assert machine.start(folder / "atlas").news() == []


def test_a_former_name_is_not_told_for_ever(machine: Machine, clock: ManualClock, folder: Path) -> None:
    memory(machine.start(clone(folder / "atlas")))
    assert machine.start(clone(folder / "atlas", RENAMED)).news() != []
    clock.advance(31 * DAY)
    assert machine.start(folder / "atlas").news() == []


def test_a_name_that_kept_nothing_is_not_missed(machine: Machine, folder: Path) -> None:
    assert machine.start(clone(folder / "atlas")).found() == set()
    assert machine.start(clone(folder / "atlas", RENAMED)).news() == []


def test_a_project_that_loses_its_remote_is_told_of_the_name_it_had(machine: Machine, folder: Path) -> None:
    said = memory(machine.start(clone(folder / "atlas")))
    without = machine.start(repository(folder / "atlas", WITHOUT_REMOTE))
    [notice] = without.news()
    assert REMOTE in notice
    without.link(REMOTE)
    assert without.found() == {said}


def test_another_clone_joins_and_says_where_the_project_is_known_from(
    machine: Machine, clock: ManualClock, folder: Path
) -> None:
    first = machine.start(clone(folder / "first"))
    said = memory(first)
    clock.advance(60)
    second = machine.start(clone(folder / "second"))
    assert second.news() == [f"this folder joins the project {REMOTE}, known from {folder / 'first'}"]
    assert second.found() == {said}
    assert machine.start(folder / "first").news() == []
    clock.advance(2 * DAY)
    assert machine.start(folder / "second").news() == []


def test_a_folder_that_gains_a_known_remote_keeps_its_own_and_joins(machine: Machine, folder: Path) -> None:
    shared = memory(machine.start(clone(folder / "first")))
    own = memory(machine.start(repository(folder / "second")), "the release notes are written first")
    joined = machine.start(clone(folder / "second"))
    assert joined.news() == [
        "earlier memories of this folder, from before it had a remote, are included",
        f"this folder joins the project {REMOTE}, known from {folder / 'first'}",
    ]
    assert joined.found() == {shared, own}
    assert machine.start(folder / "first").found() == {shared}


def test_a_fork_is_another_project_until_the_operator_links_it(machine: Machine, folder: Path) -> None:
    said = memory(machine.start(clone(folder / "atlas")))
    fork = machine.start(clone(folder / "fork", FORK))
    assert (fork.news(), fork.found()) == ([], set())
    fork.link(REMOTE)
    assert fork.found() == {said}


def test_worktrees_are_the_same_project_and_nothing_is_said_of_them(machine: Machine, folder: Path) -> None:
    main = clone(folder / "atlas")
    said = memory(machine.start(main))
    branch = machine.start(worktree(folder / "branch", main / ".git"))
    assert (branch.news(), branch.found()) == ([], {said})


def test_a_submodule_is_a_project_of_its_own(machine: Machine, folder: Path) -> None:
    said = memory(machine.start(clone(folder / "atlas")))
    inner = machine.start(clone(folder / "atlas" / "vendored", FORK))
    assert (inner.news(), inner.found()) == ([], set())
    assert machine.start(folder / "atlas").found() == {said}


def test_a_folder_that_moved_without_a_remote_is_joined_by_its_old_path(
    machine: Machine, folder: Path
) -> None:
    said = memory(machine.start(repository(folder / "old")))
    (folder / "old").rename(folder / "new")
    moved = machine.start(folder / "new")
    assert (moved.news(), moved.found()) == ([], set())
    moved.link(projects.known_name(moved.context(), str(folder / "old"), ""))
    assert moved.found() == {said}


def test_a_project_given_by_its_name_has_no_folder_to_tell_of(machine: Machine, folder: Path) -> None:
    memory(machine.start(clone(folder / "atlas")))
    named = machine.start(REMOTE)
    assert named.news() == []
    assert len(named.found()) == 1


def test_a_place_that_cannot_be_noted_is_told_again(machine: Machine, folder: Path) -> None:
    """Noting waits for nobody: another process holds the lock meanwhile."""
    memory(machine.start(clone(folder / "first")))
    holder = machine.start(folder / "first")
    clone(folder / "second")
    with holder.context().write():
        told = machine.start(folder / "second").news()
    assert told == [f"this folder joins the project {REMOTE}, known from {folder / 'first'}"]
    assert machine.start(folder / "second").news() == told


def test_a_passphrase_that_was_set_is_told_by_every_process_for_a_day(
    machine: Machine, clock: ManualClock, folder: Path
) -> None:
    running = machine.start(clone(folder / "atlas"))
    assert running.news() == []
    operators.set_passphrase(running.context(), "correct horse battery")
    [notice] = machine.start("/").news()
    assert notice.startswith("the operator's passphrase was set at 2026-01-01T00:00:00")
    assert machine.start(folder / "atlas").news() == [notice]
    clock.advance(DAY + 1)
    assert machine.start(folder / "atlas").news() == []
