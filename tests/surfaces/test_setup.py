"""`m3 setup` on the homes of people who use both hosts: wired, found wired, removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sizes import size
from tests.surfaces.setup_homes import CURSOR, LAYOUTS, Home, claude_settings, entry_in, new_home, statuses

BOTH = ("claude-code", "cursor")
ODD_CLAUDE = json.dumps(claude_settings(), indent=3, ensure_ascii=True).replace("\n", "\r\n") + "\r\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home with spaces and quotes in its path."""
    return new_home(tmp_path / "Kim O'Neill's \"home\"")


def entry(home: Home, agent: str) -> dict[str, Any]:
    """Our entry as that host reads it."""
    return entry_in(home.claude_file if agent == "claude-code" else home.cursor_file)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cursor_is_wired_found_wired_and_given_back_byte_for_byte(home: Home, layout: str) -> None:
    home.has_cursor(LAYOUTS[layout])
    before = home.contents()

    assert statuses(home.setup())["cursor"] == "wired"
    wired = home.contents()
    assert entry(home, "cursor") == {
        "command": str(home.launcher),
        "args": ["--agent", "cursor", "--project", "${workspaceFolder}"],
    }

    assert statuses(home.setup())["cursor"] == "unchanged"
    assert home.contents() == wired

    assert statuses(home.setup("--remove"))["cursor"] == "removed"
    assert home.contents() == before


@pytest.mark.parametrize("layout", LAYOUTS)
def test_wiring_only_adds_in_the_line_ends_of_the_file(home: Home, layout: str) -> None:
    home.has_cursor(LAYOUTS[layout])
    before = home.cursor_file.read_bytes()
    home.setup()
    after = home.cursor_file.read_bytes()
    left = iter(after)
    assert all(byte in left for byte in before)
    assert after.count(b"\r\n") == (after.count(b"\n") if b"\r\n" in before else 0)


@pytest.mark.parametrize("program", [True, False], ids=["by its command", "by its file"])
@pytest.mark.parametrize("settings", [json.dumps(claude_settings(), indent=2), ODD_CLAUDE, None])
def test_claude_code_is_wired_found_wired_and_given_back_byte_for_byte(
    home: Home, settings: str | None, *, program: bool
) -> None:
    home.has_claude(settings, program=program)
    before = home.contents()

    row = home.setup("--agents", "claude-code")["claude-code"]
    assert (row["status"], row["how"]) == ("wired", "claude mcp add" if program else "file")
    assert (
        entry(home, "claude-code").items()
        >= {
            "type": "stdio",
            "command": str(home.launcher),
            "args": ["--agent", "claude-code"],
        }.items()
    )
    wired, calls = home.contents(), home.claude_calls

    assert statuses(home.setup("--agents", "claude-code")) == {"claude-code": "unchanged"}
    assert (home.contents(), home.claude_calls) == (wired, calls)

    assert statuses(home.setup("--agents", "claude-code", "--remove")) == {"claude-code": "removed"}
    assert home.contents() == before


def test_what_others_added_since_stays_when_our_entries_are_removed(home: Home) -> None:
    home.has_claude(json.dumps(claude_settings(), indent=2))
    home.has_cursor(CURSOR)
    home.setup()
    settings = json.loads(home.claude_file.read_text(encoding="utf-8"))
    settings["numStartups"] += 1
    settings["mcpServers"]["later"] = {"type": "http", "url": "https://example.com"}
    home.claude_file.write_text(json.dumps(settings, indent=2, ensure_ascii=False), encoding="utf-8")
    grown = home.cursor_file.read_text().replace("// Shared", "// Not shared")
    home.cursor_file.write_text(grown)

    assert statuses(home.setup("--remove")) == dict.fromkeys(BOTH, "removed")
    del settings["mcpServers"]["m3"]
    assert home.claude_file.read_text(encoding="utf-8") == json.dumps(settings, indent=2, ensure_ascii=False)
    assert home.cursor_file.read_text() == CURSOR.replace("// Shared", "// Not shared")


