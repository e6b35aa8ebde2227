"""The table of hosts: every row can be found, started and told from others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from m3_memory.integrations.hosts import HOSTS, SERVER_NAME, Entry, Host

HOME = Path("/home/kim")
ENTRY = Entry("/home/kim/.m3/bin/m3", ("--agent", "cursor"), (("M3_HOME", "/srv/m3"),))


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_a_host_names_itself_as_the_agent_and_takes_back_what_it_was_given(host: Host) -> None:
    entry = host.entry("/bin/m3", {"M3_HOME": "/srv/m3"})
    assert entry.arguments[:2] == ("--agent", host.name)
    stored = host.updated({}, entry)
    assert host.is_ours(stored)
    assert host.updated(stored, entry) == stored


def test_no_two_hosts_share_a_name_or_a_file() -> None:
    assert len({host.name for host in HOSTS}) == len(HOSTS)
    assert len({host.file for host in HOSTS}) == len(HOSTS)
    assert re.fullmatch(r"[A-Za-z0-9-]+", SERVER_NAME)


def test_a_folder_that_a_variable_moves_is_found_there() -> None:
    claude = HOSTS[0]
    assert claude.file.below(HOME, {}) == HOME / ".claude.json"
    moved = {"CLAUDE_CONFIG_DIR": "/srv/claude"}
    assert claude.file.below(HOME, moved) == Path("/srv/claude/.claude.json")
    assert claude.folder.below(HOME, moved) == Path("/srv/claude")


@pytest.mark.parametrize(
    ("stored", "ours"),
    [
        ({"command": "m3"}, True),
        ({"command": "/opt/x/bin/mcp-memory"}, True),
        ({"command": "C:\\Users\\kim\\.m3\\bin\\M3.CMD"}, True),
        ({"command": "python3", "args": ["-m", "m3_memory"]}, True),
        ({"command": "npx", "args": ["m3-charts"]}, False),
        ({"command": "/opt/m3/bin/serve"}, False),
        ({"url": "https://m3.example.com"}, False),
        ({"command": 7, "args": 7}, False),
        ("m3", False),
        (None, False),
    ],
)
def test_an_entry_is_ours_by_what_it_starts(stored: object, *, ours: bool) -> None:
    assert HOSTS[0].is_ours(stored) == ours


@pytest.mark.parametrize(
    ("more", "changes"),
    [
        ({}, {}),
        ({"timeout": 5}, {}),
        ({"command": "m3"}, {"command": "/home/kim/.m3/bin/m3"}),
        ({"args": []}, {"args": ["--agent", "cursor"]}),
        ({"env": {"M3_HOME": "/old", "A": "1"}}, {"env": {"A": "1", "M3_HOME": "/srv/m3"}}),
        ({"type": "sse"}, {"type": "stdio"}),
    ],
)
def test_only_what_leads_elsewhere_is_changed(more: dict[str, Any], changes: dict[str, Any]) -> None:
    stored = HOSTS[0].updated({}, ENTRY) | more
    assert HOSTS[0].updated(stored, ENTRY) == stored | changes


def test_a_home_that_is_not_named_any_more_is_taken_out() -> None:
    stored = HOSTS[1].updated({}, ENTRY)
    assert HOSTS[1].updated(stored, ENTRY._replace(environment=())) == stored | {"env": {}}


def test_the_hosts_own_command_is_given_each_word_apart() -> None:
    own = HOSTS[0].own_command
    assert own is not None
    assert own.adding(ENTRY) == [
        *("mcp", "add", "--scope", "user", "m3", "--env", "M3_HOME=/srv/m3", "--"),
        *("/home/kim/.m3/bin/m3", "--agent", "cursor"),
    ]
