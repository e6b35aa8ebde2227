"""Every example of the documentation runs, and answers what the page says it does."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from m3_memory.config import load_settings
from tests.docs.pages import ROOT, blocks, name, pages

README = ROOT / "README.md"
PROMISE = "# → "
# What an example may start besides m3. It is not run here: ./test runs this test, ./try has one of its own.
OTHER_PROGRAMS = {"./try", "./test", "pipx", "claude", "python"}

_ID = re.compile(r'"(?:id|memory_id)": "([0-9a-f-]{36})"')


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """The command lines of a page, each with the text that its output is said to hold."""
    for line in "".join(blocks(page, "sh")).splitlines():
        command, _, promise = line.partition(PROMISE)
        if command.strip():
            yield command, promise.strip()


def is_ours(command: str) -> bool:
    return command.startswith("m3 ") or " | m3 " in command


def run(command: str, folder: Path) -> str:
    """Runs a command line as a person types it, with `m3` on the path; returns its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={"M3_HOME": os.environ["M3_HOME"], "HOME": str(folder), "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stderr.decode()}"
    return done.stdout.decode()


@pytest.mark.parametrize("page", [page for page in pages() if any(commands(page))], ids=name)
def test_every_command_of_a_page_works_in_order_and_keeps_its_promise(page: Path, tmp_path: Path) -> None:
    """ID stands for the id that the last write answered."""
    last_id = ""
    for command, promise in commands(page):
        if not is_ours(command):
            assert shlex.split(command, comments=True)[0] in OTHER_PROGRAMS, command
            continue
        printed = run(re.sub(r"\bID\b", last_id, command), tmp_path)
        assert promise in printed, f"{command} printed {printed}"
        if found := _ID.search(printed):
            last_id = found[1]


@pytest.mark.parametrize("host", ["claude", "cursor"])
def test_what_the_readme_gives_a_host_starts_a_server(host: str, tmp_path: Path) -> None:
    """The command line or the entry of the host's file, started as the host starts it, lists tools."""
    command = _claude() if host == "claude" else _cursor(tmp_path)
    asked = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    lines = "\n".join(json.dumps(message) for message in asked)
    answers = run(f"{command} <<'END'\n{lines}\nEND", tmp_path).splitlines()
    assert "memory_search" in {tool["name"] for tool in json.loads(answers[-1])["result"]["tools"]}


def _claude() -> str:
    given = next(line for line in "".join(blocks(README, "sh")).splitlines() if line.startswith("claude "))
    return given.partition(" -- ")[2]


def _cursor(folder: Path) -> str:
    entry = json.loads(blocks(README, "json")[0])["mcpServers"]["m3"]
    words = [entry["command"], *entry["args"]]
    return shlex.join(word.replace("${workspaceFolder}", str(folder)) for word in words)


@pytest.mark.parametrize("page", [page for page in pages() if blocks(page, "toml")], ids=name)
def test_every_settings_file_shown_is_one_that_loads(page: Path, home: Path) -> None:
    """What a page shows of m3_config.toml is accepted, key by key."""
    home.mkdir()
    for shown in blocks(page, "toml"):
        (home / "m3_config.toml").write_text(shown, encoding="utf-8")
        assert load_settings().home == home
