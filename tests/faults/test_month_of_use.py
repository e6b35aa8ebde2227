"""After a month of use every way in counts the same, and the store is an ordinary, sound database."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.kernel.clock import SystemClock
from m3_memory.storage.backup import back_up
from tests.faults.month import EVERYWHERE, Diary, Hand, by_server, in_process, listed
from tests.faults.products import M3, environment, sound_counts
from tests.migrations.story import GOLDEN
from tests.sizes import size
from tests.unit.git_folders import origin, repository

AGENTS = ("claude-code", "cursor")
SESSIONS = size(6, 20)
WRITES = size(90, 2000)
FIRST_RELEASE = "0.1.0"
FIRST_STORE = {"all": 11, "current": 7}
"""What the store of the first release holds that these repositories do not show."""

_SHELL = """
import sqlite3, sys
store = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(store.execute("PRAGMA integrity_check").fetchone()[0])
print(store.execute("SELECT count(DISTINCT memory_id) FROM memory_items").fetchone()[0])
"""


@pytest.fixture
def repositories(tmp_path: Path) -> dict[str, Path]:
    """Two repositories with remotes of their own."""
    remotes = {name: origin(f"git@github.com:acme/{name}.git") for name in ("shop", "site")}
    return {name: repository(tmp_path / name, remote) for name, remote in remotes.items()}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A SQLite store as the first release left it, or a fresh one on PostgreSQL."""
    if not settings.database_url:
        packed = (GOLDEN / f"{FIRST_RELEASE}.db.gz").read_bytes()
        (settings.home / "m3.db").write_bytes(gzip.decompress(packed))
    return settings


@pytest.mark.case("B83")
def test_after_a_month_of_use_every_count_agrees(
    settings: Settings, repositories: dict[str, Path], tmp_path: Path
) -> None:
    diary, chance = _begun(settings, repositories["shop"]), random.Random(20)
    elsewhere = _elsewhere(settings, repositories["shop"], diary)
    assert elsewhere == ({"all": 0, "current": 0} if settings.database_url else FIRST_STORE)
    copies: dict[Path, int] = {}
    for number in range(SESSIONS):
        agent, name = AGENTS[number % 2], ("shop", "site")[number // 2 % 2]
        kind = by_server if number % 5 == 0 else in_process
        with kind(settings, agent, repositories[name]) as ask:
            Hand(agent, name, ask, diary, chance).work(WRITES // SESSIONS)
        if number % 3 == 0 and not settings.database_url:
            copies[_backup(settings, tmp_path)] = elsewhere["all"] + len(diary.ids)
    assert diary.writes >= WRITES // SESSIONS * SESSIONS
    for name, folder in repositories.items():
        _assert_all_show(settings, folder, diary.seen_from(name))
    assert _elsewhere(settings, repositories["shop"], diary) == elsewhere
    counts = sound_counts(settings)
    assert counts["memories"] == elsewhere["all"] + len(diary.ids)
    assert (counts["without_vectors"], counts["jobs_waiting"], counts["jobs_dead"]) == (0, 0, 0)
    audit = _command(settings, repositories["shop"], "audit", "verify")
    assert (audit["ok"], audit["history_is_whole"], len(audit["users"])) == (True, True, 1)
    if not settings.database_url:
        copies[settings.home / "m3.db"] = counts["memories"]
    assert {path: _in_the_shell(path) for path in copies} == {path: ("ok", n) for path, n in copies.items()}


def _begun(settings: Settings, folder: Path) -> Diary:
    """A diary of what the store shows there before anything is written."""
    diary = Diary()
    with in_process(settings, "cursor", folder) as ask:
        for row in listed(ask):
            diary.note(EVERYWHERE, row["id"], row["content"])
    return diary


def _elsewhere(settings: Settings, folder: Path, diary: Diary) -> dict[str, int]:
    """What the store holds by its status besides what the diary tells: all, and current."""
    found = _command(settings, folder, "status", codes=(0, 1))["memories"]
    return {"all": found["all"] - len(diary.ids), "current": found["current"] - len(diary.current_ids)}


def _assert_all_show(settings: Settings, folder: Path, expected: dict[str, str]) -> None:
    """MCP, the command line and an export show these memories there, and no other."""
    with by_server(settings, "claude-code", folder) as ask:
        assert {row["id"]: row["content"] for row in listed(ask, limit=50)} == expected
        assert ask("memory_list", limit=1)["total"] == len(expected)
    assert _command(settings, folder, "memory", "list", "--limit", "1")["total"] == len(expected)
    exported = folder.with_suffix(".jsonl")
    assert _command(settings, folder, "export", str(exported))["memories"] == len(expected)
    lines = [json.loads(line) for line in exported.read_text(encoding="utf-8").splitlines()]
    assert {line["id"]: line["content"] for line in lines if "content" in line} == expected


def _command(settings: Settings, folder: Path, *words: str, codes: tuple[int, ...] = (0,)) -> Any:
    done = subprocess.run(
        [*M3, "--json", "--project", str(folder), *words],
        cwd=folder,
        env=environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in codes, (words, done.stderr)
    return json.loads(done.stdout)


def _in_the_shell(store: Path) -> tuple[str, int]:
    """What the standard library's SQLite, reading only, says of the file and counts in it."""
    done = subprocess.run(
        [sys.executable, "-c", _SHELL, str(store)], capture_output=True, text=True, check=True
    )
    verdict, memories = done.stdout.split()
    return verdict, int(memories)


def _backup(settings: Settings, folder: Path) -> Path:
    app = App(settings, SystemClock(), HostEnvironment())
    made = back_up(app.database, folder / "copies")
    app.close()
    return made
