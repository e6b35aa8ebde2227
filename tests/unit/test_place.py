"""Where a caller stands, by launch, host, client and folder; repositories are in test_repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from m3_memory.config import HostEnvironment
from m3_memory.errors import InvalidArgument
from m3_memory.place import Place, find_place, is_named
from tests.unit.git_folders import git_folder, origin, repository, worktree

NOWHERE = HostEnvironment()
"""A system without home and temporary folders, so that the test's own are ordinary ones."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An ordinary folder, by its real path."""
    made = tmp_path.resolve() / "work"
    made.mkdir()
    return made


def test_the_launch_goes_before_the_host_the_host_before_the_client_and_the_folder_is_last(
    folder: Path,
) -> None:
    named, hosted, rooted, here = [str(folder / name) for name in ("named", "hosted", "rooted", "here")]
    for path in (named, hosted, rooted, here):
        Path(path).mkdir()
    host = HostEnvironment(hosted, "CLAUDE_PROJECT_DIR")
    roots = (Path(rooted).as_uri(),)
    assert find_place(named, host, roots, here) == Place(named, "--project", folder=named)
    assert find_place("", host, roots, here) == Place(hosted, "CLAUDE_PROJECT_DIR", folder=hosted)
    assert find_place("", NOWHERE, roots, here) == Place(rooted, "the client's root", folder=rooted)
    assert find_place("", NOWHERE, (), here) == Place(here, "the working directory", folder=here)


def test_without_anything_else_the_process_stands_where_it_was_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert find_place("", NOWHERE).project == str(folder)


def test_several_roots_name_no_place(folder: Path) -> None:
    (folder / "other").mkdir()
    roots = (folder.as_uri(), (folder / "other").as_uri())
    assert find_place("", NOWHERE, roots, str(folder / "other")).source == "the working directory"


def test_roots_that_are_no_folders_are_passed_over(folder: Path) -> None:
    (folder / "my work").mkdir()
    roots = ("https://example.org/", f"{folder.as_uri()}/my%20work")
    assert find_place("", NOWHERE, roots, "/").project == str(folder / "my work")


@pytest.mark.parametrize("text", ["${workspaceFolder}", "$CLAUDE_PROJECT_DIR", "%CD%"])
def test_a_variable_left_unexpanded_counts_as_absent_and_is_said(folder: Path, text: str) -> None:
    by_launch = find_place(text, NOWHERE, (), str(folder))
    by_host = find_place("", HostEnvironment(text, "CLAUDE_PROJECT_DIR"), (), str(folder))
    assert by_launch.project == by_host.project == str(folder)
    assert [text in notice for notice in by_launch.notices] == [True]
    assert "--project" in by_launch.notices[0]
    assert "CLAUDE_PROJECT_DIR" in by_host.notices[0]
    assert not is_named(text, HostEnvironment(text, "CLAUDE_PROJECT_DIR"))
    assert is_named(text, HostEnvironment(str(folder), "CLAUDE_PROJECT_DIR"))


def test_a_plain_word_is_a_name_even_where_a_folder_is_called_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "atlas").mkdir()
    monkeypatch.chdir(folder)
    assert find_place("atlas", NOWHERE).project == "atlas"
    assert find_place("./atlas", NOWHERE).project == str(folder / "atlas")


def test_the_address_of_a_remote_names_the_project_its_clones_have(folder: Path) -> None:
    clone = repository(folder / "clone", origin("ssh://git@GitHub.com:22/acme/atlas.git"))
    here = find_place("", NOWHERE, (), str(clone)).project
    for address in (
        "https://github.com/acme/atlas",
        "git@github.com:acme/atlas.git",
        "github.com/acme/atlas",
    ):
        assert find_place(address, NOWHERE).project == here == "github.com/acme/atlas"


@pytest.mark.parametrize("name", ["   ", "a\x1bb", "a\nb", "x" * 1001])
def test_what_can_be_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument):
        find_place(name, NOWHERE)


def test_a_name_in_any_script_is_one_however_it_was_typed() -> None:
    assert (
        find_place("caf\u0065\u0301", NOWHERE).project == find_place("caf\u00e9", NOWHERE).project == "café"
    )


def test_a_folder_that_is_not_there_names_a_place_of_its_own_and_is_said(folder: Path) -> None:
    place = find_place(str(folder / "gone"), NOWHERE)
    assert place.project == str(folder / "gone")
    assert str(folder / "gone") in place.notices[0]


