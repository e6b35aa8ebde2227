"""`m3 setup` where things stand in its way: nothing is lost or half done, and it says what to do."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.surfaces.cli.setup import files
from tests.rights import without_root_rights
from tests.surfaces.setup_homes import CURSOR, Home, claude_settings, new_home, rows, statuses


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home."""
    return new_home(tmp_path / "home")


def failed(home: Home, agent: str = "cursor") -> tuple[int, dict[str, Any]]:
    """The exit code of a setup that fails, and the row of the host it failed for."""
    done = home.m3.run("setup", "--agents", agent)
    assert done.err == ""
    row = rows(json.loads(done.out))[agent]
    assert row["status"] == "failed"
    return done.code, row


@pytest.mark.parametrize(
    "text",
    ["{", '{"mcpServers": []}', '["x"]', '{"mcpServers": {}, "mcpServers": {}}', "<xml/>", "[" * 50_000],
)
def test_a_file_that_cant_be_understood_is_left_alone_and_the_entry_is_shown(home: Home, text: str) -> None:
    home.has_cursor(text)
    before = home.contents()
    code, row = failed(home)
    assert (code, row["code"]) == (2, "host_file_invalid")
    pasted = json.loads(row["snippet"])["mcpServers"]["m3"]
    assert pasted["args"][:2] == ["--agent", "cursor"]
    assert home.contents() == before


def test_what_is_pasted_from_the_report_works_as_if_setup_had_written_it(home: Home) -> None:
    home.has_cursor("{")
    home.cursor_file.write_text(failed(home)[1]["snippet"])
    assert statuses(home.setup("--agents", "cursor")) == {"cursor": "unchanged"}


def test_bytes_that_are_no_utf_8_are_left_alone(home: Home) -> None:
    home.has_cursor()
    home.cursor_file.write_bytes('{"a": "é"}'.encode("utf-16"))
    before = home.contents()
    assert failed(home)[1]["code"] == "host_file_invalid"
    assert home.contents() == before


