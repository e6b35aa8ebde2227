"""Repositories in every layout git writes, and remotes in every form it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.repository import find_repository, is_folder, normal_remote
from tests.rights import without_root_rights
from tests.unit.git_folders import ORIGIN, REMOTE, git_folder, origin, repository, worktree

SAME = "github.com/acme/atlas"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The test's folder, by its real path."""
    return tmp_path.resolve()


def remote_of(top: Path, config: str) -> str:
    found = find_repository(repository(top, config))
    assert found is not None
    assert found.top == top
    return found.remote


def test_a_folder_belongs_to_the_nearest_repository_above_it(folder: Path) -> None:
    outer = repository(folder / "outer", origin())
    inner = repository(outer / "vendor" / "inner")
    (inner / "src").mkdir()
    (outer / "docs").mkdir()
    assert [
        found and found.top for found in map(find_repository, (outer / "docs", inner / "src", inner))
    ] == [
        outer,
        inner,
        inner,
    ]


def test_a_folder_outside_any_repository_has_none(folder: Path) -> None:
    assert find_repository(folder, never=(Path(folder.anchor),)) is None


def test_an_empty_git_folder_is_no_repository(folder: Path) -> None:
    top = repository(folder / "atlas", origin())
    (top / "sub" / ".git").mkdir(parents=True)
    found = find_repository(top / "sub")
    assert found is not None
    assert found.top == top


@pytest.mark.parametrize("relative", [False, True])
def test_a_worktree_is_its_main_repository(folder: Path, relative: bool) -> None:
    main = repository(folder / "main", origin())
    linked = worktree(folder / "trees" / "feature", main / ".git", relative=relative)
    found = find_repository(linked)
    assert found == find_repository(main)
    assert found is not None
    assert (found.top, found.remote, found.problem) == (main, REMOTE, "")


def test_a_worktree_of_a_bare_repository_is_that_repository(folder: Path) -> None:
    bare = git_folder(folder / "atlas.git", "[core]\n\tbare = true\n")
    linked = worktree(folder / "feature", bare)
    assert find_repository(linked) == find_repository(bare)
    assert find_repository(linked) is not None
    assert [found and found.top for found in (find_repository(linked), find_repository(bare))] == [bare, bare]


def test_a_bare_folder_hidden_beside_its_worktrees_is_the_folder_around_them(folder: Path) -> None:
    hidden = git_folder(folder / "atlas" / ".bare", "[core]\n\tbare = true\n")
    (folder / "atlas" / ".git").write_text("gitdir: ./.bare\n")
    linked = worktree(folder / "atlas" / "feature", hidden)
    for place in (folder / "atlas", linked, hidden):
        found = find_repository(place)
        assert found is not None
        assert found.top == folder / "atlas"


