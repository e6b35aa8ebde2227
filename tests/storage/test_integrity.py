"""Damage planted into a store, past all guards, and what the doctor says of it; on both engines."""

from __future__ import annotations

import threading
from collections.abc import Callable

import apsw
import psycopg
import pytest

from m3_memory.app import App
from m3_memory.config import Settings
from m3_memory.domains.system.model import Examination
from m3_memory.domains.system.service import examine
from m3_memory.errors import StoreDamaged
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.surfaces.worker.loop import BackgroundWork
from tests.callers import Agent

Plant = Callable[[str], None]
MINE = Caller("local", "claude", "session-1")


def _on_sqlite(path: str, statement: str) -> None:
    connection = apsw.Connection(path)
    guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    kept = [(name, made) for name, made in guards if "search_documents" not in str(made)]
    for name, _ in kept:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute(statement)
    for name, made in kept:
        if f" {name}" not in statement:
            connection.execute(str(made))
    connection.close()


def _on_postgres(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("ALTER TABLE memory_validity DROP CONSTRAINT memory_validity_check")
        connection.execute(statement.encode())


@pytest.fixture
def plant(app: App, settings: Settings) -> Plant:
    """Two memories and an edge, one of two versions and with a deleted belief, to be damaged."""
    agent = Agent(app.database, app.clock, MINE)
    tea = agent.call("memory_write", content="Tea is at four", title="Times", type="fact")["id"]
    agent.call("memory_update", id=tea, content="Tea is at five")
    harbour = agent.call("memory_write", content="The harbour is closed", type="note", metadata={"page": 3})
    agent.call("memory_link", from_id=tea, to_id=harbour["id"])

    def planted(statement: str) -> None:
        if settings.database_url:
            _on_postgres(settings.database_url, statement)
        else:
            _on_sqlite(str(settings.home / "m3.db"), statement)

    assert _examined(app).faults == []
    return planted


def _examined(app: App) -> Examination:
    return examine(app.context(MINE))


_NOTE = "(SELECT item FROM memory_items WHERE type = 'note')"


@pytest.mark.parametrize(
    ("statement", "part", "detail"),
    [
        ("UPDATE memory_items SET content_hash = 'x'", "rows", "3 versions whose content"),
        ("UPDATE memory_items SET normal_hash = 'x' WHERE type = 'note'", "rows", "1 versions whose normal"),
        ("UPDATE memory_items SET content = 'Other' WHERE type = 'note'", "rows", "1 versions whose content"),
        ("UPDATE memory_items SET metadata = '[1]' WHERE type = 'note'", "rows", "1 versions whose metadata"),
        ("UPDATE memory_items SET metadata = '{' WHERE type = 'note'", "rows", "1 versions whose metadata"),
        (
            "UPDATE memory_validity SET audience = 77 WHERE type = 'note'",
            "rows",
            "a belief says other things",
        ),
        (
            "UPDATE memory_validity SET agent_id = 'eve' WHERE type = 'note'",
            "rows",
            "a belief says other things",
        ),
        (
            "UPDATE memory_validity SET variant = 'x' WHERE type = 'note'",
            "rows",
            "a belief says other things",
        ),
        ("UPDATE memory_validity SET version = 9 WHERE type = 'note'", "rows", "a belief says other things"),
        (
            "UPDATE memory_validity SET closed_by = 1 WHERE type = 'note'",
            "rows",
            "said to have closed a belief",
        ),
        (
            "UPDATE memory_validity SET valid_to = valid_from WHERE type = 'note'",
            "rows",
            "1 beliefs that end",
        ),
        (
            f"UPDATE search_documents SET tokens = '@1 x' WHERE item = {_NOTE}",
            "index",
            "1 versions whose words",
        ),
        ("UPDATE search_documents SET token_count = 99", "index", "3 versions whose words"),
        ("UPDATE search_totals SET tokens = tokens + 1", "index", "1 audiences whose totals"),
        ("UPDATE search_totals SET audience = audience + 100", "index", "2 audiences whose totals"),
        ("UPDATE embedding_spaces SET dimension = 9", "file", "3 vectors are not as long"),
        ("DELETE FROM embedding_spaces", "vectors", "3 vectors of a space"),
        ("DELETE FROM memory_history_salts", "history", "4 events without their salt"),
        ("UPDATE memory_relationships SET opened_by = 99", "rows", "1 edges whose opening"),
        ("UPDATE memory_relationships SET closed_by = 1", "rows", "1 edges that are closed"),
        ("DROP INDEX memory_items_content_hash", "file", "the index is missing: memory_items_content_hash"),
        ("DROP TABLE memory_tombstones", "schema", "the table is missing: memory_tombstones"),
        ("DROP TABLE jobs", "schema", "the table is missing: jobs"),
        ("UPDATE owners SET last_store_time = 'soon'", "clock", "no time"),
    ],
)
def test_planted_damage_is_told_with_its_part_and_number(
    app: App, plant: Plant, statement: str, part: str, detail: str
) -> None:
    plant(statement)
    found = _examined(app)
    assert not found.ok
    assert any(fault.part == part and detail in fault.detail for fault in found.faults), found.faults


def test_a_guard_that_is_gone_is_told(app: App, settings: Settings, plant: Plant) -> None:
    if settings.database_url:
        plant("DROP TRIGGER memory_validity_closed_once ON memory_validity")
    else:
        _drop_guard(settings)
    (fault,) = _examined(app).faults
    assert fault.detail == "the trigger is missing: memory_validity_closed_once"


def _drop_guard(settings: Settings) -> None:
    connection = apsw.Connection(str(settings.home / "m3.db"))
    connection.execute("DROP TRIGGER memory_validity_closed_once")
    connection.close()


def test_nothing_is_written_while_the_last_store_time_is_no_time(app: App, plant: Plant) -> None:
    plant("UPDATE owners SET last_store_time = 'soon'")
    refused = Agent(app.database, app.clock, MINE).refusal("memory_write", content="More", type="note")
    assert refused["code"] == StoreDamaged.code


def test_what_waits_for_vectors_without_a_job_is_counted_and_no_fault(app: App, plant: Plant) -> None:
    plant("DELETE FROM memory_embeddings")
    found = _examined(app)
    assert found.ok
    assert found.counts["without_vectors_or_job"] == 2


def test_text_that_is_no_text_is_a_fault_and_no_crash(app: App, plant: Plant, settings: Settings) -> None:
    if settings.database_url:
        return  # a PostgreSQL server takes no such text
    plant("UPDATE memory_items SET content = CAST(x'ff41' AS TEXT) WHERE type = 'note'")
    assert any("can't be read" in fault.detail for fault in _examined(app).faults)
    plant("UPDATE memory_history SET reason = x'00'")
    assert {"rows", "history"} <= {fault.part for fault in _examined(app).faults}


def test_the_worker_beside_a_server_outlives_a_damaged_store(
    app: App, plant: Plant, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that leaves a thread goes to its excepthook; and the next round begins."""
    left: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", left.append)
    plant("DROP TABLE jobs")
    app.embedder.get()
    work = BackgroundWork()
    for _ in range(2):
        work.after_call(app)
        for thread in [each for each in threading.enumerate() if each.name == "m3-worker"]:
            thread.join()
        clock.advance(60)
    assert left == []
