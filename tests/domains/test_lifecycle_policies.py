"""What a person sets and does by hand about the time memories are kept, and what may come in between."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database, Writer
from tests.callers import Agent
from tests.domains.test_lifecycle import days, state, tidied, write


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


@pytest.fixture
def operator(agent: Agent) -> Agent:
    return agent.who(agent_id="operator", is_operator=True)


def test_an_age_limit_alone_limits_no_number(operator: Agent) -> None:
    limits = [
        operator.call("memory_set_retention", agent_id="claude", **given)
        for given in ({"ttl_days": 30}, {"max_memories": 7, "ttl_days": 30}, {})
    ]
    assert [(told["max_memories"], told["ttl_days"]) for told in limits] == [(0, 30), (7, 30), (1000, 0)]


def test_retention_of_an_agent_that_nobody_has_seen_is_set_with_a_warning(
    agent: Agent, operator: Agent
) -> None:
    write(agent, "The mole is short")
    assert operator.call("memory_set_retention", agent_id="claude")["warnings"] == []
    answer = operator.call("memory_set_retention", agent_id="cluade")
    assert (answer["status"], "cluade" in answer["warnings"][0]) == ("set", True)


def test_retention_counts_what_an_agent_wrote_in_all_projects(agent: Agent, operator: Agent) -> None:
    here = write(agent, "The mole is short")
    there = write(agent.who(project="elsewhere"), "The pier is green")
    assert operator.call("memory_set_retention", agent_id="claude", max_memories=1)["would_close"] == 1
    assert tidied(operator) == {"retention": 1}
    assert [state(agent, here), state(agent.who(project="elsewhere"), there)] == ["expired", "current"]


def test_only_a_person_tidies_everywhere_and_an_agent_is_told_how(agent: Agent, operator: Agent) -> None:
    write(agent.who(conversation_id="tuesday"), "The key lies under the mat", scope="session")
    days(agent, 2)
    assert agent.refusal("memory_maintenance", everywhere=True)["code"] == "needs_operator"
    (skipped,) = agent.call("memory_maintenance")["skipped"]
    assert "m3 memory maintenance --everywhere" in skipped
    answer = operator.call("memory_maintenance", everywhere=True)
    assert (answer["expired"], answer["skipped"]) == (1, [])


def test_what_is_restored_between_a_purges_count_and_its_erasing_stays(
    agent: Agent, operator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored, gone = write(agent, "The copper wheel turns"), write(agent, "The purple sail is torn")
    for memory_id in (restored, gone):
        agent.call("memory_delete", id=memory_id)
    days(agent, 40)
    kind = type(agent.database)
    erasing = kind.erasing

    def meanwhile(self: Database, user_id: str) -> AbstractContextManager[Writer]:
        """Somebody else restores one of them right before the erasing begins."""
        if state(agent, restored) == "deleted":
            agent.call("memory_restore", id=restored)
        return erasing(self, user_id)

    told = operator.call("memory_maintenance", purge_closed_days=30, dry_run=True)
    monkeypatch.setattr(kind, "erasing", meanwhile)
    done = operator.call("memory_maintenance", purge_closed_days=30)
    assert (told["purged"], done["purged"]) == (2, 1)
    assert state(agent, restored) == "current"
    assert agent.refusal("memory_get", id=gone)["code"] == "not_found"
