"""Trust: what a person decides of a memory, and what it may be used for then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model.review import Question, ReviewKind
from m3_memory.domains.memories.service.reviews import ask_all
from m3_memory.domains.memories.service.writes import operation
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from tests.callers import Agent

FACT = "The billing service listens on port 8443."


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock)


@pytest.fixture
def operator(agent: Agent) -> Agent:
    return agent.who(agent_id="operator", is_operator=True)


def written(agent: Agent, content: str = FACT, **given: object) -> str:
    return agent.call("memory_write", **{"type": "fact", "content": content, **given})["id"]


def found(agent: Agent, query: str = FACT, **given: object) -> list[str]:
    return [hit["id"] for hit in agent.call("memory_search", query=query, **given)["hits"]]


def test_what_an_agent_writes_informs_and_what_a_person_verified_may_be_acted_on(
    agent: Agent, operator: Agent
) -> None:
    memory_id = written(agent)
    assert agent.call("memory_get", id=memory_id)["memory"]["actionable"] == "inform"

    answer = operator.call("memory_set_trust", id=memory_id[:13], state="verified", reason="looked it up")
    assert (answer["before"], answer["trust_state"], answer["status"]) == ("accepted", "verified", "changed")

    assert agent.call("memory_get", id=memory_id)["memory"]["actionable"] == "act"
    (hit,) = agent.call("memory_search", query=FACT)["hits"]
    assert (hit["trust_state"], hit["actionable"]) == ("verified", "act")
    newest = agent.call("memory_history", memory_id=memory_id)["events"][0]
    assert (newest["kind"], newest["reason"]) == ("trust", "accepted -> verified: looked it up")


def test_a_second_time_changes_nothing_and_leaves_no_event(agent: Agent, operator: Agent) -> None:
    memory_id = written(agent)
    operator.call("memory_set_trust", id=memory_id, state="verified")
    total = agent.call("memory_history", memory_id=memory_id)["total"]
    assert operator.call("memory_set_trust", id=memory_id, state="verified")["status"] == "unchanged"
    assert agent.call("memory_history", memory_id=memory_id)["total"] == total


@pytest.mark.parametrize("tool", ["memory_set_trust", "tombstone_lift", "tombstone_list"])
def test_an_agent_is_told_to_ask_a_person(agent: Agent, tool: str) -> None:
    memory_id = written(agent)
    given = {
        "memory_set_trust": {"id": memory_id, "state": "rejected"},
        "tombstone_lift": {"id": memory_id},
        "tombstone_list": {},
    }[tool]
    assert agent.refusal(tool, **given)["code"] == "needs_operator"
    assert found(agent) == [memory_id]


def test_a_rejected_memory_is_shown_at_no_moment(agent: Agent, operator: Agent, clock: ManualClock) -> None:
    memory_id, other = written(agent), written(agent, "The office is in Lisbon.")
    clock.advance(60)
    before = agent.call("memory_get", id=other)["memory"]["recorded_at"]
    operator.call("memory_set_trust", id=memory_id, state="rejected", reason="made up")

    for when in ({}, {"as_of": before}, {"known_at": before}):
        answer = agent.call("memory_get", id=memory_id, **when)
        assert (answer["status"], answer["state"]) == ("not_current", "rejected")
        assert "memory" not in answer
        assert memory_id not in found(agent, **when)
        assert agent.call("memory_get", id=other, **when)["memory"]["content"].startswith("The office")


def test_a_rejection_is_taken_back_by_accepting(agent: Agent, operator: Agent) -> None:
    memory_id = written(agent)
    operator.call("memory_set_trust", id=memory_id, state="rejected")
    assert found(agent) == []
    operator.call("memory_set_trust", id=memory_id, state="accepted", reason="it was right")
    assert found(agent) == [memory_id]
    assert operator.call("tombstone_list")["total"] == 0
    assert agent.call("memory_write", type="fact", content=FACT)["status"] == "duplicate"


def test_what_is_not_current_is_neither_trusted_nor_rejected(agent: Agent, operator: Agent) -> None:
    memory_id = written(agent)
    agent.call("memory_delete", id=memory_id)
    assert operator.refusal("memory_set_trust", id=memory_id, state="rejected")["code"] == "not_current"
    assert operator.refusal("memory_set_trust", id="01900000", state="rejected")["code"] == "not_found"


def test_a_memory_that_ended_is_rejected_for_the_past_too(
    agent: Agent, operator: Agent, clock: ManualClock
) -> None:
    memory_id = written(agent, valid_from="2026-01-01", valid_to="2026-01-10")
    assert found(agent, as_of="2026-01-05") == [memory_id]
    operator.call("memory_set_trust", id=memory_id, state="rejected")
    assert found(agent, as_of="2026-01-05") == []


def test_what_says_the_same_under_another_type_is_rejected_with_it(agent: Agent, operator: Agent) -> None:
    fact, note = written(agent), written(agent, type="note")
    other = written(agent, "The office is in Lisbon.", type="note")
    answer = operator.call("memory_set_trust", id=fact, state="rejected")
    assert answer["also_rejected"] == [note]
    shown = {row["id"] for row in agent.call("memory_list")["memories"]}
    assert shown == {other}


def test_a_new_version_of_a_verified_memory_is_accepted_only(agent: Agent, operator: Agent) -> None:
    memory_id = written(agent)
    operator.call("memory_set_trust", id=memory_id, state="verified")
    operator.call("memory_update", id=memory_id, content="The billing service listens on port 9443.")
    assert agent.call("memory_get", id=memory_id)["memory"]["trust_state"] == "accepted"


def test_a_person_undoes_a_rejection_and_an_agent_does_not(agent: Agent, operator: Agent) -> None:
    memory_id = written(agent)
    operator.call("memory_set_trust", id=memory_id, state="rejected")
    assert agent.refusal("memory_undo", memory_id=memory_id)["code"] == "needs_operator"
    operator.call("memory_undo", memory_id=memory_id)
    assert found(agent) == [memory_id]
    assert operator.call("tombstone_list")["total"] == 0
    operator.call("memory_undo", memory_id=memory_id)
    assert found(agent) == []
    assert operator.call("tombstone_list")["total"] == 1


def conflict(agent: Agent, *memory_ids: str) -> None:
    """A question for a person about these memories, as a write asks it that finds them at odds."""
    context = Context(
        agent.caller, agent.database, agent.embedder, agent.clock, Settings(home=Path("unused"))
    )
    with context.write() as writer:
        audience = queries.open_beliefs_of(writer, memory_ids)[memory_ids[0]].audience
        question = Question(ReviewKind.CONFLICT, audience, memory_ids, {"reason": "value_changed"})
        ask_all(operation(context, writer), [question])


def test_a_disputed_memory_is_shown_with_the_other_side_and_is_to_be_verified(
    agent: Agent, operator: Agent
) -> None:
    one, other = written(agent), written(agent, "The mail service listens on port 25.")
    peaceful = written(agent, "The office is in Lisbon.")
    operator.call("memory_set_trust", id=one, state="verified")
    conflict(agent, one, other)
    for memory_id, rival in ((one, other), (other, one)):
        memory = agent.call("memory_get", id=memory_id)["memory"]
        assert (memory["disputed_by"], memory["actionable"]) == ([rival], "verify")
    undisputed = agent.call("memory_get", id=peaceful)["memory"]
    assert ("disputed_by" in undisputed, undisputed["actionable"]) == (False, "inform")
    rows = agent.call("memory_list")["memories"] + agent.call("memory_search", query="service port")["hits"]
    for row in rows:
        disputed = row["id"] != peaceful
        assert ("disputed_by" in row, row["actionable"] == "verify") == (disputed, disputed)


def test_a_conflict_with_what_was_rejected_or_deleted_is_none(agent: Agent, operator: Agent) -> None:
    one = written(agent)
    others = [written(agent, said) for said in ("The ledger is kept in Bern.", "Soup is served at noon.")]
    for other in others:
        conflict(agent, one, other)
    assert sorted(agent.call("memory_get", id=one)["memory"]["disputed_by"]) == sorted(others)
    operator.call("memory_set_trust", id=others[0], state="rejected")
    agent.call("memory_delete", id=others[1])
    assert agent.call("memory_get", id=one)["memory"]["actionable"] == "inform"


def test_what_is_due_for_review_is_marked_stale_wherever_it_is_shown(
    agent: Agent, clock: ManualClock
) -> None:
    due, fresh = written(agent, refresh_on="2026-01-03"), written(agent, "The office is in Lisbon.")
    for is_due in (False, True):
        listed = agent.call("memory_list")["memories"]
        found_too = agent.call("memory_search", query="service port office Lisbon")["hits"]
        shown = [row.get("stale", False) for row in [*listed, *found_too] if row["id"] == due]
        assert (len(shown), set(shown)) == (2, {is_due})
        assert agent.call("memory_get", id=due)["memory"].get("stale", False) is is_due
        assert not any(row.get("stale") for row in [*listed, *found_too] if row["id"] == fresh)
        clock.advance(3 * 24 * 60 * 60)


def test_a_candidate_is_shown_where_it_is_asked_for_and_accepted_by_a_person(
    agent: Agent, operator: Agent
) -> None:
    line = json.dumps({"id": "00000000-0000-4000-8000-000000000001", "type": "fact", "content": FACT})
    assert agent.call("memory_import", data=line)["trust_state"] == "candidate"
    assert found(agent) == []
    (row,) = agent.call("memory_list", trust_state="candidate")["memories"]
    assert (row["trust_state"], row["actionable"]) == ("candidate", "no")
    operator.call("memory_set_trust", id=row["id"], state="accepted")
    assert found(agent) == [row["id"]]


def test_a_persons_import_accepts_what_waited_as_candidate(agent: Agent, operator: Agent) -> None:
    texts = (FACT, "The office is in Lisbon.")
    lines = [
        json.dumps({"id": f"00000000-0000-4000-8000-00000000000{n}", "type": "fact", "content": text})
        for n, text in enumerate(texts)
    ]
    agent.call("memory_import", data="\n".join(lines))
    rehearsed = operator.call("memory_import", data=lines[0], dry_run=True)
    assert (rehearsed["accepted"], found(agent)) == (1, [])
    result = operator.call("memory_import", data=lines[0])
    assert (result["accepted"], result["imported"], result["unchanged"]) == (1, 0, 0)
    assert [row["content"] for row in agent.call("memory_list")["memories"]] == [FACT]
    again = operator.call("memory_import", data=lines[0])
    assert (again["accepted"], again["unchanged"]) == (0, 1)


def test_a_candidate_that_another_memory_says_is_not_accepted_beside_it(
    agent: Agent, operator: Agent
) -> None:
    line = json.dumps({"id": "00000000-0000-4000-8000-000000000001", "type": "fact", "content": FACT})
    agent.call("memory_import", data=line)
    (row,) = agent.call("memory_list", trust_state="candidate")["memories"]
    accepted = written(agent)
    refusal = operator.refusal("memory_set_trust", id=row["id"], state="accepted")
    assert (refusal["code"], accepted in refusal["message"]) == ("duplicate_value", True)
    result = operator.call("memory_import", data=line)
    assert (result["accepted"], result["refused"]) == (0, 1)