def test_a_submodule_is_a_repository_of_its_own(folder: Path) -> None:
    main = repository(folder / "main", origin())
    git_folder(
        main / ".git" / "modules" / "lib", "[core]\n\tworktree = ../../../lib\n" + ORIGIN.format(url="x:lib")
    )
    (main / "lib").mkdir()
    (main / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n")
    for place in (main / "lib", main / ".git" / "modules" / "lib"):
        found = find_repository(place)
        assert found is not None
        assert (found.top, found.remote) == (main / "lib", "x:lib")


def test_a_git_folder_kept_elsewhere_serves_the_folder_that_points_to_it(folder: Path) -> None:
    git_folder(folder / "store", origin())
    (folder / "work").mkdir()
    (folder / "work" / ".git").write_text(f"gitdir: {folder / 'store'}\r\n")
    found = find_repository(folder / "work")
    assert found is not None
    assert (found.top, found.remote) == (folder / "work", REMOTE)


def test_a_git_folder_that_is_a_link_is_followed(folder: Path) -> None:
    git_folder(folder / "store", origin())
    (folder / "work").mkdir()
    (folder / "work" / ".git").symlink_to(folder / "store", target_is_directory=True)
    found = find_repository(folder / "work")
    assert found is not None
    assert (found.top, found.remote) == (folder / "work", REMOTE)


def test_standing_inside_the_git_folder_is_standing_in_the_repository(folder: Path) -> None:
    main = repository(folder / "main", origin())
    found = find_repository(main / ".git" / "refs")
    assert found is not None
    assert found.top == main


@pytest.mark.parametrize("pointer", ["gitdir: /nowhere", "gitdir: ", "gitdir: a\0b", "gitdir: .git"])
def test_a_pointer_to_nothing_leaves_the_folder_and_says_so(folder: Path, pointer: str) -> None:
    (folder / ".git").write_text(pointer)
    found = find_repository(folder)
    assert found is not None
    assert (found.top, found.remote) == (folder, "")
    assert str(folder) in found.problem


def test_a_file_called_git_that_points_nowhere_is_passed_over(folder: Path) -> None:
    top = repository(folder / "atlas", origin())
    (top / "sub").mkdir()
    (top / "sub" / ".git").write_bytes(b"\xff\xfe no pointer")
    found = find_repository(top / "sub")
    assert found is not None
    assert found.top == top


@pytest.mark.parametrize(
    "config",
    [
        origin(),
        origin().replace("\n", "\r\n"),
        f"\ufeff{origin()}",
        '[remote "origin"] url = git@github.com:acme/atlas.git',
        '[REMOTE "origin"]\n\tURL=git@github.com:acme/atlas.git   ',
        "[remote.origin]\nurl = git@github.com:acme/atlas.git",
        '[remote "origin"] ; main\n url = "git@github.com:acme/atlas.git" # the one',
        '[remote "origin"]\n url = git@github.com:acme/\\\natlas.git',
        '[remote "origin"]\n# url = git@old:acme/old\n;url=x\n url = git@github.com:acme/atlas.git',
        '[remote "origin"]\n url = git@github.com:acme/atlas.git\n url = git@mirror:acme/atlas.git',
        '[remote "origin"]\n url = git@old:acme/old.git\n url =\n url = git@github.com:acme/atlas.git',
        '[remote "upstream"]\n url = x:y\n[remote "origin"]\n pushurl = p:q\n' + f"url = {REMOTE}",
        '[remote "origin"]\n fetch = x\n[core]\n bare = false\n[remote "origin"]\n' + f"url = {REMOTE}",
        '[url "https://elsewhere/"]\n insteadOf = git@github.com:\n[include]\n path = /dev/zero\n' + origin(),
        '[alias]\n x = "!f() { echo \\"[remote \\\\\\"origin\\\\\\"]\\"; }; f"\n' + origin(),
    ],
)
def test_the_remote_is_read_as_git_reads_it(folder: Path, config: str) -> None:
    assert remote_of(folder / "atlas", config) == REMOTE


@pytest.mark.parametrize(
    "config",
    [
        "",
        '[remote "upstream"]\n\turl = git@github.com:acme/atlas.git\n',
        '[remote "Origin"]\n\turl = git@github.com:acme/atlas.git\n',
        '[remote "origin"]\n\tfetch = x\n\turl\n',
        '[branch "origin"]\n\turl = git@github.com:acme/atlas.git\n',
        "[include]\n\tpath = other\n",
        "[remote \x00\x01\x02 garbage ]]]] = = =\n[\n",
    ],
)
def test_without_a_remote_called_origin_there_is_none(folder: Path, config: str) -> None:
    top = folder / "atlas"
    (top / ".git").mkdir(parents=True)
    (top / ".git" / "other").write_text(ORIGIN.format(url=REMOTE))
    assert remote_of(top, config) == ""


@pytest.mark.parametrize("kind", ["missing", "huge", "folder", "pipe"])
def test_settings_that_cannot_be_read_are_no_remote_and_are_said(folder: Path, kind: str) -> None:
    config = repository(folder / "atlas", origin()) / ".git" / "config"
    config.unlink()
    match kind:
        case "huge":
            config.write_text(origin() + "#" * (1 << 20))
        case "folder":
            config.mkdir()
        case "pipe":
            os.mkfifo(config)
        case _:
            pass
    found = find_repository(folder / "atlas")
    assert found is not None
    assert (found.top, found.remote) == (folder / "atlas", "")
    assert str(config.parent) in found.problem


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="dropping root's rights needs Linux")
def test_settings_without_the_right_to_read_them_are_said_too(folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from m3_memory.repository import find_repository;"
        "found = find_repository(Path(sys.argv[1]));"
        "print(found.top, repr(found.remote), bool(found.problem))"
    )
    top = repository(folder / "atlas", origin())
    command = [sys.executable, "-c", program, str(top)]
    outputs: list[str] = []
    for mode in (0o600, 0):
        (top / ".git" / "config").chmod(mode)
        outputs.append(
            subprocess.run(without_root_rights(command), capture_output=True, text=True, check=True).stdout
        )
    assert outputs == [f"{top} '{REMOTE}' False\n", f"{top} '' True\n"]


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/atlas.git",
        "git@github.com:/acme/atlas.git",
        "github.com:acme/atlas",
        "[git@github.com:22]:acme/atlas.git",
        "ssh://git@github.com/acme/atlas.git",
        "ssh://git@github.com:22/acme/atlas.git/",
        "git+ssh://git@github.com/acme/atlas",
        "https://github.com/acme/atlas",
        "https://github.com/acme/atlas.git",
        "https://ann:s3c%2Fr%40t@GitHub.COM:443//acme/atlas.git",
        "https://token@github.com/acme/atlas.git?x=1#y",
        "http://github.com:8080/acme/atlas/",
        "git://github.com/acme/atlas.git",
        " https://github.com/%61cme/atlas ",
        "persistent::https://github.com/acme/atlas",
    ],
)
def test_every_way_to_write_one_address_is_one_project(url: str) -> None:
    assert normal_remote(url) == SAME


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/Acme/Atlas", "github.com/Acme/Atlas"),
        ("git@gitlab.example:group/sub/atlas.git", "gitlab.example/group/sub/atlas"),
        ("ssh://git@host/~ann/atlas.git", "host/~ann/atlas"),
        ("host:~ann/atlas.git", "host/~ann/atlas"),
        ("ssh://git@[::1]:22/srv/atlas.git", "::1/srv/atlas"),
        ("[::1]:srv/atlas.git", "::1/srv/atlas"),
        ("g:atlas", "g/atlas"),
        ("https://host/a::b", "host/a::b"),
        ("https://host/メモ.git", "host/メモ"),
    ],
)
def test_what_tells_projects_apart_is_kept(url: str, name: str) -> None:
    assert normal_remote(url) == name


@pytest.mark.parametrize(
    "url",
    [
        "",
        ".",
        "/srv/atlas.git",
        "../atlas",
        "file:///srv/atlas.git",
        r"C:\work\atlas",
        "c:/work/atlas",
        "a/b:c",
    ],
)
def test_a_folder_of_this_machine_is_no_address(url: str) -> None:
    assert is_folder(url)
    assert normal_remote(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com",
        "https:///x",
        "host:",
        "codecommit::eu-1://atlas",
        "https://h/a%00b",
        "h:" + "x" * 999,
    ],
)
def test_an_address_that_names_nothing_usable_is_none(url: str) -> None:
    assert normal_remote(url) == ""


@given(st.text(max_size=60))
def test_any_text_is_an_address_a_folder_or_nothing(url: str) -> None:
    name = normal_remote(url)
    assert not (name and is_folder(url))
    assert name == "" or ("/" in name and name.isprintable())


@given(st.binary(max_size=200))
def test_no_settings_file_stops_the_search(tmp_path_factory: pytest.TempPathFactory, held: bytes) -> None:
    top = repository(tmp_path_factory.mktemp("any").resolve())
    (top / ".git" / "config").write_bytes(held)
    found = find_repository(top)
    assert found is not None
    assert found.top == top
