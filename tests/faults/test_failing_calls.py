"""A call that the disk or the server fails is refused whole, says why, and stands in no other's way."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from m3_memory.catalog.tool import Effect
from m3_memory.kernel.clock import ManualClock
from m3_memory.kernel.decay import DAY_SECONDS
from m3_memory.storage import integrity, open_database
from m3_memory.storage.database import Database
from m3_memory.storage.sql import Row, sql
from m3_memory.toolbox import CATALOG
from tests.callers import Agent
from tests.faults.server import FaultyServer, broken_server, full_server, lost_server
from tests.faults.vfs import FaultyDisk, broken_disk, full_disk
from tests.sizes import size
from tests.stores import PostgresStores, SqliteStores

# What each call is given: SUBJECT and OTHER stand for memories' ids, # for a number that no call before had.
CHANGES: dict[str, dict[str, object]] = {
    "memory_write": {"content": "Harbour # has a lighthouse", "type": "fact"},
    "memory_update": {"id": "SUBJECT", "content": "The harbour opens at #, or so they say"},
    "memory_supersede": {"old_id": "SUBJECT", "content": "Now the harbour opens at #"},
    "memory_delete": {"id": "SUBJECT"},
    "memory_restore": {"id": "SUBJECT"},
    "memory_undo": {"memory_id": "SUBJECT"},
    "memory_unsupersede": {"id": "SUBJECT"},
    "memory_link": {"from_id": "SUBJECT", "to_id": "OTHER", "relationship_type": "supports"},
    "memory_link_bulk": {"links": [{"from_id": "SUBJECT", "to_id": "OTHER"}]},
    "memory_unlink": {"from_id": "SUBJECT", "to_id": "OTHER", "relationship_type": "extends"},
    "memory_pin": {"id": "SUBJECT"},
    "memory_write_bulk": {
        "items": [
            {"content": f"Harbour # has a {what}", "type": "fact"} for what in ("pier", "crane", "pier")
        ]
    },
    "memory_update_bulk": {
        "updates": [{"id": "SUBJECT", "title": "Harbour"}, {"id": "OTHER", "content": "The quay was # long"}]
    },
    "memory_delete_bulk": {"ids": ["SUBJECT", "OTHER"]},
    "memory_write_from_file": {"path": "FOLDER/harbour-#.md", "type": "fact"},
    "memory_unpin": {"id": "SUBJECT"},
    "agent_register": {"role": "reviewer #"},
    "agent_heartbeat": {},
    "review_propose": {"steps": [{"act": "delete", "id": "SUBJECT"}], "reason": "harbour #"},
    "agent_offline": {},
    "memory_import": {
        "data": '{"content": "Harbour # was imported", "type": "fact"}\n'
        '{"kind": "edge", "from_id": "SUBJECT", "to_id": "OTHER", "type": "supports"}'
    },
    "memory_feedback": {"memory_id": "SUBJECT", "feedback": "misleading"},
    "memory_set_trust": {"id": "SUBJECT", "state": "rejected", "reason": "harbour #"},
    "tombstone_lift": {"id": "SUBJECT", "reason": "harbour #"},
    "agent_set_trust": {"agent_id": "claude", "trust_score": "0.5#1"},
    "memory_set_retention": {"agent_id": "nobody-#", "max_memories": 5},
    "memory_dedup": {"threshold": 0.8, "dry_run": False},
    "review_decide": {"review_id": "REVIEW", "digest": "DIGEST", "decision": "accept"},
    "curate_memory_apply": {
        "plan": {
            "update": [{"id": "SUBJECT", "title": "Harbour #"}],
            "link": [{"from_id": "SUBJECT", "to_id": "OTHER", "relationship_type": "extends"}],
        }
    },
}

BEFORE: dict[str, tuple[str, dict[str, object]]] = {
    "memory_restore": ("memory_delete", {"id": "SUBJECT"}),
    "memory_unsupersede": ("memory_supersede", {"old_id": "SUBJECT", "content": "The harbour # is shut"}),
    "memory_unlink": (
        "memory_link",
        {"from_id": "SUBJECT", "to_id": "OTHER", "relationship_type": "extends"},
    ),
    "memory_unpin": ("memory_pin", {"id": "SUBJECT"}),
    "tombstone_lift": ("memory_set_trust", {"id": "SUBJECT", "state": "rejected"}),
    "memory_dedup": ("memory_write", {"content": "Now the harbour of island # is deep", "type": "fact"}),
    "review_decide": (
        "review_propose",
        {"steps": [{"act": "delete", "id": "SUBJECT"}], "reason": "no harbour #"},
    ),
}
"""What is done to the subject first, so that a call has something to change."""


ELSEWHERE = {
    "m3_call": "it runs the others",
    "memory_maintenance": "it is many transactions, of which each is whole: the last test",
    "gdpr_forget": "it takes a preview's word: test_failing_erasure.py",
    "gdpr_export": "it changes nothing",
    "tombstone_list": "it changes nothing",
}
"""Why a changing tool is not made to fail here."""


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


class Subject(NamedTuple):
    """The ids of what a call changes; of a question about it, its id and digest."""

    memory_id: str
    other_id: str
    review_id: str = ""
    digest: str = ""

    def filled(self, arguments: dict[str, object], number: int) -> dict[str, object]:
        folder = Path(os.environ["M3_HOME"])
        folder.mkdir(exist_ok=True)
        (folder / f"harbour-{number}.md").write_text(f"Harbour {number} has a mole")
        text = json.dumps(arguments).replace("SUBJECT", self.memory_id).replace("OTHER", self.other_id)
        text = text.replace("REVIEW", self.review_id).replace("DIGEST", self.digest)
        text = text.replace("FOLDER", str(folder))
        return json.loads(text.replace("#", str(number)))


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
        yield Failing(_agent(database, clock), faults, lambda: disk.struck)


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
        yield Failing(_agent(database, clock), faults, lambda: server.struck)


@contextmanager
def _opened(database: Database) -> Generator[Database]:
    try:
        yield database
    finally:
        database.close()


def _agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock).who(folder=os.environ["M3_HOME"])


def _who(agent: Agent, tool: str) -> Agent:
    """Who calls the tool: the operator, where nobody else may."""
    operates = CATALOG.find(tool).effect is Effect.OPERATE
    return replace(agent, caller=agent.caller.as_operator()) if operates else agent


def _subject(agent: Agent, tool: str, number: int) -> Subject:
    """A memory that the tool can change, and another."""
    names = (f"The harbour of island {number} is deep", f"The quay of island {number} is long")
    subject = Subject(*(agent.call("memory_write", content=name, type="fact")["id"] for name in names))
    if before := BEFORE.get(tool):
        unchecked = replace(_who(agent, before[0]), contradiction="off")
        told = unchecked.call(before[0], **subject.filled(before[1], number))
        if "digest" in told:
            return subject._replace(review_id=told["review_id"], digest=told["digest"])
    return subject


def _picture(agent: Agent, subject: Subject) -> tuple[Any, ...]:
    """All that reading tells of the harbour, and of who asks."""
    memory_id = subject.memory_id
    return (
        agent.call("agent_get"),
        agent.call("review_list", limit=100)["reviews"],
        _policies(agent),
        agent.call("memory_get", id=memory_id),
        agent.call("memory_history", memory_id=memory_id)["events"],
        agent.call("memory_graph", memory_id=memory_id)["edges"],
        {
            hit["id"]
            for hit in agent.call("memory_search", query="harbour", search_mode="keyword", k=100)["hits"]
        },
    )


def _policies(agent: Agent) -> list[Row]:
    with agent.database.read("local") as reader:
        return reader.rows(sql("SELECT agent_id, max_memories FROM retention_policies ORDER BY agent_id"))


def _fail_everywhere(store: Failing, tool: str, faults: list[Fault]) -> int:
    """Lets the call fail at its first operation, its second, and so on until it succeeds untouched."""
    agent, at, failures = store.agent, 0, 0
    subject = _subject(agent, tool, next(store.numbers))
    before = _picture(agent, subject)
    while True:
        fault = faults[at % len(faults)]
        at += 1
        with fault.failing(at):
            outcome = _who(agent, tool).outcome(tool, subject.filled(CHANGES[tool], next(store.numbers)))
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


def test_every_tool_that_changes_the_store_is_made_to_fail() -> None:
    changing = {tool.name for tool in CATALOG.tools if tool.effect is not Effect.READ}
    assert CHANGES.keys() | ELSEWHERE.keys() == changing


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
            assert _fail_everywhere(store, tool, faults) >= 7
            _assert_sound(store.agent)
    postgres_stores.discard()


def test_maintenance_that_the_disk_fails_is_whole_in_its_parts_and_finished_by_the_next(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    """What expired is closed once, with one event each, however often the run failed before."""
    with _on_disk(sqlite_stores, clock) as store:
        agent, failures, at, ids = store.agent, 0, 0, list[str]()
        while True:
            said = {"content": f"Ship {next(store.numbers)} is in", "type": "fact", "scope": "session"}
            ids.append(agent.call("memory_write", **said)["id"])
            clock.advance(2 * DAY_SECONDS)
            at += 1
            with store.faults[at % 4].failing(at):
                outcome = agent.outcome("memory_maintenance", {})
            _assert_sound(agent)
            assert {agent.call("memory_get", id=id_)["state"] for id_ in ids} == {"expired"}
            if outcome.error is None and not store.has_struck():
                break
            failures += outcome.error is not None
        assert failures >= 3
        assert agent.call("memory_maintenance", dry_run=True)["expired"] == 0
        for id_ in ids:
            kinds = [event["kind"] for event in agent.call("memory_history", memory_id=id_)["events"]]
            assert kinds == ["expire", "create"]
    sqlite_stores.discard()