def test_what_setup_made_around_an_entry_goes_with_it(home: Home) -> None:
    home.has_program("cursor", "exit 1")
    home.has_claude(json.dumps({"numStartups": 1}, indent=2), program=False)
    home.setup("--agents", "claude-code,cursor")
    assert home.cursor_file.exists()
    home.claude_file.write_text(home.claude_file.read_text().replace(": 1", ": 2"))
    home.cursor_file.write_text(home.cursor_file.read_text() + "\n")

    home.setup("--remove")
    assert json.loads(home.claude_file.read_text()) == {"numStartups": 2}
    assert not home.cursor_file.parent.exists()


def test_an_entry_of_ours_that_leads_elsewhere_is_repaired_and_keeps_what_a_person_added(
    home: Home,
) -> None:
    added = {"timeout": 90000, "env": {"M3_HOME": "/gone", "M3_LOG_LEVEL": "debug"}}
    by_hand = {"command": "/old/venv/bin/m3", "args": ["--agent", "cursor"]}
    home.has_cursor(json.dumps({"mcpServers": {"m3": by_hand | added}, "z": 1}, indent=2))
    home.has_claude(json.dumps({"mcpServers": {"m3": {"type": "stdio", **by_hand, "env": {}}}}))

    assert statuses(home.setup()) == dict.fromkeys(BOTH, "repaired")
    assert entry(home, "cursor") == {
        "command": str(home.launcher),
        "args": ["--agent", "cursor", "--project", "${workspaceFolder}"],
        "timeout": 90000,
        "env": {"M3_LOG_LEVEL": "debug"},
    }
    assert entry(home, "claude-code")["command"] == str(home.launcher)
    assert statuses(home.setup()) == dict.fromkeys(BOTH, "unchanged")

    home.setup("--remove")
    assert json.loads(home.cursor_file.read_text()) == {"mcpServers": {}, "z": 1}


def test_what_a_person_added_to_claude_codes_entry_is_not_lost_to_its_command(home: Home) -> None:
    stored = {"type": "stdio", "command": "m3", "args": ["--agent"], "timeout": 5000}
    home.has_claude(json.dumps({"mcpServers": {"m3": stored}}))
    assert home.setup("--agents", "claude-code")["claude-code"]["how"] == "file"
    assert entry(home, "claude-code")["timeout"] == 5000
    assert home.claude_calls == []


def test_a_server_of_our_name_that_is_not_ours_is_left_alone(home: Home) -> None:
    home.has_claude(json.dumps({"mcpServers": {"m3": {"type": "http", "url": "https://m3.example.com"}}}))
    home.has_cursor(json.dumps({"mcpServers": {"m3": {"command": "npx", "args": ["m3-charts"]}}}))
    before = home.contents()
    done = home.m3.run("setup")
    assert done.code == 3
    report = json.loads(done.out)["hosts"]
    assert [(row["status"], row["code"]) for row in report] == [("failed", "server_name_taken")] * 2
    assert statuses(home.setup("--remove")) == dict.fromkeys(BOTH, "unchanged")
    assert home.contents() == before


def test_what_the_hosts_command_changed_besides_is_not_undone_with_the_entry(home: Home) -> None:
    home.has_claude(json.dumps({"numStartups": 1}, indent=2))
    (home.folder / "claude-counts").touch()
    home.setup("--agents", "claude-code")
    home.setup("--remove", "--agents", "claude-code")
    assert json.loads(home.claude_file.read_text()) == {"numStartups": 2}


def test_a_file_that_the_hosts_command_could_not_read_is_not_given_to_it(home: Home) -> None:
    home.has_claude('{\n  // by hand\n  "numStartups": 1,\n}\n')
    before = home.contents()
    assert home.setup("--agents", "claude-code")["claude-code"]["how"] == "file"
    assert home.claude_calls == []
    home.setup("--remove", "--agents", "claude-code")
    assert home.contents() == before


def test_where_the_hosts_command_fails_the_file_is_edited_and_that_is_said(home: Home) -> None:
    home.has_claude(ODD_CLAUDE)
    (home.folder / "claude-refuses").touch()
    row = home.setup("--agents", "claude-code")["claude-code"]
    assert (row["status"], row["how"]) == ("wired", "file")
    assert "this build is broken" in row["detail"]
    assert entry(home, "claude-code")["command"] == str(home.launcher)


