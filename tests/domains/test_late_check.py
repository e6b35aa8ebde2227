"""What is checked when a vector comes later than its text: as much as the settings allow, and once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.memories.jobs import embed
from m3_memory.inference.embedder import Embedder
from m3_memory.inference.hashing import HashingEmbedder
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import queue
from m3_memory.storage.database import Database
from tests.callers import Agent, Hashing, embedder_named

OLD = "The gateway listens on port 8080."
SAME = "The gateway is listening on port 8080."
NEW = "The gateway listens on port 9090."


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock)


@pytest.fixture
def operator(agent: Agent) -> Agent:
    return replace(agent, caller=agent.caller.as_operator())


def write(agent: Agent, content: str, **more: object) -> str:
    """The id of a memory that is a minute old."""
    found = agent.call("memory_write", content=content, type="fact", **more)["id"]
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(60)
    return found


def modelless(agent: Agent) -> Agent:
    """The same without a model: what it writes waits for its vector."""
    return replace(agent, embedder=embedder_named("off"))


def bring_late(agent: Agent, contradiction: Literal["auto", "propose", "off"] = "auto") -> int:
    """Does all jobs that wait for a model, as a worker does; how many there were."""
    worker = replace(agent.caller, agent_id="worker", surface="worker")
    settings = Settings(home=Path("unused"), contradiction=contradiction)
    context = Context(worker, agent.database, agent.embedder, agent.clock, settings)
    done = 0
    while claimed := queue.claim(agent.database, "worker", ["embed"]):
        storing = embed(context, claimed.payload)
        with context.write() as writer:
            storing(writer)
            queue.finish(writer, claimed)
        done += 1
    return done


def states(agent: Agent, *memory_ids: str) -> list[str]:
    found = [agent.call("memory_get", id=memory_id) for memory_id in memory_ids]
    return [each.get("state", each["status"]) for each in found]


def questions(operator: Agent) -> list[dict[str, Any]]:
    return operator.call("review_list")["reviews"]


@pytest.mark.parametrize(
    ("said", "kind", "accepted"),
    [(NEW, "conflict", ["superseded", "current"]), (SAME, "duplicate", ["current", "withdrawn"])],
)
def test_a_late_vector_only_proposes_where_the_setting_says_so(
    agent: Agent, operator: Agent, said: str, kind: str, accepted: list[str]
) -> None:
    old, late = write(agent, OLD), write(modelless(agent), said)
    assert bring_late(agent, "propose") == 1
    assert states(agent, old, late) == ["current", "current"]
    (question,) = questions(operator)
    assert question["kind"] == kind
    decided = {"review_id": question["review_id"], "digest": question["digest"], "decision": "accept"}
    operator.call("review_decide", **decided)
    assert states(agent, old, late) == accepted


@pytest.mark.parametrize("kept", ["pinned", "propose"])
def test_a_late_vector_cuts_short_no_memory_that_a_machine_may_not_end(
    agent: Agent, operator: Agent, kept: str
) -> None:
    newer = write(agent, OLD, valid_from="2025-06-01")
    late = write(modelless(agent), NEW, valid_from="2024-01-01")
    if kept == "pinned":
        agent.call("memory_pin", id=late)
    assert bring_late(agent, "propose" if kept == "propose" else "auto") == 1
    assert states(agent, newer, late) == ["current", "current"]
    (question,) = questions(operator)
    decided = {"review_id": question["review_id"], "digest": question["digest"], "decision": "accept"}
    operator.call("review_decide", **decided)
    assert states(agent, newer, late) == ["current", "superseded"]


@pytest.mark.parametrize("said", [NEW, SAME])
def test_with_the_check_switched_off_a_late_vector_is_only_a_vector(
    agent: Agent, operator: Agent, said: str
) -> None:
    old, late = write(agent, OLD), write(modelless(agent), said)
    assert bring_late(agent, "off") == 1
    assert states(agent, old, late) == ["current", "current"]
    assert questions(operator) == []
    assert late in {
        hit["id"] for hit in agent.call("memory_search", query=said, search_mode="vector")["hits"]
    }


class Loading:
    """A model that is on its way."""

    state = embedder_named("on").state
    reason = "the model is still loading"

    def get(self, wait_seconds: float = 1.5) -> None:
        del wait_seconds


def test_a_vector_computed_anew_is_no_new_statement(agent: Agent) -> None:
    """Two that stood side by side, because a person said so, do so whatever becomes of their vectors."""
    old = write(agent, OLD)
    new = write(replace(agent, contradiction="off"), NEW)
    assert states(agent, old, new) == ["current", "current"]
    loading = replace(agent, embedder=Loading())
    for memory_id in (old, new):
        assert loading.call("memory_update", id=memory_id, reembed=True)["changed"] == ["vector"]
        found = agent.call("memory_search", query=OLD, search_mode="vector")["hits"]
        assert memory_id in {hit["id"] for hit in found}, "it keeps its vectors until there are new ones"
    assert bring_late(agent) == 2
    assert states(agent, old, new) == ["current", "current"]
    assert agent.call("memory_update", id=new, reembed=True)["changed"] == ["vector"]
    assert states(agent, old, new) == ["current", "current"]


class NewerModel(HashingEmbedder):
    """Another model: its vectors are compared with its own alone."""

    fingerprint = HashingEmbedder.fingerprint._replace(name="newer")


class Newer(Hashing):
    def get(self, wait_seconds: float = 1.5) -> Embedder:
        return NewerModel()


def test_a_new_version_gets_the_vectors_that_were_asked_for_before_it(agent: Agent) -> None:
    """Its labels change while a newer model is on its way, and that model finds it all the same."""
    memory_id = write(agent, OLD)
    loading, newer = replace(agent, embedder=Loading()), replace(agent, embedder=Newer())
    assert loading.call("memory_update", id=memory_id, reembed=True)["changed"] == ["vector"]
    assert loading.call("memory_update", id=memory_id, metadata={"team": "net"})["changed"] == ["metadata"]
    assert bring_late(newer) == 2
    found = newer.call("memory_search", query=OLD, search_mode="vector")["hits"]
    assert memory_id in {hit["id"] for hit in found}


def test_an_agent_takes_back_what_a_machine_merged_and_its_sightings_with_it(
    agent: Agent, operator: Agent
) -> None:
    old, late = write(agent, OLD), write(modelless(agent), SAME)
    for name in ("codex", "gemini"):
        agent.who(agent_id=name, conversation_id=name).call("memory_write", content=SAME, type="fact")
    alone = agent.call("memory_get", id=old)["memory"]["confidence"]["value"]
    assert bring_late(agent) == 1
    assert states(agent, old, late) == ["current", "withdrawn"]
    assert agent.call("memory_get", id=old)["memory"]["confidence"]["value"] > alone
    agent.call("memory_undo", memory_id=late)
    assert states(agent, old, late) == ["current", "current"]
    assert agent.call("memory_get", id=old)["memory"]["confidence"]["value"] == alone


def test_an_agent_does_not_take_back_what_a_person_merged(agent: Agent, operator: Agent) -> None:
    old, late = write(agent, OLD), write(modelless(agent), SAME)
    steps = [{"act": "merge", "id": late, "other_id": old}]
    agent.call("review_propose", steps=steps, reason="they say the same")
    (question,) = questions(operator)
    decided = {"review_id": question["review_id"], "digest": question["digest"], "decision": "accept"}
    operator.call("review_decide", **decided)
    assert states(agent, old, late) == ["current", "withdrawn"]
    assert agent.refusal("memory_undo", memory_id=late)["code"] == "needs_operator"
