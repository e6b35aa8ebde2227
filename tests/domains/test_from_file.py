"""A memory from a file: of the project's folder or our spool, read once, and nothing else of the disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from m3_memory.app import App
from m3_memory.catalog.dispatch import Outcome, dispatch
from m3_memory.inference.embedder import Embedder
from m3_memory.kernel.caller import Caller
from m3_memory.toolbox import CATALOG
from tests.callers import Hashing
from tests.stored import stored

TEXT = "The harbour's rules: no wake, no anchor."
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are not read there")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the caller's project."""
    made = tmp_path.resolve() / "atlas"
    (made / "docs").mkdir(parents=True)
    return made


@pytest.fixture
def spool(app: App) -> Path:
    made = app.settings.home.resolve() / "spool"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def write(app: App, folder: Path) -> Callable[..., Outcome]:
    """Calls the tool about a path, as an agent of the project."""

    def call(path: object, **arguments: object) -> Outcome:
        caller = Caller("local", "claude", "session-1", project="atlas", folder=str(folder))
        given = {"path": str(path), "type": "procedure", **arguments}
        context = app.context(caller)
        return dispatch(CATALOG, replace(context, notices=()), "memory_write_from_file", given)

    return call


def contents(app: App) -> list[str]:
    return [str(row[5]) for row in stored(app.database)["memory_items"]]


def code(outcome: Outcome) -> str:
    return outcome.error.code if outcome.error else ""


def test_the_text_of_a_file_becomes_a_memory_and_the_file_stays(
    app: App, folder: Path, write: Callable[..., Outcome]
) -> None:
    (folder / "docs" / "rules.md").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    answer = write(folder / "docs" / "rules.md", title="Rules", scope="user").structured
    assert answer is not None
    assert (answer["status"], answer["warnings"], answer["type"]) == ("created", [], "procedure")
    assert contents(app) == [TEXT]
    assert (folder / "docs" / "rules.md").exists()
    again = write(folder / "docs" / "rules.md", title="Rules", scope="user").structured
    assert again is not None
    assert (again["status"], again["id"]) == ("duplicate", answer["id"])


@pytest.mark.parametrize(
    ("asked", "stays"),
    [({}, False), ({"delete_after_read": True}, False), ({"delete_after_read": False}, True)],
)
def test_a_file_of_the_spool_is_removed_once_it_is_stored(
    spool: Path, write: Callable[..., Outcome], asked: dict[str, object], stays: bool
) -> None:
    path = spool / "note.md"
    path.write_text("   \n")
    assert code(write(path, **asked)) == "invalid_content"
    assert path.exists()
    path.write_text(TEXT)
    answer = write(path, **asked).structured
    assert answer is not None
    assert (answer["status"], answer["warnings"], path.exists()) == ("created", [], stays)


def test_a_file_of_the_project_is_never_removed_and_that_is_said_to_who_asked(
    folder: Path, write: Callable[..., Outcome]
) -> None:
    (folder / "rules.md").write_text(TEXT)
    answer = write(folder / "rules.md", delete_after_read=True).structured
    assert answer is not None
    assert "left" in answer["warnings"][0]
    assert (folder / "rules.md").read_text() == TEXT


def test_what_lies_elsewhere_is_refused_whether_it_is_there_or_not(
    app: App, folder: Path, tmp_path: Path, write: Callable[..., Outcome]
) -> None:
    (tmp_path / "outside.md").write_text(TEXT)
    (folder / "inside.md").write_text(TEXT)
    (app.settings.home).mkdir(exist_ok=True, parents=True)
    (app.settings.home / "m3_notes.md").write_text(TEXT)
    elsewhere = [
        tmp_path / "outside.md",
        tmp_path / "nowhere.md",
        folder / ".." / "outside.md",
        folder / "docs" / ".." / "inside.md",
        folder,
        f"{folder}-twin/inside.md",
        app.settings.home / "m3_notes.md",
        "inside.md",
        "/etc/passwd",
        "~/inside.md",
        "",
    ]
    told = {str(path): code(write(path)) for path in elsewhere}
    assert told == dict.fromkeys(told, "refused")
    assert contents(app) == []
    assert code(write(folder / "inside.md")) == ""


def test_no_link_on_the_way_is_followed(
    app: App, folder: Path, tmp_path: Path, write: Callable[..., Outcome]
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "key.md").write_text(TEXT)
    (folder / "key.md").symlink_to(tmp_path / "outside" / "key.md")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "inside.md").symlink_to(folder / "docs" / "rules.md")
    (folder / "docs" / "rules.md").write_text(TEXT)
    for path in ("key.md", "linked/key.md", "inside.md"):
        assert code(write(folder / path)) == "invalid_argument", path
    assert contents(app) == []
    assert code(write(folder / "docs" / "rules.md")) == ""


def test_only_a_regular_file_that_is_there_is_read(folder: Path, write: Callable[..., Outcome]) -> None:
    os.mkfifo(folder / "pipe")
    for path in ("docs", "pipe", "nowhere.md", "docs/nowhere/rules.md", f"{'x' * 300}.md"):
        assert code(write(folder / path)) == "invalid_argument", path


@pytest.mark.parametrize(
    "held",
    [b"", b" \n", b"caf\xe9", b"nul \x00", b"\xed\xa0\x80", b"x" * 200_001, b"x" * 50_001],
    ids=["empty", "blank", "latin-1", "nul", "surrogate", "bytes", "characters"],
)
def test_what_is_no_text_to_store_is_refused(
    app: App, folder: Path, write: Callable[..., Outcome], held: bytes
) -> None:
    (folder / "rules.md").write_bytes(held)
    assert code(write(folder / "rules.md")) == "invalid_content"
    assert contents(app) == []


def test_the_largest_text_fits(app: App, folder: Path, write: Callable[..., Outcome]) -> None:
    (folder / "rules.md").write_text("🚢" * 50_000, encoding="utf-8")
    assert (folder / "rules.md").stat().st_size == 200_000
    assert code(write(folder / "rules.md", embed=False)) == ""
    assert contents(app) == ["🚢" * 50_000]


def test_secrets_in_a_file_are_replaced(app: App, folder: Path, write: Callable[..., Outcome]) -> None:
    (folder / "rules.md").write_text(f"The key is {SECRET}")
    assert "a secret was replaced" in write(folder / "rules.md").text
    assert SECRET not in repr(stored(app.database))


def test_a_caller_in_no_folder_reads_the_spool_alone(app: App, folder: Path, spool: Path) -> None:
    (folder / "rules.md").write_text(TEXT)
    (spool / "rules.md").write_text(TEXT)
    context = app.context(Caller("local", "claude", "session-1", project="atlas"))
    for place, expected in ((folder, "refused"), (spool, "")):
        given = {"path": str(place / "rules.md"), "type": "note"}
        assert code(dispatch(CATALOG, context, "memory_write_from_file", given)) == expected


def test_a_file_that_was_replaced_while_it_was_stored_is_left(app: App, spool: Path) -> None:
    """Only what was read is removed."""
    path = spool / "note.md"
    path.write_text(TEXT)

    class Meanwhile(Hashing):
        def get(self, wait_seconds: float = 1.5) -> Embedder:
            path.unlink()
            path.write_text("another")
            return super().get(wait_seconds)

    context = replace(app.context(Caller("local", "claude", "session-1")), embedder=Meanwhile())
    given = {"path": str(path), "type": "note"}
    answer = dispatch(CATALOG, context, "memory_write_from_file", given).structured
    assert answer is not None
    assert "replaced" in answer["warnings"][0]
    assert (contents(app), path.read_text()) == ([TEXT], "another")