def test_a_read_only_file_is_left_alone_and_the_entry_is_shown(home: Home) -> None:
    home.has_cursor(CURSOR)
    home.cursor_file.chmod(0o444)
    before = home.contents()
    code, row = failed(home)
    assert (code, row["code"]) == (5, "file_unavailable")
    assert "m3" in row["snippet"]
    assert home.contents() == before
    assert home.setup("--remove", "--agents", "cursor")["cursor"]["status"] == "unchanged"


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_folder_that_cant_be_written_or_read_is_told(home: Home, mode: int) -> None:
    home.has_cursor(CURSOR)
    bound = replace(home.m3, command=tuple(without_root_rights(home.m3.command)))
    home.cursor_file.parent.chmod(mode)
    try:
        done = bound.run("setup", "--agents", "cursor")
    finally:
        home.cursor_file.parent.chmod(0o700)
    row = rows(json.loads(done.out))["cursor"]
    assert (done.code, row["code"]) == (5, "file_unavailable")
    assert home.cursor_file.read_text() == CURSOR
    assert [path.name for path in home.cursor_file.parent.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("what", ["a folder", "a pipe", "a loop of links"])
def test_what_is_no_file_is_told_and_left(home: Home, what: str) -> None:
    home.has_cursor()
    match what:
        case "a folder":
            home.cursor_file.mkdir()
        case "a pipe":
            os.mkfifo(home.cursor_file)
        case _:
            home.cursor_file.symlink_to(home.cursor_file)
    code, row = failed(home)
    assert (code, row["code"]) == (5, "file_unavailable")
    assert os.path.lexists(home.cursor_file)


def test_a_file_of_a_size_that_no_settings_have_is_left_alone(home: Home) -> None:
    home.has_cursor()
    with home.cursor_file.open("wb") as file:
        file.truncate(files.LARGEST_BYTES + 1)
    assert failed(home)[1]["code"] == "file_unavailable"
    assert home.cursor_file.stat().st_size == files.LARGEST_BYTES + 1


def test_a_link_stays_a_link_and_what_it_leads_to_keeps_its_mode(home: Home) -> None:
    home.has_cursor()
    real = home.folder / "dotfiles" / "cursor.json"
    real.parent.mkdir()
    real.write_text(CURSOR)
    real.chmod(0o640)
    home.cursor_file.symlink_to("../dotfiles/cursor.json")
    home.setup("--agents", "cursor")
    assert home.cursor_file.is_symlink()
    assert (real.stat().st_mode & 0o777, '"m3": {' in real.read_text()) == (0o640, True)
    home.setup("--remove")
    assert (home.cursor_file.is_symlink(), real.read_text(), real.stat().st_mode & 0o777) == (
        True,
        CURSOR,
        0o640,
    )


def test_a_link_to_a_file_that_is_not_there_yet_stays_one(home: Home) -> None:
    home.has_cursor()
    home.cursor_file.symlink_to(home.folder / "dotfiles" / "cursor.json")
    home.setup("--agents", "cursor")
    assert home.cursor_file.is_symlink()
    home.setup("--remove")
    assert not (home.folder / "dotfiles" / "cursor.json").exists()


def test_one_host_that_fails_does_not_keep_the_other_from_its_entry(home: Home) -> None:
    home.has_claude("{ broken", program=False)
    home.has_cursor(CURSOR)
    done = home.m3.run("setup", "--agents", "claude-code,cursor")
    assert statuses(rows(json.loads(done.out))) == {"claude-code": "failed", "cursor": "wired"}
    assert done.code == 2
    done = home.m3.run("setup", "--remove")
    assert statuses(rows(json.loads(done.out))) == {"claude-code": "failed", "cursor": "removed"}
    assert home.cursor_file.read_text() == CURSOR


def test_a_home_folder_that_cant_be_made_is_told_before_anything_is_touched(home: Home) -> None:
    home.has_cursor(CURSOR)
    (home.folder / ".m3").write_text("a file")
    done = home.m3.run("setup", "--agents", "cursor")
    assert done.code == 5
    assert done.error["hint"]
    assert home.cursor_file.read_text() == CURSOR


def test_a_disk_that_takes_no_more_leaves_the_file_and_nothing_beside_it(home: Home) -> None:
    home.has_cursor(json.dumps({"mcpServers": {}, "padding": "x" * 200_000}))
    before = home.contents()
    limited = replace(home.m3, command=("/bin/sh", "-c", 'ulimit -f 64; exec "$@"', "sh", *home.m3.command))
    done = limited.run("setup", "--agents", "cursor")
    assert (done.code, rows(json.loads(done.out))["cursor"]["code"]) == (5, "file_unavailable")
    assert home.contents() == before
    assert statuses(home.setup("--agents", "cursor")) == {"cursor": "wired"}
    home.setup("--remove")
    assert home.contents() == before


def test_a_user_without_a_home_is_told(home: Home) -> None:
    nowhere = replace(home.m3, environment=home.m3.environment | {"HOME": "/proc/nowhere"})
    done = nowhere.run("setup", "--agents", "cursor")
    assert (done.code, rows(json.loads(done.out))["cursor"]["status"]) == (4, "skipped")


def test_a_server_that_does_not_start_is_told_with_what_it_said(home: Home) -> None:
    home.has_cursor(CURSOR)
    stub = home.folder / "stub"
    stub.mkdir()
    (stub / "sitecustomize.py").write_text(
        "import sys\nif '--agent' in sys.orig_argv: sys.exit('no luck today')"
    )
    silent = replace(home.m3, environment=home.m3.environment | {"PYTHONPATH": str(stub)})
    done = silent.run("setup")
    row = rows(json.loads(done.out))["cursor"]
    assert (done.code, row["status"], row["code"]) == (5, "failed", "server_silent")
    assert "no luck today" in row["detail"]


def test_two_setups_at_once_leave_what_one_leaves(home: Home) -> None:
    home.has_claude(json.dumps(claude_settings(), indent=2), program=False)
    home.has_cursor(CURSOR)
    before = home.contents()
    command = [*home.m3.command, "setup", "--agents", "claude-code,cursor"]
    both = [
        subprocess.Popen(command, cwd=home.folder, env=home.m3.environment, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    reports = [rows(json.loads(process.communicate(timeout=60)[0])) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    for agent in ("claude-code", "cursor"):
        assert sorted(report[agent]["status"] for report in reports) == ["unchanged", "wired"]
    home.setup("--remove")
    assert home.contents() == before


def test_a_file_written_by_another_between_reading_and_writing_is_not_overwritten(home: Home) -> None:
    home.has_cursor("{}")
    snapshot = files.take(home.cursor_file)
    home.cursor_file.write_text('{"mine": 1}')
    before = home.contents()
    with pytest.raises(files.FileChanged):
        files.replace(snapshot, b"{}\n")
    with pytest.raises(files.FileChanged):
        files.remove(snapshot)
    assert home.contents() == before


def test_what_a_failing_command_of_the_host_wrote_meanwhile_is_kept(home: Home) -> None:
    home.has_claude(json.dumps({"numStartups": 1}))
    (home.folder / "claude-refuses").touch()
    assert home.setup("--agents", "claude-code")["claude-code"]["how"] == "file"
    settings = json.loads(home.claude_file.read_text())
    assert (settings["numStartups"], list(settings["mcpServers"])) == (2, ["m3"])
    home.setup("--remove")
    assert json.loads(home.claude_file.read_text()) == {"numStartups": 2}


def test_a_ledger_that_was_spoiled_costs_the_bytes_but_not_the_entry(home: Home) -> None:
    home.has_cursor(CURSOR)
    home.setup()
    (home.folder / ".m3" / "setup" / "ledger.json").write_text("{ spoiled")
    assert statuses(home.setup())["cursor"] == "unchanged"
    assert statuses(home.setup("--remove"))["cursor"] == "removed"
    assert home.cursor_file.read_text() == CURSOR


def test_what_setup_keeps_of_others_files_is_readable_by_their_user_alone(home: Home) -> None:
    home.has_claude(json.dumps(claude_settings()), program=False)
    home.setup("--agents", "claude-code")
    kept = [path for path in (home.folder / ".m3" / "setup").rglob("*") if path.is_file()]
    assert any("kim@example.com" in path.read_text() for path in kept)
    assert {path.stat().st_mode & 0o077 for path in kept} == {0}
