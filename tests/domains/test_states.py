"""Pins, feedback and the check of stored text."""

from __future__ import annotations

import pytest

from m3_memory.domains.memories.service.states import LEAST_IMPORTANCE, NOT_USEFUL_STEP, USEFUL_STEP
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.database import Database
from m3_memory.storage.sql import Row, sql
from tests.callers import Agent
from tests.domains.test_memories import MONDAY, SUCCESSOR, found, get, kinds, pass_time, verify, write
from tests.stored import stored
from tests.stores import SqliteStores


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


def ledger(agent: Agent, memory_id: str) -> list[Row]:
    """Who spoke for or against a memory."""
    with agent.database.read(agent.caller.user_id) as reader:
        return reader.rows(
            sql("SELECT agent_id, agrees FROM memory_corroborations WHERE memory_id = ?", memory_id)
        )


def test_a_pin_is_set_once_and_taken_away_once(agent: Agent) -> None:
    memory_id = write(agent)
    for tool, statuses, pinned in (
        ("memory_pin", ["pinned", "unchanged"], True),
        ("memory_unpin", ["unpinned", "unchanged"], False),
    ):
        assert [agent.call(tool, id=name)["status"] for name in (memory_id[:-4], memory_id)] == statuses
        assert get(agent, memory_id)["memory"]["pinned"] is pinned
    assert kinds(agent, memory_id) == ["create", "pin", "pin"]
    reasons = [event.get("reason") for event in agent.call("memory_history", memory_id=memory_id)["events"]]
    assert reasons == ["unpinned", "pinned", None]


def test_a_pin_names_one_memory_that_is_there(agent: Agent) -> None:
    one, two = write(agent), write(agent, content=SUCCESSOR)
    pass_time(agent, agent.call("memory_delete", id=two))
    (elsewhere,) = (write(agent.who(project="borealis")),)
    for tool in ("memory_pin", "memory_unpin"):
        assert agent.refusal(tool, id=two)["code"] == "not_current"
        assert agent.refusal(tool, id=elsewhere)["code"] == "not_found"
        assert agent.refusal(tool, id=one[:7])["code"] == "invalid_id"
    verify(agent, one)
    assert agent.call("memory_pin", id=one)["status"] == "pinned", "it changes nothing that a person verified"


def test_useful_and_not_useful_move_the_importance_by_a_step(agent: Agent) -> None:
    memory_id = write(agent, importance=0.5)
    rated = agent.call("memory_feedback", memory_id=memory_id[:-4])
    assert (rated["status"], rated["importance"]) == ("recorded", 0.5 + USEFUL_STEP)
    rated = agent.call("memory_feedback", memory_id=memory_id, feedback="not_useful")
    assert rated["importance"] == get(agent, memory_id)["memory"]["importance"]
    assert rated["importance"] == pytest.approx(0.5 + USEFUL_STEP - NOT_USEFUL_STEP)
    assert kinds(agent, memory_id) == ["create", "importance", "importance"]


@pytest.mark.parametrize(
    ("said", "start", "end"), [("useful", 0.98, 1.0), ("not_useful", 0.12, LEAST_IMPORTANCE)]
)
def test_feedback_stops_at_a_bound_and_never_hides(agent: Agent, said: str, start: float, end: float) -> None:
    memory_id = write(agent, importance=start)
    for status in ("recorded", "unchanged", "unchanged"):
        rated = agent.call("memory_feedback", memory_id=memory_id, feedback=said)
        assert (rated["status"], rated["importance"]) == (status, end)
    assert found(agent) == [MONDAY["content"]]
    assert kinds(agent, memory_id) == ["create", "importance"]


def test_feedback_leaves_an_importance_below_its_bound_alone(agent: Agent) -> None:
    memory_id = write(agent, importance=0.01)
    rated = agent.call("memory_feedback", memory_id=memory_id, feedback="not_useful")
    assert (rated["status"], rated["importance"]) == ("unchanged", 0.01)


def test_misleading_counts_once_for_each_agent_and_conversation_and_deletes_nothing(agent: Agent) -> None:
    memory_id = write(agent)
    for who, status in (
        (agent, "recorded"),
        (agent, "unchanged"),
        (agent.who(agent_id="codex"), "recorded"),
        (agent.who(conversation_id="session-2"), "recorded"),
    ):
        answer = who.call("memory_feedback", memory_id=memory_id, feedback="misleading")
        assert (answer["status"], answer["importance"]) == (status, 0.5)
    assert sorted(ledger(agent, memory_id), key=str) == [("claude", 0), ("claude", 0), ("codex", 0)]
    assert found(agent) == [MONDAY["content"]]
    assert kinds(agent, memory_id) == ["create", *["corroborate"] * 3]
    assert agent.call("memory_feedback", memory_id=memory_id, feedback="wrong")["feedback"] == "misleading"


def test_feedback_of_another_place_reaches_nothing(agent: Agent) -> None:
    memory_id = write(agent.who(project="borealis"))
    before = stored(agent.database)
    for said in ("useful", "not_useful", "misleading"):
        assert agent.refusal("memory_feedback", memory_id=memory_id, feedback=said)["code"] == "not_found"
    assert stored(agent.database) == before


def test_a_whole_text_is_told_from_an_altered_one(sqlite_stores: SqliteStores, clock: ManualClock) -> None:
    """Somebody's own client changed the file, and the store's guard with it."""
    location = sqlite_stores.fresh()
    agent = Agent(open_database(location, clock), clock)
    memory_id = write(agent)
    agent.call("memory_update", id=memory_id, content=SUCCESSOR)
    answer = agent.call("memory_verify", id=memory_id[:-4])
    assert (
        answer.items()
        >= {
            "id": memory_id,
            "status": "intact",
            "version": 2,
            "checked": 2,
            "violated": [],
            "agent_id": "claude",
        }.items()
    )
    with agent.database.write("local") as writer:
        writer.execute(sql("DROP TRIGGER memory_items_unchanged"))
        writer.execute(sql("UPDATE memory_items SET content = content || '!' WHERE version = 1"))
    found = agent.outcome("memory_verify", {"id": memory_id})
    assert found.structured is not None
    assert (found.structured["status"], found.structured["violated"]) == ("violated", [1])
    assert found.text.startswith(f"INTEGRITY VIOLATION: {memory_id}")
    agent.database.close()
    sqlite_stores.discard()


def test_a_check_sets_no_trust_and_tells_of_deleted_memories_without_their_text(agent: Agent) -> None:
    memory_id = write(agent)
    pass_time(agent, agent.call("memory_delete", id=memory_id))
    before = stored(agent.database)
    answer = agent.call("memory_verify", id=memory_id)
    assert (answer["status"], MONDAY["content"] in str(answer)) == ("intact", False)
    assert stored(agent.database) == before
    elsewhere = agent.who(project="borealis")
    assert elsewhere.refusal("memory_verify", id=memory_id)["code"] == "not_found"
