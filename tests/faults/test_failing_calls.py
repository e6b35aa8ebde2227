"""A call that the disk or the server fails is refused whole, says why, and stands in no other's way."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import psycopg
import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import integrity, open_database
from m3_memory.storage.database import Database
from tests.callers import Agent
from tests.faults.server import FaultyServer, broken_server, full_server, lost_server
from tests.faults.vfs import FaultyDisk, broken_disk, full_disk
from tests.sizes import size
from tests.stores import PostgresStores, SqliteStores

# What each call is given: SUBJECT stands for a memory's id, and # for a number that no call before had.
CHANGES: dict[str, dict[str, str]] = {
    "memory_write": {"content": "Harbour # has a lighthouse", "type": "fact"},
    "memory_update": {"id": "SUBJECT", "content": "The harbour opens at #, or so they say"},
    "memory_supersede": {"old_id": "SUBJECT", "content": "Now the harbour opens at #"},
    "memory_delete": {"id": "SUBJECT"},
    "memory_restore": {"id": "SUBJECT"},
}


@dataclass(frozen=True)
class Fault:
    """What happens at the nth operation, and the code that the call then answers with."""

    failing: Callable[[int], AbstractContextManager[None]]
    code: str


@dataclass(frozen=True)
class Failing:
    """A caller at a store that can be made to fail. `has_struck` tells whether the last fault happened."""

    agent: Agent
    faults: list[Fault]
    has_struck: Callable[[], bool]
    numbers: Iterator[int] = field(default_factory=count)


@contextmanager
def _on_disk(stores: SqliteStores, clock: ManualClock) -> Generator[Failing]:
    disk = FaultyDisk()
    faults = [
        Fault(lambda at: disk.failing(at, full_disk), "store_full"),
        Fault(lambda at: disk.failing(at, broken_disk, lasting=True), "store_damaged"),
        Fault(lambda at: disk.failing(at, full_disk, lasting=True), "store_full"),
        Fault(lambda at: disk.failing(at, broken_disk), "store_damaged"),
    ]
    with _opened(open_database(stores.fresh(), clock, vfs=disk.name)) as database:
        yield Failing(Agent(database, clock), faults, lambda: disk.struck)


@contextmanager
def _on_server(stores: PostgresStores, clock: ManualClock, patch: pytest.MonkeyPatch) -> Generator[Failing]:
    server = FaultyServer()
    patch.setattr(psycopg, "connect", server.connect)
    faults = [
        Fault(lambda at: server.failing(at, full_server), "store_full"),
        Fault(lambda at: server.failing(at, lost_server), "store_unreachable"),
        Fault(lambda at: server.failing(at, broken_server), "store_damaged"),
    ]
    with _opened(open_database(stores.fresh(), clock)) as database:
        yield Failing(Agent(database, clock), faults, lambda: server.struck)


@contextmanager
def _opened(database: Database) -> Generator[Database]:
    try:
        yield database
    finally:
        database.close()


def _subject(agent: Agent, tool: str, number: int) -> str:
    """A memory that the tool can change."""
    memory_id = agent.call("memory_write", content=f"The harbour of island {number} is deep", type="fact")[
        "id"
    ]
    if tool == "memory_restore":
        agent.call("memory_delete", id=memory_id)
    return memory_id


def _arguments(tool: str, subject: str, number: int) -> dict[str, object]:
    return {
        name: value.replace("SUBJECT", subject).replace("#", str(number))
        for name, value in CHANGES[tool].items()
    }


def _picture(agent: Agent, subject: str) -> tuple[Any, ...]:
    """All that reading tells of the harbour."""
    return (
        agent.call("memory_get", id=subject),
        agent.call("memory_history", memory_id=subject)["events"],
        {
            hit["id"]
            for hit in agent.call("memory_search", query="harbour", search_mode="keyword", k=100)["hits"]
        },
    )


def _fail_everywhere(store: Failing, tool: str, faults: list[Fault]) -> int:
    """Lets the call fail at its first operation, its second, and so on until it succeeds untouched."""
    agent, at, failures = store.agent, 0, 0
    subject = _subject(agent, tool, next(store.numbers))
    before = _picture(agent, subject)
    while True:
        fault = faults[at % len(faults)]
        at += 1
        with fault.failing(at):
            outcome = agent.outcome(tool, _arguments(tool, subject, next(store.numbers)))
            during = _picture(agent, subject) if outcome.error else ()
        if outcome.error is None:
            assert _picture(agent, subject) != before
            if not store.has_struck():
                return failures
            subject = _subject(agent, tool, next(store.numbers))
            before = _picture(agent, subject)
            continue
        failures += 1
        assert (outcome.error.code, bool(outcome.error.hint)) == (fault.code, True), outcome.text
        assert during == before
        written = agent.call("memory_write", content=f"Lantern {next(store.numbers)} is lit", type="fact")
        assert written["status"] == "created"


def _assert_sound(agent: Agent) -> None:
    with agent.database.read("local") as reader:
        assert integrity.faults(reader, agent.database.heads.read(), agent.clock.now()) == []


@pytest.mark.case("B47")
@pytest.mark.parametrize("tool", CHANGES)
def test_a_call_that_the_disk_fails_anywhere_changes_nothing(
    sqlite_stores: SqliteStores, clock: ManualClock, tool: str
) -> None:
    with _on_disk(sqlite_stores, clock) as store:
        for faults in size([store.faults], [[fault] for fault in store.faults]):
            assert _fail_everywhere(store, tool, faults) >= 3
            _assert_sound(store.agent)
    sqlite_stores.discard()


@pytest.mark.case("B47")
@pytest.mark.parametrize("tool", CHANGES)
def test_a_call_that_the_server_fails_anywhere_changes_nothing(
    postgres_stores: PostgresStores, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    with _on_server(postgres_stores, clock, monkeypatch) as store:
        for faults in size([store.faults], [[fault] for fault in store.faults]):
            assert _fail_everywhere(store, tool, faults) >= 10
            _assert_sound(store.agent)
    postgres_stores.discard()
