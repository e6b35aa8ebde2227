"""`m3 setup` with a person at the terminal: it says what it would do, asks, and shows what came of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.surfaces.setup_homes import CURSOR, Home, new_home, statuses
from tests.surfaces.terminal import Person

PASSPHRASE = "correct horse battery"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is Unix's")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home in which both hosts are used."""
    made = new_home(tmp_path / "home")
    made.has_claude("{}")
    made.has_cursor(CURSOR)
    return made


@pytest.fixture
def person(home: Home) -> Person:
    """Whoever lives there."""
    return Person(home.folder, home.m3.environment)


def test_each_host_is_asked_about_and_only_what_was_agreed_to_is_done(home: Home, person: Person) -> None:
    done = person.types("setup", answers=["n", "", "n"])
    assert done.code == 0
    assert f"Add m3 to Claude Code, in {home.claude_file}" in done.shown
    assert f"Add m3 to Cursor, in {home.cursor_file}" in done.shown
    assert home.claude_file.read_text() == "{}"
    assert statuses(home.setup("--dry-run")) == {"claude-code": "wired", "cursor": "unchanged"}


def test_where_all_is_declined_or_no_answer_comes_nothing_is_touched(home: Home, person: Person) -> None:
    before = home.contents()
    for answers in (["n", "no"], []):
        assert person.types("setup", answers=answers).code == 0
        assert home.contents() == before
        assert not (home.folder / ".m3").exists()


def test_a_host_of_which_only_a_folder_is_found_is_wired_on_a_yes_alone(home: Home, person: Person) -> None:
    (home.folder / "bin" / "cursor").unlink()
    assert "[y/N]" in person.types("setup", "--agents", "claude-code,cursor", answers=["", "", "n"]).shown
    assert home.cursor_file.read_text() == CURSOR
    assert person.types("setup", answers=["yes"]).code == 0
    assert statuses(home.setup("--dry-run")) == {"claude-code": "unchanged", "cursor": "unchanged"}
    assert '"m3": {' in home.cursor_file.read_text()


def test_what_came_of_it_is_a_table_with_what_to_do_next(home: Home, person: Person) -> None:
    shown = person.types("setup", "--non-interactive").shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["Cursor", "wired", str(home.cursor_file)] in lines
    assert "tools listed" in shown
    assert "passphrase" not in shown
    again = person.types("setup").shown
    assert ["Cursor", "unchanged", str(home.cursor_file)] in [line.split() for line in again.splitlines()]


def test_the_entry_to_paste_is_shown_where_a_file_could_not_be_edited(home: Home, person: Person) -> None:
    home.cursor_file.write_text("{")
    done = person.types("setup", "--non-interactive")
    assert done.code == 2
    assert f"What belongs into {home.cursor_file}" in done.shown
    assert '"command": ' in done.shown


def test_a_dry_run_asks_nothing_and_says_that_nothing_was_changed(home: Home, person: Person) -> None:
    before = home.contents()
    done = person.types("setup", "--dry-run")
    assert (done.code, "nothing was changed" in done.shown, "?" in done.shown) == (0, True, False)
    assert "would be wired" in done.shown
    assert home.contents() == before


def test_taking_out_what_was_never_wired_asks_nothing_and_makes_no_store(home: Home, person: Person) -> None:
    done = person.types("setup", "--remove")
    assert (done.code, "the memories stay" in done.shown, "?" in done.shown) == (0, True, False)
    assert home.m3.run("status").code == 4


def test_the_first_setup_offers_to_set_the_operators_passphrase_and_no_later_one(
    home: Home, person: Person
) -> None:
    first = person.types("setup", answers=["", "", "y", PASSPHRASE, PASSPHRASE])
    assert (first.code, "The passphrase is set" in first.shown) == (0, True)
    assert PASSPHRASE not in first.shown
    assert home.m3.run("operator", "status").answer["is_set"] is True
    assert "passphrase" not in person.types("setup").shown


def test_a_passphrase_that_is_not_typed_twice_alike_leaves_the_wiring_as_it_is(
    home: Home, person: Person
) -> None:
    done = person.types("setup", answers=["", "", "y", PASSPHRASE, f"{PASSPHRASE}s"])
    assert (done.code, "m3 operator init" in done.shown) == (0, True)
    assert statuses(home.setup("--dry-run")) == {"claude-code": "unchanged", "cursor": "unchanged"}
