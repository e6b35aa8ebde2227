"""What searches use, derived anew from the versions: damage is mended, readers never miss anything."""

from __future__ import annotations

import itertools
from pathlib import Path

import apsw
import psycopg
import pytest

from m3_memory.app import App
from m3_memory.config import Settings
from m3_memory.domains.system.service import examine
from m3_memory.kernel.caller import Caller
from m3_memory.storage import reindex as reindexing
from m3_memory.storage.reindex import Progress, reindex
from tests.callers import Agent, embedder_named
from tests.sizes import size
from tests.stored import stored
from tests.surfaces.command_line import command_line

MINE = Caller("local", "claude", "session-1", project="atlas")
COUNT = size(25, 500)
DERIVED = ("search_documents", "search_totals")


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few versions a step, so that a small store takes many."""
    monkeypatch.setattr(reindexing, "CHUNK", 4)


@pytest.fixture
def agent(app: App) -> Agent:
    """An agent whose store holds memories of two projects and two users, some deleted, some edited."""
    mine = Agent(app.database, app.clock, MINE, embedder_named("off"))
    for number in range(COUNT):
        written = mine.call(
            "memory_write", content=f"Pier {number} holds the crane", type="fact", title="Piers"
        )
        if number % 5 == 0:
            mine.call("memory_update", id=written["id"], content=f"Pier {number} holds the ferry")
        if number % 7 == 0:
            mine.call("memory_delete", id=written["id"])
    mine.who(project="bridge").call("memory_write", content="The bridge holds no crane", type="note")
    mine.who(user_id="ada").call("memory_write", content="Her crane is red", type="note")
    return mine


def _damage(settings: Settings, *statements: str) -> None:
    if settings.database_url:
        with psycopg.connect(settings.database_url) as connection:
            for statement in statements:
                connection.execute(statement.encode())
        return
    store = apsw.Connection(str(settings.home / "m3.db"))
    for statement in statements:
        store.execute(statement)
    store.close()


def _faults(app: App) -> list[str]:
    return [f"{fault.part}: {fault.detail}" for fault in examine(app.context(MINE)).faults]


def _found(agent: Agent, query: str) -> set[str]:
    return {hit["content"] for hit in agent.call("memory_search", query=query, k=100)["hits"]}


def test_a_sound_store_is_the_same_afterwards(app: App, agent: Agent) -> None:
    before = stored(app.database)
    steps = list(reindex(app.database))
    after = stored(app.database)
    for moved in (before, after):
        del moved["owners"]  # each step has a store time
    assert after == before
    versions = len(before["memory_items"])
    assert len(steps) > 5
    assert (steps[-1].done, steps[-1].total) == (versions, versions)
    assert _faults(app) == []


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM search_documents WHERE item % 3 = 0",
        "UPDATE search_documents SET tokens = 'nothing', token_count = 1 WHERE item % 2 = 0",
        "DELETE FROM search_totals",
        "UPDATE search_totals SET audience = audience + 100",
        "INSERT INTO search_documents (item, tokens, token_count) VALUES (100000, 'stray', 1)",
    ],
)
def test_what_the_index_lost_or_holds_wrongly_is_mended(
    app: App, settings: Settings, agent: Agent, statement: str
) -> None:
    before, expected = stored(app.database), _found(agent, "crane")
    assert expected
    _damage(settings, statement)
    assert _faults(app)
    list(reindex(app.database))
    assert _faults(app) == []
    after = stored(app.database)
    assert {table: after[table] for table in DERIVED} == {table: before[table] for table in DERIVED}
    assert _found(agent, "crane") == expected


def test_entries_of_the_word_index_without_a_document_leave(
    app: App, settings: Settings, agent: Agent
) -> None:
    if settings.database_url:
        pytest.skip("there the index is part of the documents")
    _damage(
        settings,
        "DROP TRIGGER search_documents_removed",
        "DELETE FROM search_documents WHERE item < 20",
        "CREATE TRIGGER search_documents_removed AFTER DELETE ON search_documents"
        " BEGIN DELETE FROM search_index WHERE rowid = old.item; END",
        "INSERT INTO search_index (rowid, tokens) VALUES (100001, 'stray')",
    )
    assert any("word index" in fault for fault in _faults(app))
    list(reindex(app.database))
    assert _faults(app) == []
    assert _found(agent, "crane")


def test_readers_find_everything_at_every_step_and_writers_are_not_held_up(app: App, agent: Agent) -> None:
    expected = {query: _found(agent, query) for query in ("crane", "ferry", "piers")}
    assert all(expected.values())
    for number, _ in enumerate(reindex(app.database)):
        assert {query: _found(agent, query) for query in expected} == expected
        agent.call("memory_write", content=f"Buoy {number} is lit", type="fact")
    assert _faults(app) == []
    assert len(_found(agent, "buoy")) > 3


def test_a_run_that_was_stopped_goes_on_after_its_last_item(
    app: App, settings: Settings, agent: Agent
) -> None:
    _damage(settings, "UPDATE search_documents SET tokens = 'nothing' WHERE item > 12")
    first = list(itertools.islice(reindex(app.database), 2))
    assert _faults(app)
    rest = list(reindex(app.database, first[-1].item))
    assert _faults(app) == []
    assert rest[0] == Progress(4, rest[-1].total, rest[0].item)
    assert first[-1].done + rest[-1].done == len(stored(app.database)["memory_items"])


def test_the_command_reindexes_and_removes_the_vector_files(home: Path, tmp_path: Path) -> None:
    terminal = command_line(tmp_path, M3_EMBEDDER="hashing")
    for content in ("The crane stands on pier 1", "The light stands on pier 2"):
        terminal.run("memory", "write", content, "--type", "fact")
    assert terminal.run("memory", "search", "crane").answer["hits"]
    (cached,) = [path for path in home.glob("m3.db.vectors-*") if path.suffix != ".new"]
    told = terminal.run("reindex").answer
    assert (told["versions"], told["last_item"]) == (2, 2)
    assert not cached.exists()
    near = terminal.run("memory", "search", "crane", "--search-mode", "vector", "--k", "1").answer["hits"]
    assert [hit["content"] for hit in near] == ["The crane stands on pier 1"]
    assert cached.exists()
    assert terminal.run("doctor").answer["faults"] == []
    assert terminal.run("reindex", "--after", "1").answer["versions"] == 1
