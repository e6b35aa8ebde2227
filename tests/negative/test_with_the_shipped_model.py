"""With the model inside the wheel: what is near in meaning is neither ended nor doubted for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.sql import sql
from tests.callers import Agent

AREAS = (
    "ledger search mail cart login photo audit report stock price refund chat video map quote"
    " coupon survey backup tax shipping catalog weather review parcel garden"
).split()
PARTS = (
    "api worker gateway proxy cache scheduler indexer exporter importer monitor router broker sync feed relay"
    " notifier archiver renderer resolver auditor"
).split()

MILD = (
    "The gateway listens on port 8080.",
    "The gateway is listening on port 8080.",
    "The gateway is listening on port 8080 now.",
    "The gateway listens on port 8080 now.",
    "Now the gateway listens on port 8080.",
)
STRONG = {
    "deploy": (
        "We deploy on Fridays at 14:00.",
        "Deployments happen on Fridays at 14:00.",
        "Friday 14:00 is when we deploy.",
        "Our deploys go out every Friday at 14:00.",
        "The deploy is at 14:00 on Fridays.",
    ),
    "port": (
        "The payment gateway listens on port 8443.",
        "The payment gateway uses port 8443.",
        "Port 8443 is where the payment gateway listens.",
        "We run the payment gateway on port 8443.",
        "The port of the payment gateway is 8443.",
    ),
    "staging": (
        "Staging runs PostgreSQL 16.",
        "The staging environment is on PostgreSQL 16.",
        "We use PostgreSQL 16 in staging.",
        "PostgreSQL 16 is what staging runs.",
        "In staging, the database is PostgreSQL 16.",
    ),
    "indentation": (
        "The team uses tabs for indentation in Makefiles.",
        "Makefiles are indented with tabs.",
        "In Makefiles we indent with tabs.",
        "Tabs are used for indentation in Makefiles.",
        "Indentation in Makefiles is done with tabs.",
    ),
}
"""Five wordings of one fact each, other in their grammar and their words."""


@pytest.fixture
def agent(settings: Settings, clock: ManualClock) -> Generator[Agent]:
    """An agent of a project whose store has the default model, loaded."""
    shipped = replace(settings, embedder="minilm")
    with closing(App(shipped, clock, HostEnvironment())) as app:
        assert app.embedder.get(30)
        caller = Caller("local", "claude", "session-1", project="atlas")
        yield Agent(app.database, clock, caller, app.embedder)


@pytest.mark.case("B13")
def test_five_hundred_services_on_five_hundred_ports_are_live_and_undoubted(
    agent: Agent, clock: ManualClock
) -> None:
    """Issue 4, point 2; and a new port of one of them an hour later moves none of the others."""
    names = [f"{area}-{part}" for area in AREAS for part in PARTS]
    items = [
        {"content": f"service {name} listens on port {8000 + place}", "type": "fact"}
        for place, name in enumerate(names)
    ]
    assert (len(items), agent.call("memory_write_bulk", items=items)["created"]) == (500, 500)
    assert agent.call("memory_list", counts=True)["total"] == 500
    assert agent.call("review_list", limit=1)["reviews"] == []
    clock.advance(3600)
    new = agent.call("memory_write", content="service mail-proxy listens on port 9999", type="fact")
    (old,) = new["superseded"]
    was = agent.call("memory_get", id=old, known_at="2026-01-01T00:30:00Z")["memory"]["content"]
    assert was == f"service mail-proxy listens on port {8000 + names.index('mail-proxy')}"
    assert agent.call("memory_list", counts=True)["total"] == 500


def said_at_once(agent: Agent, wordings: Sequence[str]) -> list[dict[str, Any]]:
    """The answers to five agents, each in a conversation of its own."""

    def say(number: int) -> dict[str, Any]:
        one = agent.who(agent_id=f"agent-{number}", conversation_id=f"c-{number}")
        return one.call("memory_write", content=wordings[number], type="fact")

    with ThreadPoolExecutor(5) as pool:
        return list(pool.map(say, range(5)))


def sightings(agent: Agent) -> int:
    with agent.database.read("local") as reader:
        return len(reader.rows(sql("SELECT 1 FROM memory_corroborations")))


@pytest.mark.case("B15")
def test_five_agents_that_say_one_fact_nearly_alike_leave_one_memory_and_four_sightings(agent: Agent) -> None:
    answers = said_at_once(agent, MILD)
    assert Counter(answer["status"] for answer in answers) == {"created": 1, "duplicate": 4}
    assert agent.call("memory_list", counts=True)["total"] == 1
    assert sightings(agent) == 4


@pytest.mark.case("B15")
@pytest.mark.parametrize("fact", STRONG)
def test_five_agents_that_say_one_fact_in_five_ways_end_nothing_of_each_other(
    agent: Agent, fact: str
) -> None:
    """Each wording is a sighting of another or stands beside it: what was not understood is not lost."""
    answers = said_at_once(agent, STRONG[fact])
    told = Counter(answer["status"] for answer in answers)
    assert told.keys() <= {"created", "duplicate", "disputed"}
    standing = {row["id"] for row in agent.call("memory_list")["memories"]}
    assert {answer["id"] for answer in answers} == standing
    assert len(standing) == 5 - told["duplicate"] == 5 - sightings(agent)
