"""A person's last word: what was verified stands against every verb of an agent."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.audit import audited, owners
from m3_memory.storage.database import Database
from tests.callers import Agent

SAID = "The gate code is 4711"
OTHER = "The gate code is 1234"


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock).who(project="atlas")


@pytest.fixture
def verified(agent: Agent, clock: ManualClock) -> str:
    """The id of a memory that a person verified an hour ago."""
    id_: str = agent.call("memory_write", content=SAID, type="fact")["id"]
    operator(agent).call("memory_set_trust", id=id_, state="verified", reason="looked it up")
    clock.advance(3600)
    return id_


def operator(agent: Agent) -> Agent:
    return replace(agent, caller=agent.caller.as_operator())


VERBS: dict[str, tuple[str, dict[str, Any]]] = {
    "update": ("memory_update", {"id": "ID", "content": OTHER}),
    "an update of its title": ("memory_update", {"id": "ID", "title": "x"}),
    "an update of its end": ("memory_update", {"id": "ID", "valid_to": "2026-02-01"}),
    "supersede": ("memory_supersede", {"old_id": "ID", "content": OTHER}),
    "delete": ("memory_delete", {"id": "ID"}),
    "hard delete": ("memory_delete", {"id": "ID", "hard": True}),
    "bulk update": ("memory_update_bulk", {"updates": [{"id": "ID", "content": OTHER}]}),
    "bulk delete": ("memory_delete_bulk", {"ids": ["ID"]}),
    "undo of the verification": ("memory_undo", {"memory_id": "ID"}),
    "unsupersede": ("memory_unsupersede", {"id": "ID"}),
    "a newer value": ("memory_write", {"content": OTHER, "type": "fact"}),
    "a bulk of newer values": ("memory_write_bulk", {"items": [{"content": OTHER, "type": "fact"}]}),
    "import": (
        "memory_import",
        {"data": json.dumps({"kind": "memory", "id": "ID", "content": OTHER, "type": "fact"})},
    ),
    "trust": ("memory_set_trust", {"id": "ID", "state": "rejected"}),
    "a plan": ("curate_memory_apply", {"plan": {"delete": ["ID"]}}),
    "an erasure": ("gdpr_forget", {"ids": ["ID"]}),
    "misleading": ("memory_feedback", {"memory_id": "ID", "feedback": "misleading"}),
}
"""What an agent may try with a memory; ID stands for it."""

ENDING = ("update", "supersede", "delete", "bulk update", "bulk delete", "a newer value")


def tries(agent: Agent, verb: str, memory_id: str) -> None:
    tool, arguments = VERBS[verb]
    given = json.dumps(arguments).replace('"ID"', f'"{memory_id}"').replace('\\"ID\\"', f'\\"{memory_id}\\"')
    agent.outcome(tool, json.loads(given))


@pytest.mark.parametrize("verb", VERBS)
def test_a_verified_memory_stands_against_every_verb_of_an_agent(
    agent: Agent, verified: str, verb: str
) -> None:
    tries(agent.who(agent_id="codex", conversation_id="another"), verb, verified)
    found = agent.call("memory_get", id=verified)
    assert (found["status"], found["memory"]["trust_state"]) == ("current", "verified")
    assert (found["memory"]["content"], found["memory"]["title"]) == (SAID, "")
    assert "valid_to" not in found["memory"]
    hits = agent.call("memory_search", query="gate code")["hits"]
    assert [hit["content"] for hit in hits] == [SAID]


@pytest.mark.parametrize("verb", ENDING)
def test_what_an_agent_wanted_of_it_waits_for_a_person_who_may_agree(
    agent: Agent, verified: str, verb: str
) -> None:
    tries(agent, verb, verified)
    (question,) = operator(agent).call("review_list")["reviews"]
    decided = {"review_id": question["review_id"], "digest": question["digest"], "decision": "accept"}
    assert agent.refusal("review_decide", **decided)["code"] == "needs_operator"
    operator(agent).call("review_decide", **decided)
    hits = agent.call("memory_search", query="gate code")["hits"]
    assert [hit["content"] for hit in hits] == ([] if "delete" in verb else [OTHER])


def test_the_same_verbs_reach_what_nobody_verified(agent: Agent, clock: ManualClock) -> None:
    """The control of the tests before."""
    for verb in ENDING:
        id_: str = agent.call("memory_write", content=SAID, type="fact", reassert=True)["id"]
        clock.advance(3600)
        tries(agent, verb, id_)
        found = agent.call("memory_get", id=id_)
        assert found["status"] != "current" or found["memory"]["content"] == OTHER, verb
        for hit in agent.call("memory_search", query="gate code")["hits"]:
            agent.call("memory_delete", id=hit["id"])


@pytest.mark.case("B13")
def test_five_hundred_services_listen_on_five_hundred_ports(agent: Agent) -> None:
    """Issue 4, point 2."""
    names = [f"{first}{last}" for first in "abcdefghijklmnopqrstuvwxy" for last in "abcdefghijklmnopqrst"]
    items = [
        {"content": f"service {name}-api listens on port {8000 + place}", "type": "fact"}
        for place, name in enumerate(names)
    ]
    done = agent.call("memory_write_bulk", items=items)
    assert (len(items), done["created"]) == (500, 500)
    counted = agent.call("memory_list", counts=True, limit=1)
    assert counted["total"] == 500


@pytest.mark.case("B51")
def test_writers_in_opposite_orders_never_wait_for_each_other(agent: Agent) -> None:
    """Issue 4, point 6: eight change the same memories from both ends at once."""
    ids = [agent.call("memory_write", content=f"stone {n} of the wall", type="fact")["id"] for n in range(8)]

    def change(writer: int) -> list[str | None]:
        mine = agent.who(agent_id=f"mason-{writer}", conversation_id=f"c-{writer}")
        order = ids if writer % 2 else ids[::-1]
        calls: list[tuple[str, dict[str, object]]] = []
        for one, other in pairwise(order):
            calls.append(("memory_link", {"from_id": one, "to_id": other, "relationship_type": "supports"}))
            calls.append(("memory_update", {"id": one, "title": f"by {writer}"}))
            calls.append(("memory_unlink", {"from_id": one, "to_id": other, "relationship_type": "supports"}))
        calls.append(
            ("memory_update_bulk", {"updates": [{"id": id_, "title": f"{writer}!"} for id_ in order]})
        )
        errors = [mine.outcome(tool, arguments).error for tool, arguments in calls]
        return [error.code if error else None for error in errors]

    with ThreadPoolExecutor(8) as pool:
        answers = [code for codes in pool.map(change, range(8)) for code in codes]
    assert set(answers) == {None}
    assert {agent.call("memory_get", id=id_)["status"] for id_ in ids} == {"current"}
    with agent.database.read("local") as reader:
        for owner in owners(reader, everybody=True):
            assert audited(reader, owner, agent.database.heads.read()).flaws == {}
