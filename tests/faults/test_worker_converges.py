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
from m3_memory.kernel.decay import DAY_SECONDS
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
    agent.call("memory_write", content="The tide is high", type="fact", scope="session", embed=False)
    agent.call("memory_write", content=" ".join(f"crate{number}" for number in range(2000)), type="log")


def _one_round(app: App, work: BackgroundWork) -> None:
    """What a server does beside a call, to its end."""
    work.after_call(app)
    for thread in threading.enumerate():
        if thread.name == "m3-worker":
            thread.join()


def _bytes_held() -> int:
    """Without what pathlib keeps: parts of paths are interned, in a table that doubles at some moment."""
    gc.collect()
    taken = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, "*/pathlib.py")])
    return sum(trace.size for trace in taken.traces)


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0


@pytest.mark.case("B53")
@pytest.mark.parametrize("embedder", ["hashing", "off"])
def test_two_hundred_rounds_on_a_static_store_do_its_work_once(
    settings: Settings, clock: ManualClock, embedder: Literal["hashing", "off"]
) -> None:
    app = App(replace(settings, embedder=embedder), clock, HostEnvironment())
    _written(app)
    clock.advance(DAY_SECONDS + 1)
    first = work_once(app)
    assert first["maintenance"] == {"expired": 1}
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
        assert "maintenance" not in found
        if number in (WARM_UP, ROUNDS - 1):
            held.append((_bytes_held(), _open_files(), threading.active_count()))
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
    for number in range(ROUNDS):
        clock.advance(3 if number else DAY_SECONDS + 1)
        _one_round(app, work)
        if number in (1, ROUNDS - WARM_UP):
            rounds.append(stored(app.database)["memory_history"])
    at_rest = stored(app.database)
    assert at_rest["memory_history"] == rounds[1]
    assert ["expire" in str(history) for history in rounds] == [False, True]
    clock.advance(2 * 3600)
    _one_round(app, work)
    assert stored(app.database) == at_rest
    with app.database.read("local") as reader:
        assert queue.counts(reader) == {"waiting": 0, "running": 0, "dead": 0}
    app.close()
