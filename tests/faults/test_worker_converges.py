"""The worker comes to rest on a store that nobody writes to: nothing is done twice, and nothing piles up."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import queue
from m3_memory.surfaces.worker.loop import BackgroundWork, work_once
from tests.callers import Agent, embedder_named
from tests.stored import stored

ROUNDS = 200
WARM_UP = 20
GROWTH_BYTES = 64 * 2**10
LATE = 12


def _written(app: App) -> None:
    """Memories of which some still wait for a vector, and one for several."""
    agent = Agent(app.database, app.clock, Caller("local", "claude", "session-1"), embedder_named("off"))
    for number in range(LATE - 1):
        agent.call("memory_write", content=f"Pier {number} holds the crane", type="fact")
    agent.call("memory_write", content=" ".join(f"crate{number}" for number in range(2000)), type="log")


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0


@pytest.mark.case("B53")
@pytest.mark.parametrize("embedder", ["hashing", "off"])
def test_two_hundred_rounds_on_a_static_store_do_its_work_once(
    settings: Settings, clock: ManualClock, embedder: Literal["hashing", "off"]
) -> None:
    app = App(replace(settings, embedder=embedder), clock, HostEnvironment())
    _written(app)
    first = work_once(app)
    expected = {"hashing": (LATE, 0), "off": (0, LATE)}[embedder]
    assert (first["done"], first["waiting"]) == expected
    assert (first["failed"], first["dead"]) == (0, 0)
    at_rest = stored(app.database)
    held: list[tuple[int, int, int]] = []
    tracemalloc.start()
    for number in range(ROUNDS):
        clock.advance(1)
        found = work_once(app)
        assert (found["done"], found["failed"], found["waiting"]) == (0, 0, expected[1])
        if number in (WARM_UP, ROUNDS - 1):
            gc.collect()
            held.append((tracemalloc.get_traced_memory()[0], _open_files(), threading.active_count()))
    tracemalloc.stop()
    assert stored(app.database) == at_rest
    (bytes_before, *others_before), (bytes_after, *others_after) = held
    assert bytes_after - bytes_before < GROWTH_BYTES
    assert others_after == others_before
    app.close()


@pytest.mark.case("B53")
def test_a_server_whose_store_does_not_change_comes_to_rest_too(
    settings: Settings, clock: ManualClock
) -> None:
    app, work = App(settings, clock, HostEnvironment()), BackgroundWork()
    _written(app)
    app.embedder.get(10)
    rounds: list[object] = []
    for _ in range(ROUNDS):
        clock.advance(3)
        work.after_call(app)
        for thread in threading.enumerate():
            if thread.name == "m3-worker":
                thread.join()
        if len(rounds) < 2:
            rounds.append(stored(app.database))
    assert stored(app.database) == rounds[1] == rounds[0]
    assert rounds[0] != {}
    with app.database.read("local") as reader:
        assert queue.counts(reader) == {"waiting": 0, "running": 0, "dead": 0}
    app.close()
