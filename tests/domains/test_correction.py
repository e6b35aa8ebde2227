"""Every write is checked: what says the same is one memory, what says otherwise ends or is asked about."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.memories.jobs import embed
from m3_memory.domains.memories.queries import open_beliefs_of
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from tests.callers import Agent, embedder_named

OLD = "The gateway listens on port 8080."
NEW = "The gateway listens on port 9090."


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock)


def write(agent: Agent, content: str = OLD, **more: object) -> dict[str, Any]:
    return agent.call("memory_write", content=content, type="fact", **more)


def state(agent: Agent, memory_id: str, **more: object) -> str:
    return agent.call("memory_get", id=memory_id, **more)["status"]


def later(agent: Agent) -> None:
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(60.0)


def test_a_newer_value_ends_the_older_and_one_call_takes_that_back(agent: Agent) -> None:
    old = write(agent)["id"]
    later(agent)
    answer = write(agent, NEW)
    assert (answer["status"], answer["superseded"]) == ("superseding", [old])
    assert any("memory_unsupersede" in warning for warning in answer["warnings"])
    assert state(agent, old) == "not_current"
    later(agent)
    agent.call("memory_unsupersede", id=old)
    assert (state(agent, old), state(agent, answer["id"])) == ("current", "not_current")


@pytest.mark.case("B13")
def test_statements_of_one_shape_about_other_subjects_stand_side_by_side(agent: Agent) -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVW"
    said = [f"service {letter} listens on port {8001 + place}" for place, letter in enumerate(letters)]
    written = [write(agent, content)["id"] for content in said[:3]]
    later(agent)
    items = [{"content": content, "type": "fact"} for content in said[3:]]
    written += [each["id"] for each in agent.call("memory_write_bulk", items=items)["results"]]
    assert len(set(written)) == 23
    assert {state(agent, memory_id) for memory_id in written} == {"current"}


@pytest.mark.case("B22")
def test_what_arrives_late_ends_where_the_newer_begins(agent: Agent) -> None:
    oslo = write(agent, "The office is in Oslo.", valid_from="2025-06-01")["id"]
    later(agent)
    rome = write(agent, "The office is in Rome.", valid_from="2024-01-01")
    assert rome["superseded"] == []
    assert any("2025-06-01" in warning for warning in rome["warnings"])
    assert (state(agent, oslo), state(agent, rome["id"])) == ("current", "not_current")
    hits = agent.call("memory_search", query="the office", as_of="2025-01-01")["hits"]
    assert [hit["id"] for hit in hits] == [rome["id"]]


def test_a_pinned_memory_is_never_ended_by_a_machine(agent: Agent) -> None:
    old = write(agent)["id"]
    agent.call("memory_pin", id=old)
    later(agent)
    answer = write(agent, NEW)
    assert (answer["status"], answer["conflicts"][0]["id"]) == ("disputed", old)
    assert answer["conflicts"][0]["reason"] == "pinned"
    assert answer["review_id"]
    assert state(agent, old) == "current"


@pytest.mark.parametrize(("mode", "status"), [("propose", "disputed"), ("off", "created")])
def test_the_setting_says_what_a_contradiction_does(agent: Agent, mode: Any, status: str) -> None:
    asked = replace(agent, contradiction=mode)
    old = write(asked)["id"]
    later(asked)
    assert write(asked, NEW)["status"] == status
    assert state(asked, old) == "current"


def test_a_value_that_comes_back_soon_in_other_words_is_asked_about(agent: Agent) -> None:
    write(agent)
    later(agent)
    second = write(agent, NEW)
    assert second["status"] == "superseding"
    later(agent)
    back = write(agent, "The gateway is listening on port 8080 now.")
    assert (back["status"], back["conflicts"][0]["reason"]) == ("disputed", "value_returned")
    assert state(agent, second["id"]) == "current"


def test_another_scope_is_told_of_and_left_alone(agent: Agent) -> None:
    old = write(agent, scope="user")["id"]
    later(agent)
    answer = write(agent, NEW)
    assert answer["status"] == "created"
    assert any(old in warning for warning in answer["warnings"])
    assert state(agent, old) == "current"


@pytest.mark.case("B15")
def test_five_wordings_at_once_are_one_memory_and_four_sightings(agent: Agent) -> None:
    wordings = (
        "The gateway listens on port 8080.",
        "The gateway is listening on port 8080.",
        "The gateway is listening on port 8080 now.",
        "The gateway listens on port 8080 now.",
        "Now the gateway listens on port 8080.",
    )

    def say(content: str) -> dict[str, Any]:
        return write(agent, content)

    with ThreadPoolExecutor(len(wordings)) as pool:
        answers = list(pool.map(say, wordings))
    assert Counter(answer["status"] for answer in answers) == {"created": 1, "duplicate": 4}
    assert len({answer["id"] for answer in answers}) == 1


def test_of_sixteen_that_replace_one_memory_one_wins_and_the_others_are_told(agent: Agent) -> None:
    old = write(agent)["id"]
    later(agent)

    def supersede(number: int) -> dict[str, Any]:
        said = {"old_id": old, "content": f"The gateway listens on port {9000 + number}."}
        found = agent.outcome("memory_supersede", said)
        return found.structured or {"refused": found.text}

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(supersede, range(16)))
    (winner,) = (answer for answer in answers if "id" in answer)
    assert winner["superseded"] == [old]
    losers = [answer["refused"] for answer in answers if "refused" in answer]
    assert len(losers) == 15
    assert all("not_current" in told and winner["id"] in told for told in losers)
    events = agent.call("memory_history", memory_id=old, limit=100)["events"]
    assert Counter(event["kind"] for event in events) == {"create": 1, "supersede": 1}


@pytest.mark.parametrize(
    ("said", "old_state"), [(NEW, "superseded"), ("The gateway is listening on port 8080.", "current")]
)
def test_a_vector_that_comes_late_brings_the_same_check(agent: Agent, said: str, old_state: str) -> None:
    old = write(agent)["id"]
    later(agent)
    new = write(replace(agent, embedder=embedder_named("off")), said)
    assert new["status"] == "created"
    later(agent)
    bring_late(agent, new["id"])
    bring_late(agent, new["id"])
    found = agent.call("memory_get", id=old)
    assert found.get("state", "current") == old_state
    assert state(agent, new["id"]) == ("current" if old_state == "superseded" else "not_current")


def bring_late(agent: Agent, memory_id: str) -> None:
    """What a worker does with the job of a memory's vector."""
    worker = replace(agent.caller, agent_id="worker", surface="worker")
    settings = Settings(home=Path("unused"))
    context = Context(worker, agent.database, agent.embedder, agent.clock, settings)
    with context.read() as reader:
        belief = open_beliefs_of(reader, [memory_id]).get(memory_id)
    if belief is not None:
        storing = embed(context, {"item": belief.item})
        with context.write() as writer:
            storing(writer)
