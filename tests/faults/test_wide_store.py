"""A store of many memories is listed, exported and reindexed: every one of them, in bounded memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.kernel.clock import SystemClock
from m3_memory.launch import Launch
from m3_memory.storage.reindex import reindex
from m3_memory.surfaces.session import Session
from tests.faults.month import Ask, listed
from tests.faults.products import PROJECT, environment
from tests.sizes import size
from tests.surfaces.doors import run

ROWS = size(1_200, 60_000)
BATCH = 400
BOUND_BYTES = 24 * 2**20
"""What a pass may hold at most, however many rows there are."""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Without vectors, which take their time and are looked at elsewhere."""
    return replace(settings, embedder="off", backup_hours=0.0)


@pytest.fixture
def app(settings: Settings) -> Generator[App]:
    with closing(App(settings, SystemClock(), HostEnvironment())) as opened:
        yield opened


@pytest.fixture
def ask(app: App) -> Ask:
    """Calls of an agent of one project."""
    session = Session(Launch(agent="claude-code", project=PROJECT), app)

    def asked(tool: str, /, **arguments: object) -> dict[str, object]:
        found = session.call(tool, arguments)
        assert found.structured is not None, found.text
        return found.structured

    return asked


@pytest.fixture
def written(ask: Ask, settings: Settings) -> dict[str, str]:
    """The content of every memory there is, by its id."""
    found: dict[str, str] = {}
    for first in range(0, ROWS, BATCH):
        contents = [f"Crate {number} stands in row {number // 7}" for number in range(first, first + BATCH)]
        results = ask("memory_write_bulk", items=[{"content": text, "type": "fact"} for text in contents])
        assert (results["created"], results["failed"]) == (BATCH, 0)
        found |= {row["id"]: text for row, text in zip(results["results"], contents, strict=True)}
    if settings.database_url:  # what a server does by itself, and the one of the tests is told not to
        with psycopg.connect(settings.database_url) as connection:
            connection.execute("ANALYZE")
    return found


def test_every_memory_of_a_wide_store_is_listed_exported_and_reindexed(
    app: App,
    ask: Ask,
    written: dict[str, str],
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert len(written) == ROWS
    assert {row["id"]: row["content"] for row in listed(ask)} == written
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "all.jsonl"
    tracemalloc.start()
    told = run("--project", PROJECT, "export", str(file))
    steps = sum(1 for _ in reindex(app.database))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < BOUND_BYTES
    assert told.facts is not None
    assert told.facts["memories"] == ROWS
    with file.open(encoding="utf-8") as lines:
        rows = (json.loads(line) for line in lines)
        assert {row["id"]: row["content"] for row in rows if "content" in row} == written
    assert steps >= ROWS / 200
    for content in (f"Crate {ROWS - 1} stands in row {(ROWS - 1) // 7}", "Crate 0 stands in row 0"):
        hits = ask("memory_search", query=content, search_mode="keyword", k=1)["hits"]
        assert [hit["content"] for hit in hits] == [content]
    assert run("--project", PROJECT, "doctor").facts is not None
