"""With a model on a server that comes and goes nothing is lost, and answers say what they did without."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.catalog.dispatch import dispatch
from m3_memory.config import HostEnvironment, Settings
from m3_memory.domains.system.service import examine
from m3_memory.inference.embedder import EmbedderState
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import queue
from m3_memory.storage.sql import sql
from m3_memory.surfaces.worker.loop import run_once
from m3_memory.toolbox import CATALOG
from tests.endpoints import Exchange, FakeEndpoint, running_endpoint, vector_of, well

CALLER = Caller("local", "claude", "session-1", project="atlas")
Opener = Callable[[Settings], App]


@pytest.fixture
def fake() -> Generator[FakeEndpoint]:
    with running_endpoint() as found:
        yield found


@pytest.fixture
def started(clock: ManualClock) -> Generator[Opener]:
    """Starts the product with other settings over the same store, as another process would."""
    apps: list[App] = []

    def start(settings: Settings) -> App:
        apps.append(App(settings, clock, HostEnvironment()))
        apps[-1].embedder.get(60)
        return apps[-1]

    yield start
    for app in apps:
        app.close()


@pytest.fixture
def by_endpoint(settings: Settings, fake: FakeEndpoint) -> Settings:
    return replace(settings, embedder="endpoint", embedder_url=fake.url, embedder_model="stub")


def call(app: App, tool: str, **arguments: object) -> dict[str, Any]:
    outcome = dispatch(CATALOG, app.context(CALLER), tool, arguments)
    assert outcome.structured is not None, outcome.text
    return outcome.structured


def write(app: App, content: str, **more: object) -> dict[str, Any]:
    return call(app, "memory_write", content=content, type="fact", **more)


def found(app: App, query: str, mode: str = "hybrid") -> list[str]:
    hits = call(app, "memory_search", query=query, search_mode=mode)["hits"]
    return [hit["content"] for hit in hits]


def degraded(app: App, query: str = "tea") -> str:
    return " ".join(call(app, "memory_search", query=query)["degraded"])


def notes(app: App) -> str:
    return " ".join(examine(app.context(CALLER)).notes)


def down(exchange: Exchange) -> None:
    exchange.send("{}", 503, {"Retry-After": "60"})


def endless(exchange: Exchange) -> None:
    vector = [1.0] * 16_001
    exchange.send_entries([{"index": place, "embedding": vector} for place in range(len(exchange.texts))])


def reversed_model(exchange: Exchange) -> None:
    """Another model under the same name, as after an update of the server."""
    entries = [
        {"index": place, "embedding": vector_of(text[::-1])} for place, text in enumerate(exchange.texts)
    ]
    exchange.send_entries(entries)


def test_memories_are_found_by_meaning_through_the_endpoint(
    started: Opener, by_endpoint: Settings, fake: FakeEndpoint
) -> None:
    app = started(by_endpoint)
    assert write(app, "tea is at four")["warnings"] == []
    write(app, "the cat sleeps")
    assert found(app, "tea at four", "vector")[0] == "tea is at four"
    assert degraded(app) == ""
    assert "tea is at four" in fake.texts


def test_while_the_server_is_down_writes_and_searches_go_on_and_say_so(
    started: Opener, by_endpoint: Settings, fake: FakeEndpoint
) -> None:
    app = started(by_endpoint)
    write(app, "tea is at four")
    fake.reply = down
    said = write(app, "tea is green")
    assert "503" in " ".join(said["warnings"])
    assert said["vector"] == "pending"
    asked = len(fake.asked)
    assert sorted(found(app, "tea")) == ["tea is at four", "tea is green"]
    assert "by words only" in degraded(app)
    assert "503" in degraded(app)
    assert len(fake.asked) == asked, "a server that failed a moment ago is left alone"
    assert app.embedder.state is EmbedderState.FAILED


def test_a_model_of_vectors_that_no_store_keeps_is_none_and_writes_go_on(
    started: Opener, by_endpoint: Settings, fake: FakeEndpoint
) -> None:
    fake.reply = endless
    app = started(by_endpoint)
    assert write(app, "tea is at four")["vector"] == "pending"
    assert found(app, "tea") == ["tea is at four"]
    assert "16,001 values" in degraded(app)


def test_what_was_written_while_the_server_was_down_gets_its_vector_when_it_is_back(
    started: Opener, by_endpoint: Settings, fake: FakeEndpoint
) -> None:
    app = started(by_endpoint)
    fake.reply = down
    write(app, "tea is at four")
    for _ in range(queue.MAX_ATTEMPTS + 2):
        told = run_once(app)
        assert (told["waiting"], told["dead"]) == (1, 0)
        assert "503" in told["because"]
    fake.reply = well
    again = started(by_endpoint)
    assert run_once(again)["waiting"] == 0
    assert found(again, "tea at four", "vector") == ["tea is at four"]
    assert degraded(again) == ""


def test_a_server_that_goes_away_in_the_middle_of_the_work_costs_no_job_an_attempt(
    started: Opener, by_endpoint: Settings, fake: FakeEndpoint
) -> None:
    off = started(replace(by_endpoint, embedder="off"))
    for number in range(3):
        write(off, f"note number {number}")
    app = started(by_endpoint)
    fake.reply = lambda exchange: well(exchange) if exchange.count == 2 else down(exchange)
    told = run_once(app)
    assert (told["done"], told["failed"], told["waiting"]) == (1, 0, 2)
    with app.database.read("local") as reader:
        assert reader.rows(sql("SELECT DISTINCT attempts FROM jobs")) == [(0,)]
    fake.reply = well
    told = run_once(started(by_endpoint))
    assert (told["done"], told["waiting"], told["dead"]) == (2, 0, 0)


def test_switching_the_model_and_back_loses_nothing_and_tells_what_is_not_compared(
    started: Opener, by_endpoint: Settings, settings: Settings
) -> None:
    one = started(by_endpoint)
    write(one, "tea is at four")
    assert "no vector" not in notes(one)
    other = started(settings)
    assert "another model" in degraded(other)
    assert found(other, "tea at four") == ["tea is at four"]
    assert "no vector of the model hashing, so found by words only: 1" in notes(other)
    write(other, "tea is green")
    assert found(other, "green tea", "vector") == ["tea is green"]
    back = started(by_endpoint)
    assert found(back, "tea at four", "vector") == ["tea is at four"]
    assert "no vector of the model stub, so found by words only: 1" in notes(back)
    assert sorted(found(back, "tea")) == ["tea is at four", "tea is green"]


def test_late_vectors_are_made_by_the_model_in_use_then(
    started: Opener, by_endpoint: Settings, settings: Settings, fake: FakeEndpoint
) -> None:
    app = started(by_endpoint)
    fake.reply = down
    write(app, "tea is at four")
    other = started(settings)
    assert run_once(other)["done"] == 1
    assert found(other, "tea at four", "vector") == ["tea is at four"]
    assert "no vector" not in notes(other)


def test_another_model_under_the_same_name_is_noticed(
    started: Opener, by_endpoint: Settings, fake: FakeEndpoint
) -> None:
    write(started(by_endpoint), "tea is at four")
    assert degraded(started(by_endpoint)) == ""
    fake.reply = reversed_model
    assert "another model" in degraded(started(by_endpoint))


def test_a_model_that_rounds_differently_elsewhere_is_still_the_same(
    started: Opener, by_endpoint: Settings, fake: FakeEndpoint
) -> None:
    def nearly(exchange: Exchange) -> None:
        entries = exchange.entries()
        for entry in entries:
            entry["embedding"] = [
                value + 0.004 * ((place % 3) - 1) for place, value in enumerate(entry["embedding"])
            ]
        exchange.send_entries(entries)

    write(started(by_endpoint), "tea is at four")
    fake.reply = nearly
    app = started(by_endpoint)
    assert degraded(app) == ""
    assert found(app, "tea at four", "vector") == ["tea is at four"]


def test_the_key_stands_nowhere_in_the_store_or_in_what_the_doctor_tells(
    started: Opener, by_endpoint: Settings, fake: FakeEndpoint
) -> None:
    key = "sk-very-secret"
    app = started(replace(by_endpoint, embedder_api_key=key))
    write(app, "tea is at four")
    fake.reply = lambda exchange: exchange.send(f'{{"error": "wrong key {key}"}}', 401)
    told = [
        str(write(app, "tea is green")),
        degraded(app),
        str(run_once(app)),
        str(examine(app.context(CALLER))),
    ]
    assert all("M3_EMBEDDER_API_KEY" in text for text in told)
    assert not any(key in text for text in [*told, repr(app.settings)])
    home = app.settings.home
    assert not any(key.encode() in file.read_bytes() for file in home.rglob("*") if file.is_file())