def test_claude_codes_folder_may_be_elsewhere(tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    home = new_home(tmp_path / "home", CLAUDE_CONFIG_DIR=str(moved))
    moved.mkdir()
    home.has_claude()
    assert home.setup("--agents", "claude-code")["claude-code"]["file"] == str(moved / ".claude.json")
    assert "m3" in json.loads((moved / ".claude.json").read_text())["mcpServers"]
    assert not home.claude_file.exists()


def test_a_dry_run_says_what_would_be_done_and_leaves_no_trace(home: Home) -> None:
    home.has_claude(ODD_CLAUDE)
    home.has_cursor(CURSOR)
    before = home.contents()
    assert statuses(home.setup("--dry-run")) == dict.fromkeys(BOTH, "wired")
    assert statuses(home.setup("--dry-run", "--remove")) == dict.fromkeys(BOTH, "unchanged")
    assert (home.contents(), home.claude_calls) == (before, [])
    assert not (home.folder / ".m3").exists()
    home.setup()
    wired = home.contents()
    assert statuses(home.setup("--dry-run", "--remove")) == dict.fromkeys(BOTH, "removed")
    assert home.contents() == wired


def test_removing_leaves_the_memories_and_says_so(home: Home) -> None:
    home.has_cursor(CURSOR)
    home.setup()
    written = home.m3.run(
        "memory", "write", "The build runs on Tuesdays", "--type", "note", "--no-embed"
    ).answer["id"]
    answer = home.m3.run("setup", "--remove").answer
    assert "memories stay" in answer["notes"][0]
    assert home.m3.run("memory", "get", written).answer["memory"]["content"] == "The build runs on Tuesdays"
    assert not home.launcher.exists()
    assert not any((home.folder / ".m3" / "setup").glob("**/before/*"))


def test_one_host_can_be_taken_out_while_the_other_stays(home: Home) -> None:
    home.has_claude(ODD_CLAUDE)
    home.has_cursor(CURSOR)
    home.setup()
    assert statuses(home.setup("--remove", "--agents", "cursor")) == {"cursor": "removed"}
    assert home.cursor_file.read_text() == CURSOR
    assert home.launcher.exists()
    assert statuses(home.setup("--agents", "claude-code")) == {"claude-code": "unchanged"}


def test_a_host_of_which_only_one_sign_is_found_is_wired_only_when_named(home: Home) -> None:
    home.cursor_file.parent.mkdir()
    home.cursor_file.write_text(CURSOR)
    done = home.m3.run("setup")
    assert done.code == 4
    skipped = json.loads(done.out)["hosts"]
    assert [row["status"] for row in skipped] == ["skipped", "skipped"]
    assert "m3 setup --agents cursor" in skipped[1]["hint"]
    assert home.cursor_file.read_text() == CURSOR
    assert statuses(home.setup("--agents", "cursor")) == {"cursor": "wired"}


def test_an_agent_that_is_no_host_is_named_with_those_that_are(home: Home) -> None:
    done = home.m3.run("setup", "--agents", "claude-code,vim")
    assert (done.code, done.error["code"]) == (2, "invalid_argument")
    assert "vim" in done.error["message"]
    assert "claude-code, cursor" in done.error["hint"]


def test_a_home_of_ours_that_was_named_is_named_in_every_entry(tmp_path: Path) -> None:
    named = tmp_path / "elsewhere"
    home = new_home(tmp_path / "home", M3_HOME=str(named), M3_EMBEDDER="off")
    home.has_claude(ODD_CLAUDE)
    home.has_cursor(CURSOR)
    answer = home.m3.run("setup").answer
    for agent in BOTH:
        assert entry(home, agent)["env"] == {"M3_HOME": str(named)}
        assert entry(home, agent)["command"] == str(named / "bin" / "m3")
    assert "M3_EMBEDDER" in answer["notes"][0]
    assert statuses(home.setup()) == dict.fromkeys(BOTH, "unchanged")


def test_a_large_file_with_much_history_is_wired_and_given_back(home: Home) -> None:
    home.has_claude(json.dumps(claude_settings(size(5_000, 300_000)), indent=2), program=False)
    before = home.contents()
    assert statuses(home.setup("--agents", "claude-code")) == {"claude-code": "wired"}
    assert entry(home, "claude-code")["command"] == str(home.launcher)
    home.setup("--remove")
    assert home.contents() == before
