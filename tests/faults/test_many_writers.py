"""Many processes write at once: nobody is refused, and nothing is lost or doubled."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier, Event

import pytest

from m3_memory.config import Settings
from m3_memory.domains.memories.service.drafts import INLINE_WINDOWS
from tests.faults.children import Child, child, write_together
from tests.faults.products import (
    M3,
    PROJECT,
    Server,
    answer,
    environment,
    recorded,
    session,
    sound_counts,
)
from tests.sizes import size

WRITERS = 8
WRITES = size(40, 500)
COMMANDS = size(3, 20)
TOGETHER = 20
REST = " ".join(f"crate{number}" for number in range(1500))
"""What makes a text so long that its last vectors are left to the worker."""

TIDE = "The tide turns at noon"


def _write(server: Server, agent: str) -> list[str]:
    texts = [f"Entry {number} of {agent}{f' {REST}' if number % 20 == 7 else ''}" for number in range(WRITES)]
    written = [server.answered("memory_write", content=text, type="fact") for text in texts]
    assert {found["status"] for found in written} == {"created"}
    return [found["id"] for found in written]


def _command(settings: Settings) -> list[str]:
    """The same through the command line, a process for each."""
    command = [*M3, "--json", "--project", PROJECT, "memory", "write"]
    ids: list[str] = []
    for number in range(COMMANDS):
        done = subprocess.run(
            [*command, f"Entry {number} of commands", "--type", "fact"],
            env=environment(settings),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        ids.append(json.loads(done.stdout)["id"])
    return ids


def _read(server: Server, is_over: Event) -> int:
    """Searches until all is written; returns how many searches found something."""
    seen = successes = 0
    while not is_over.is_set():
        found = server.found("entry", k=100)
        assert all(content.startswith("Entry") for content in found)
        assert len(found) >= seen, "a search lost what an earlier one had found"
        seen = len(found)
        successes += seen > 0
    return successes


def _work(settings: Settings, is_over: Event) -> list[dict[str, int]]:
    """The worker as a command, again and again, and once when all is written; what each run came to."""
    found: list[dict[str, int]] = []
    was_over = False
    while not was_over:
        was_over = is_over.is_set()
        done = subprocess.run(
            [*M3, "worker", "--once"], env=environment(settings), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    return found


@pytest.mark.case("B42")
def test_eight_servers_write_and_lose_nothing_while_another_reads_and_a_worker_works(
    settings: Settings,
) -> None:
    agents = [f"agent-{number}" for number in range(WRITERS)]
    is_over = Event()
    with ExitStack() as stack, ThreadPoolExecutor(WRITERS + 3) as pool:
        servers = [stack.enter_context(Server(settings, agent)) for agent in agents]
        reading = pool.submit(_read, stack.enter_context(Server(settings, "reader")), is_over)
        working = pool.submit(_work, settings, is_over)
        try:
            commands = pool.submit(_command, settings)
            written = list(pool.map(_write, servers, agents))
            ids = {memory for by_one in [*written, commands.result()] for memory in by_one}
        finally:
            is_over.set()
        assert reading.result() > 0
        assert {run["failed"] + run["dead"] for run in working.result()} == {0}
    total = WRITERS * WRITES + COMMANDS
    assert len(ids) == total
    counts = sound_counts(settings)
    assert [counts[kind] for kind in ("memories", "versions", "open_beliefs", "events")] == [total] * 4
    assert (counts["without_vectors"], counts["jobs_waiting"]) == (0, 0)
    long_texts = WRITERS * len(range(7, WRITES, 20))
    assert counts["vectors"] > total + INLINE_WINDOWS * long_texts  # the rest of theirs came by jobs
    by_agent = recorded(settings, "SELECT agent_id, count(*) FROM memory_items GROUP BY agent_id")
    assert dict(by_agent) == dict.fromkeys(agents, WRITES) | {"cli": COMMANDS}
    with session(settings) as reader:
        for agent in agents:
            last = f"Entry {WRITES - 1} of {agent}"
            found = answer(reader, "memory_search", query=last, k=1)["hits"]
            assert [(hit["content"], hit["agent_id"]) for hit in found] == [(last, agent)]


def _by_threads(settings: Settings) -> list[tuple[str, str]]:
    start = Barrier(TOGETHER)

    def write(_: int) -> tuple[str, str]:
        start.wait()
        written = answer(opened, "memory_write", content=TIDE, type="fact")
        return written["status"], written["id"]

    with session(settings) as opened, ThreadPoolExecutor(TOGETHER) as pool:
        return list(pool.map(write, range(TOGETHER)))


def _by_processes(settings: Settings) -> list[tuple[str, str]]:
    with ExitStack() as stack:
        writers: list[Child] = [
            stack.enter_context(child(write_together, settings, f"agent-{number}", TIDE))
            for number in range(TOGETHER)
        ]
        for writer in writers:
            writer.until("ready")
        for writer in writers:
            writer.pipe.send("go")
        notes = [writer.note() for writer in writers]
        return [(note.step, note.memory_id) for note in notes]


@pytest.mark.case("B15")
@pytest.mark.parametrize("write_at_once", [_by_threads, _by_processes])
def test_twenty_parallel_identical_writes_leave_one_memory_and_nineteen_sightings(
    settings: Settings, write_at_once: Callable[[Settings], list[tuple[str, str]]]
) -> None:
    written = write_at_once(settings)
    assert Counter(status for status, _ in written) == {"created": 1, "duplicate": TOGETHER - 1}
    (memory_id,) = {memory for _, memory in written}
    assert sound_counts(settings)["memories"] == 1
    assert recorded(settings, "SELECT memory_id, count(*) FROM memory_corroborations GROUP BY memory_id") == [
        (memory_id, TOGETHER - 1)
    ]
    with session(settings) as reader:
        found = answer(reader, "memory_search", query=TIDE)["hits"]
        assert [hit["id"] for hit in found] == [memory_id]
        events = answer(reader, "memory_history", memory_id=memory_id, limit=100)["events"]
        assert Counter(event["kind"] for event in events) == {"create": 1, "corroborate": TOGETHER - 1}