def test_a_folder_reached_through_a_link_is_the_folder_itself(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real", target_is_directory=True)
    assert find_place(str(folder / "link"), NOWHERE).project == str(folder / "real")


def test_home_is_no_project_and_its_folders_are_their_own(folder: Path) -> None:
    repository(folder, origin())  # settings of the home folder kept in git
    (folder / "atlas").mkdir()
    host = HostEnvironment(home=str(folder))
    at_home = find_place("~", host)
    assert at_home.project == ""
    assert "home" in at_home.notices[-1]
    atlas = str(folder / "atlas")
    assert find_place("~/atlas", host) == Place(atlas, "--project", folder=atlas)


def test_a_worktree_of_what_is_kept_in_home_is_its_own_folder(folder: Path) -> None:
    home = repository(folder / "home", origin())
    linked = worktree(folder / "linked", home / ".git")
    assert find_place(str(linked), HostEnvironment(home=str(home))).project == str(linked)
    assert find_place(str(linked), NOWHERE).project == "github.com/acme/atlas"


def test_the_root_is_no_project(folder: Path) -> None:
    place = find_place(folder.anchor, NOWHERE)
    assert place.project == ""
    assert "root" in place.notices[0]


def test_a_temporary_folder_and_plain_folders_below_it_are_no_project(folder: Path) -> None:
    host = HostEnvironment(temporary=(str(folder),))
    (folder / "deep" / "er").mkdir(parents=True)
    for path in (folder, folder / "deep", folder / "deep" / "er"):
        place = find_place(str(path), host)
        assert place.project == ""
        assert "temporary" in place.notices[0]
    assert find_place(str(folder.parent), host).project == str(folder.parent)


def test_a_repository_below_a_temporary_folder_is_a_project(folder: Path) -> None:
    host = HostEnvironment(temporary=(str(folder),))
    with_origin = repository(folder / "clone", origin())
    without = repository(folder / "fresh")
    (without / "src").mkdir()
    assert find_place(str(with_origin), host).project == "github.com/acme/atlas"
    assert find_place(str(without / "src"), host).project == str(without)


def test_a_temporary_folder_inside_a_repository_belongs_to_it(folder: Path) -> None:
    top = repository(folder / "atlas")
    (top / "tmp" / "run").mkdir(parents=True)
    host = HostEnvironment(temporary=(str(top / "tmp"),))
    assert find_place(str(top / "tmp" / "run"), host).project == str(top)


def test_a_working_directory_that_was_removed_is_no_project(folder: Path) -> None:
    program = (
        "import os, sys; from m3_memory.config import HostEnvironment;"
        "from m3_memory.place import find_place;"
        "os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); place = find_place('', HostEnvironment());"
        "print(repr(place.project), len(place.notices))"
    )
    doomed = folder / "doomed"
    doomed.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program, str(doomed)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "'' 1\n"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep file names as text")
def test_a_folder_whose_name_is_no_text_has_a_name_every_store_can_keep(folder: Path) -> None:
    odd = folder / os.fsdecode(b"\xff\xfe")
    odd.mkdir()
    project = find_place(str(odd), NOWHERE).project
    assert project.encode() == os.fsencode(folder) + rb"/\xff\xfe"


def test_a_loop_of_links_is_no_project(folder: Path) -> None:
    (folder / "a").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    assert find_place(str(folder / "a"), NOWHERE).project in ("", str(folder / "a"))


def test_what_cannot_be_read_of_a_repository_is_said(folder: Path) -> None:
    broken = folder / "broken"
    broken.mkdir()
    (broken / ".git").write_text("gitdir: /nowhere/at/all\n")
    place = find_place(str(broken), NOWHERE)
    assert place.project == str(broken)
    assert str(broken) in place.notices[0]


def test_a_clone_of_a_local_repository_is_the_same_project(folder: Path) -> None:
    upstream = repository(folder / "atlas", origin())
    first = repository(folder / "first", origin(str(upstream)))
    second = repository(folder / "second", origin(first.as_uri()))
    assert find_place(str(second), NOWHERE).project == "github.com/acme/atlas"


def test_clones_of_a_bare_repository_on_this_machine_share_its_path(folder: Path) -> None:
    bare = git_folder(folder / "atlas.git", "[core]\n\tbare = true\n")
    remotes = (str(bare), str(bare.with_suffix("")), "../atlas.git", bare.as_uri())
    clones = [repository(folder / f"clone{n}", origin(remote)) for n, remote in enumerate(remotes)]
    assert {find_place(str(clone), NOWHERE).project for clone in (bare, *clones)} == {str(bare)}


def test_a_local_remote_that_is_gone_still_names_the_project(folder: Path) -> None:
    clones = [repository(folder / name, origin(str(folder / "gone.git"))) for name in ("one", "two")]
    assert {find_place(str(clone), NOWHERE).project for clone in clones} == {str(folder / "gone.git")}


def test_repositories_that_name_each_other_come_to_an_end(folder: Path) -> None:
    repository(folder / "a", origin(str(folder / "b")))
    repository(folder / "b", origin(str(folder / "a")))
    own = repository(folder / "own", origin("."))
    assert find_place(str(folder / "a"), NOWHERE).project in (str(folder / "a"), str(folder / "b"))
    assert find_place(str(own), NOWHERE).project == str(own)


@pytest.mark.parametrize(
    ("address", "project"),
    [
        ("https://bob:hunter2pw@example.com", "example.com"),
        ("https://bob:hunter2pw@Example.com:8443/?a=b", "example.com"),
        ("bob:hunter2pw@host", "host"),
        ("bob:hunter2pw@host:org/repo.git", "host/org/repo"),
        ("bob:hunter2pw@example.com/org/repo", "example.com/org/repo"),
        ("https://hunter2pw@github.com", "github.com"),
        ("hunter2pw@github.com", "github.com"),
        ("hunter2pw@github.com/org/repo", "github.com/org/repo"),
        ("hunter2pw@host:", "host:"),
        ("https://bob:hunter2pw/x@example.com/org/repo", "example.com/org/repo"),
        ("ssh://bob:hun@ter2pw@example.com:22", "example.com"),
        ("https::https://bob:hunter2pw@example.com", "example.com"),
        ("git@host:org/repo@v2", "host/org/repo@v2"),
        ("@org/package", "@org/package"),
        ("package@1.2", "package@1.2"),
    ],
)
def test_no_password_becomes_part_of_a_projects_name(folder: Path, address: str, project: str) -> None:
    assert find_place(address, NOWHERE).project == project
    cloned = find_place(str(repository(folder / "cloned", origin(address))), NOWHERE)
    assert "ter2pw" not in repr((cloned, find_place(address, NOWHERE)))


def test_an_address_of_nothing_but_credentials_is_no_name() -> None:
    with pytest.raises(InvalidArgument):
        find_place("ssh://bob:hunter2pw@", NOWHERE)


def test_a_folder_that_none_can_be_is_no_project_and_said_so() -> None:
    place = find_place("file:///%00", NOWHERE)
    assert place.project == ""
    assert "no project: this is no place;" in place.notices[0]
