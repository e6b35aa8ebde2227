"""An older copy of a store in its place: what still knows the newer one notices, explains or mends itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.domains.system.service import accept_head, examine
from m3_memory.errors import NeedsOperator
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.launch import Launch
from m3_memory.storage.overview import overview
from m3_memory.surfaces.cli import maintenance
from tests.callers import Agent
from tests.faults.products import environment
from tests.postgres import PostgresServer

MINE = Caller("local", "claude", "session-1", project="atlas")
PutBack = Callable[[], App]


@pytest.fixture
def app(settings: Settings, clock: ManualClock) -> Generator[App]:
    """The product over a store with two memories, of which a copy was made then."""
    with closing(App(settings, clock, HostEnvironment())) as opened:
        _write(opened, "Tea is at four", "The harbour is closed")
        yield opened


@pytest.fixture
def put_back(
    app: App, settings: Settings, clock: ManualClock, tmp_path: Path, request: pytest.FixtureRequest
) -> Generator[PutBack]:
    """Stops the product, puts the copy in the store's place, and opens that."""
    with closing(_copied(app, settings, tmp_path, request)) as copy:
        made: list[App] = []

        def restored() -> App:
            app.close()
            made.append(App(copy.put_back(), clock, HostEnvironment()))
            return made[0]

        yield restored
        for each in made:
            each.close()


class _SqliteCopy:
    def __init__(self, app: App, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._kept = folder / "kept.db"
        app.database.dialect.copy_to(self._kept)

    def put_back(self) -> Settings:
        shutil.copy(self._kept, self._settings.home / "m3.db")
        return self._settings

    def close(self) -> None:
        self._kept.unlink()


class _PostgresCopy:
    """Another database, made from the first while nobody uses it; the noted heads are the machine's."""

    def __init__(self, app: App, settings: Settings, server: PostgresServer) -> None:
        app.close()
        self._settings, self._server = settings, server
        self._copy = server.create(settings.database_url)

    def put_back(self) -> Settings:
        return Settings(self._settings.home, database_url=self._copy, embedder="hashing")

    def close(self) -> None:
        self._server.drop(self._copy)


def _copied(
    app: App, settings: Settings, folder: Path, request: pytest.FixtureRequest
) -> _SqliteCopy | _PostgresCopy:
    if settings.database_url:
        return _PostgresCopy(app, settings, request.getfixturevalue("postgres_server"))
    return _SqliteCopy(app, settings, folder)


def _write(app: App, *contents: str) -> None:
    for content in contents:
        Agent(app.database, app.clock, MINE).call("memory_write", content=content, type="fact")


def _faults(app: App) -> list[str]:
    return [fault.detail for fault in examine(app.context(MINE)).faults]


def _at_a_glance(app: App) -> list[str]:
    heads = app.database.heads.read()
    with app.database.read(MINE.user_id) as reader:
        return [fault.detail for fault in overview(reader, heads, app.clock.now()).faults]


def test_an_untouched_store_is_no_copy(app: App) -> None:
    assert (_faults(app), _at_a_glance(app)) == ([], [])
    assert accept_head(app.context(MINE)).accepted is False
    assert (_faults(app), _at_a_glance(app)) == ([], [])


def test_an_older_copy_is_told_with_where_it_ends_and_what_was_noted(app: App, put_back: PutBack) -> None:
    _write(app, "Supper is at nine", "Lunch is at noon", "The bell rings twice")
    restored = put_back()
    (told,) = _faults(restored)
    assert "ends at event 2, and event 5 was noted" in told
    assert "--accept-head" in told
    assert _at_a_glance(restored) == [told]


def test_a_copy_that_has_caught_up_with_other_events_is_told_too(app: App, put_back: PutBack) -> None:
    _write(app, "Supper is at nine", "Lunch is at noon")
    restored = put_back()
    _write(restored, "Coffee is at five", "Dinner is at eight", "The lift needs a new cable")
    (told,) = _faults(restored)
    assert "event 4 of 5 is not the one that was noted" in told
    assert _at_a_glance(restored) == [told]


def test_the_history_is_accepted_by_an_event_and_noted_from_then_on(app: App, put_back: PutBack) -> None:
    _write(app, "Supper is at nine", "Lunch is at noon", "The bell rings twice")
    restored = put_back()
    accepted = accept_head(restored.context(MINE))
    assert accepted.accepted
    assert "event 5 was noted" in str(accepted.lost)
    assert (_faults(restored), _at_a_glance(restored)) == ([], [])
    _write(restored, "The cellar has two doors")
    ((sequence, _),) = restored.database.heads.read().values()
    assert sequence == 4
    assert (_faults(restored), _at_a_glance(restored)) == ([], [])
    assert accept_head(restored.context(MINE)).accepted is False


def test_what_was_accepted_stands_in_the_way_of_no_undo(app: App, put_back: PutBack) -> None:
    _write(app, "Tea is at five")
    restored = put_back()
    accept_head(restored.context(MINE))
    _write(restored, "Coffee is at five")
    agent = Agent(restored.database, restored.clock, MINE)
    undone = agent.call("memory_undo", agent="claude", since="2026-01-01")
    assert undone["withdrawn"] == 3
    assert agent.call("memory_search", query="tea coffee harbour")["hits"] == []
    assert (_faults(restored), _at_a_glance(restored)) == ([], [])


def test_searches_by_meaning_answer_from_the_copy_alone(app: App, put_back: PutBack) -> None:
    """Also once it holds as many changes as the newer store did, whose vector file lies beside it."""
    _write(app, "The ferry leaves at nine", "The boat leaves at ten")
    assert _nearest(app, "boat leaves at ten") == "The boat leaves at ten"
    restored = put_back()
    assert "ferry" not in _nearest(restored, "the harbour ferry leaves")
    _write(restored, "The tram leaves at nine", "The bus leaves at ten")
    assert _nearest(restored, "bus leaves at ten") == "The bus leaves at ten"
    assert _nearest(restored, "ferry leaves at nine") == "The tram leaves at nine"


def test_where_an_operator_is_set_only_that_person_accepts(
    app: App, put_back: PutBack, monkeypatch: pytest.MonkeyPatch
) -> None:
    from m3_memory.domains.agents.service import operators

    operators.set_passphrase(app.context(MINE), "correct horse battery")
    _write(app, "Tea is at five")
    restored = put_back()
    operators.set_passphrase(restored.context(MINE), "correct horse battery")
    restored.close()
    for name, value in environment(restored.settings).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(NeedsOperator):
        maintenance.accept(Launch(agent="cli"))
    assert _faults(restored)


def _nearest(app: App, query: str) -> str:
    found = Agent(app.database, app.clock, MINE).call("memory_search", query=query, search_mode="vector", k=1)
    return found["hits"][0]["content"]
