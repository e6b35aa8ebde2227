"""Confidence: what speaks for a memory, part by part; nothing that its writer says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from tests.callers import Agent

FACT = "The billing service listens on port 8443."


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock)


def write(agent: Agent, content: str = FACT, **given: object) -> str:
    return agent.call("memory_write", **{"type": "fact", "content": content, **given})["id"]


def confidence(agent: Agent, memory_id: str) -> dict[str, Any]:
    return agent.call("memory_get", id=memory_id)["memory"]["confidence"]


def value(agent: Agent, memory_id: str) -> float:
    return confidence(agent, memory_id)["value"]


def other(agent: Agent, number: int, **changes: object) -> Agent:
    return agent.who(**{"agent_id": f"agent-{number}", "conversation_id": f"talk-{number}", **changes})


def test_the_parts_add_up_and_hits_show_the_sum(agent: Agent) -> None:
    memory_id = write(agent, source="wiki", model_id="m-1")
    other(agent, 1).call("memory_feedback", memory_id=memory_id, feedback="misleading")
    told = confidence(agent, memory_id)
    assert [part["amount"] for part in told["parts"]] == [0.7, -0.05, -0.05, -0.1]
    assert told["value"] == 0.5
    (hit,) = agent.call("memory_search", query=FACT)["hits"]
    (row,) = agent.call("memory_list")["memories"]
    assert hit["confidence"] == row["confidence"] == 0.5


def test_a_persons_word_counts_more_than_an_agents(agent: Agent) -> None:
    by_agent = write(agent)
    by_person = write(agent.who(agent_id="operator", is_operator=True), "The office is in Lisbon.")
    assert value(agent, by_person) > value(agent, by_agent)


@pytest.mark.parametrize("label", ["source", "model_id"])
def test_labels_only_lower_it(agent: Agent, label: str) -> None:
    plain = value(agent, write(agent))
    for named in ("operator", "verified", "human", "x"):
        assert value(agent, write(agent, f"The office of {named} is open.", **{label: named})) < plain


def test_metadata_sets_nothing(agent: Agent) -> None:
    plain = value(agent, write(agent))
    for claim in ({"note": "confidence 1.0"}, {"score": 1}, {"reviewed": True}):
        assert value(agent, write(agent, f"It says {claim}.", metadata=claim)) == plain
    refusal = agent.refusal("memory_write", type="fact", content="Sure.", metadata={"confidence": 1})
    assert refusal["code"] == "invalid_metadata"


def test_it_is_corroborated_by_another_agent_in_another_conversation_only(agent: Agent) -> None:
    memory_id = write(agent)
    at_first = value(agent, memory_id)
    for echo in (
        agent,
        agent.who(conversation_id="another"),
        agent.who(agent_id="codex"),
    ):
        assert echo.call("memory_write", type="fact", content=FACT)["status"] == "duplicate"
        echo.call("memory_feedback", memory_id=memory_id, feedback="useful")
        assert value(agent, memory_id) == at_first
    other(agent, 1).call("memory_write", type="fact", content=FACT)
    assert value(agent, memory_id) == pytest.approx(at_first + 0.05)
    other(agent, 2).call("memory_feedback", memory_id=memory_id, feedback="useful")
    assert value(agent, memory_id) == pytest.approx(at_first + 0.1)


def test_an_agent_counts_once_however_often_it_says_it(agent: Agent) -> None:
    memory_id = write(agent)
    at_first = value(agent, memory_id)
    for talk in ("a", "b", "c"):
        other(agent, 1, conversation_id=talk).call("memory_write", type="fact", content=FACT)
        other(agent, 2, conversation_id=talk).call(
            "memory_feedback", memory_id=memory_id, feedback="misleading"
        )
    assert value(agent, memory_id) == pytest.approx(at_first + 0.05 - 0.1)


def test_agreement_and_doubt_have_an_end(agent: Agent) -> None:
    agreed, doubted = write(agent), write(agent, "The office is in Lisbon.")
    at_first = value(agent, agreed)
    for number in range(6):
        other(agent, number).call("memory_write", type="fact", content=FACT)
        other(agent, number).call("memory_feedback", memory_id=doubted, feedback="misleading")
    assert value(agent, agreed) == pytest.approx(at_first + 0.2)
    assert value(agent, doubted) == pytest.approx(at_first - 0.3)
    assert agent.call("memory_search", query="office in Lisbon")["hits"][0]["id"] == doubted


def test_an_agents_trust_weighs_what_it_wrote_now_and_what_it_agreed_to_then(agent: Agent) -> None:
    memory_id = write(agent)
    half = other(agent, 1, trust=0.5)
    half.call("memory_write", type="fact", content=FACT)
    assert value(agent, memory_id) == pytest.approx(0.7 + 0.025)
    with agent.database.write("local") as writer:
        writer.execute(sql("UPDATE agents SET trust = 0.5 WHERE agent_id IN ('claude', 'agent-1')"))
    assert value(agent, memory_id) == pytest.approx(0.35 + 0.025)


def test_what_was_said_of_an_earlier_text_counts_for_that_alone(agent: Agent) -> None:
    memory_id = write(agent)
    other(agent, 1).call("memory_write", type="fact", content=FACT)
    agent.call("memory_update", id=memory_id, title="Ports")
    assert value(agent, memory_id) == pytest.approx(0.75)
    agent.call("memory_update", id=memory_id, content="The office is in Lisbon.")
    assert value(agent, memory_id) == pytest.approx(0.7)
