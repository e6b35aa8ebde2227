"""Edges between memories, and the neighbourhood they make."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.kernel.vocabulary import EDGE_TYPES
from m3_memory.storage.database import Database
from tests.callers import Agent
from tests.domains.test_memories import SUCCESSOR, kinds, pass_time, verify, write
from tests.sizes import size
from tests.stored import stored

NOWHERE = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


def towns(agent: Agent, *names: str) -> list[str]:
    return [write(agent, content=f"{name} has a harbour", title=name) for name in names]


def link(agent: Agent, from_id: str, to_id: str, kind: str = "related") -> str:
    return pass_time(
        agent, agent.call("memory_link", from_id=from_id, to_id=to_id, relationship_type=kind)["status"]
    )


def graph(agent: Agent, memory_id: str, **arguments: object) -> dict[str, Any]:
    return agent.call("memory_graph", memory_id=memory_id, **arguments)


def nodes(answer: dict[str, Any]) -> dict[str, int]:
    """How far each memory is away, by title."""
    return {node["title"]: node["depth"] for node in answer["nodes"]}


def edges(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Edges by the titles of their ends."""
    names = {node["id"]: node["title"] for node in answer["nodes"]}
    return sorted((names[e["from_id"]], e["relationship_type"], names[e["to_id"]]) for e in answer["edges"])


def test_a_link_shows_from_both_ends_and_is_one_event(agent: Agent) -> None:
    oslo, bergen = towns(agent, "Oslo", "Bergen")
    at = agent.clock.now()
    assert link(agent, oslo, bergen, "supports") == "linked"
    for start in (oslo, bergen):
        answer = graph(agent, start)
        assert edges(answer) == [("Oslo", "supports", "Bergen")]
        assert answer["edges"][0]["since"] == at
    (event, _) = agent.call("memory_history", memory_id=oslo)["events"]
    assert (event["kind"], event["other_id"], event["reason"]) == ("link", bergen, "supports")
    assert kinds(agent, bergen) == ["create"]


def test_a_link_that_is_there_already_changes_nothing_and_the_answer_says_so(agent: Agent) -> None:
    oslo, bergen = towns(agent, "Oslo", "Bergen")
    link(agent, oslo, bergen)
    before = stored(agent.database)["memory_history"]
    assert link(agent, oslo, bergen) == "exists"
    assert stored(agent.database)["memory_history"] == before
    assert link(agent, bergen, oslo) == "linked", "the other direction is another edge"
    assert link(agent, oslo, bergen, "contradicts") == "linked", "and so is another type"


def test_only_sensible_links_are_made(agent: Agent) -> None:
    oslo, bergen = towns(agent, "Oslo", "Bergen")
    before = stored(agent.database)
    for kind, verb in (("supersedes", "memory_supersede"), ("distills_from", "references")):
        refused = agent.refusal("memory_link", from_id=oslo, to_id=bergen, relationship_type=kind)
        assert (refused["code"], verb in refused["hint"]) == ("invalid_argument", True)
    assert agent.refusal("memory_link", from_id=oslo, to_id=oslo)["code"] == "invalid_argument"
    refused = agent.refusal("memory_link", from_id=oslo, to_id=bergen, relationship_type="likes")
    assert refused["code"] == "invalid_argument"
    assert stored(agent.database) == before
    for kind in set(EDGE_TYPES) - {"supersedes", "distills_from"}:
        assert link(agent, oslo, bergen, kind) == "linked"


def test_both_ends_of_a_link_are_current_memories_that_the_caller_holds(agent: Agent) -> None:
    oslo, bergen, gone, old = towns(agent, "Oslo", "Bergen", "Vineta", "Kristiania")
    agent.call("memory_delete", id=gone)
    agent.call("memory_supersede", old_id=old, content=SUCCESSOR)
    (elsewhere,) = towns(agent.who(project="borealis"), "Tromsø")
    for other, code in (
        (gone, "not_current"),
        (old, "not_current"),
        (elsewhere, "not_found"),
        (NOWHERE, "not_found"),
    ):
        for ends in ((oslo, other), (other, oslo)):
            assert agent.refusal("memory_link", from_id=ends[0], to_id=ends[1])["code"] == code
    verify(agent, bergen)
    assert link(agent, oslo, bergen) == "linked", "it changes nothing of what a person verified"


def test_an_unlinked_edge_is_gone_and_stays_readable_in_the_past(agent: Agent) -> None:
    oslo, bergen = towns(agent, "Oslo", "Bergen")
    link(agent, oslo, bergen)
    before = agent.clock.now()
    pass_time(agent)
    ends = {"from_id": oslo, "to_id": bergen}
    assert agent.call("memory_unlink", **ends)["status"] == "unlinked"
    assert agent.call("memory_unlink", **ends)["status"] == "absent"
    assert edges(graph(agent, oslo)) == []
    assert edges(graph(agent, oslo, known_at=before)) == [("Oslo", "related", "Bergen")]
    assert kinds(agent, oslo) == ["create", "link", "unlink"]
    assert link(agent, oslo, bergen) == "linked"
    elsewhere = agent.who(project="borealis")
    assert elsewhere.refusal("memory_unlink", **ends)["code"] == "not_found"


def test_an_edge_that_came_of_superseding_is_not_unlinked(agent: Agent) -> None:
    (old,) = towns(agent, "Kristiania")
    new = agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"]
    refused = agent.refusal("memory_unlink", from_id=new, to_id=old, relationship_type="supersedes")
    assert (refused["code"], "memory_unsupersede" in refused["hint"]) == ("invalid_argument", True)


def test_many_links_are_made_in_order_and_a_bad_one_stops_no_other(agent: Agent) -> None:
    oslo, bergen, moss = towns(agent, "Oslo", "Bergen", "Moss")
    answer = agent.call(
        "memory_link_bulk",
        links=[
            {"from_id": oslo, "to_id": bergen, "relationship_type": "supports"},
            {"from_id": oslo, "to_id": NOWHERE},
            {"from_id": oslo, "to_id": bergen, "relationship_type": "supports"},
            {"from_id": oslo[:8], "to_id": bergen},
            {"from_id": oslo, "to_id": oslo},
            {"from_id": oslo, "to_id": moss, "relationship_type": "supersedes"},
            {"from_id": oslo, "to": moss},
            {"from_id": moss, "to_id": bergen},
        ],
        relationship_type="references",
    )
    statuses = ["linked", "missing", "exists", *["failed"] * 4, "linked"]
    assert [result["status"] for result in answer["results"]] == statuses
    counted = {"created": 2, "skipped_missing": 1, "skipped_duplicate": 1, "failed": 4, "total": 8}
    assert answer.items() >= counted.items()
    codes = [result.get("code") for result in answer["results"]]
    assert codes == [None, "not_found", None, "invalid_id", *["invalid_argument"] * 3, None]
    found = edges(graph(agent, bergen, depth=2))
    assert found == [("Moss", "references", "Bergen"), ("Oslo", "supports", "Bergen")]
    operations = {
        event["operation_id"] for event in agent.call("memory_history", memory_id=moss)["events"][:1]
    }
    operations |= {
        event["operation_id"] for event in agent.call("memory_history", memory_id=oslo)["events"][:1]
    }
    assert len(operations) == 1, "one call is one operation"


def test_a_graph_goes_as_far_as_asked_and_names_each_memory_once(agent: Agent) -> None:
    names = ("Oslo", "Moss", "Horten", "Larvik", "Arendal")
    ids = towns(agent, *names)
    for start, end in pairwise(ids):
        link(agent, start, end)
    link(agent, ids[2], ids[0], "supports")
    assert nodes(graph(agent, ids[0])) == {"Oslo": 0, "Moss": 1, "Horten": 1}
    assert nodes(graph(agent, ids[4], depth=2)) == {"Arendal": 0, "Larvik": 1, "Horten": 2}
    whole = graph(agent, ids[0][:-4], depth=3)
    assert nodes(whole) == {"Oslo": 0, "Moss": 1, "Horten": 1, "Larvik": 2, "Arendal": 3}
    assert (len(edges(whole)), whole["cut"]) == (5, [])
    only = graph(agent, ids[0], depth=3, relationship_types=["supports", "contradicts"])
    assert (nodes(only), edges(only)) == ({"Oslo": 0, "Horten": 1}, [("Horten", "supports", "Oslo")])


def test_an_edge_shows_only_where_the_same_view_shows_both_its_ends(agent: Agent) -> None:
    """Both clocks: what held then, and what the store knew then, edges included."""
    oslo, bergen, moss = towns(agent, "Oslo", "Bergen", "Moss")
    unlinked = agent.clock.now()
    pass_time(agent)
    link(agent, oslo, bergen)
    link(agent, bergen, moss)
    linked = pass_time(agent, agent.clock.now())
    pass_time(agent, agent.call("memory_delete", id=bergen))
    assert nodes(graph(agent, oslo, depth=3)) == {"Oslo": 0}
    assert nodes(graph(agent, oslo, depth=3, known_at=linked)) == {"Oslo": 0, "Bergen": 1, "Moss": 2}
    assert nodes(graph(agent, oslo, depth=3, known_at=unlinked)) == {"Oslo": 0}
    pass_time(agent, agent.call("memory_restore", id=bergen))
    assert nodes(graph(agent, oslo, depth=3)) == {"Oslo": 0, "Bergen": 1, "Moss": 2}
    ends = pass_time(agent, agent.clock.now())
    pass_time(agent, agent.call("memory_update", id=bergen, valid_to=ends))
    assert nodes(graph(agent, oslo)) == {"Oslo": 0}
    past = graph(agent, oslo, as_of=linked)
    assert nodes(past) == {"Oslo": 0, "Bergen": 1}
    assert {node["title"]: node["current"] for node in past["nodes"]} == {"Oslo": True, "Bergen": False}


def test_a_memory_that_is_not_current_answers_how_it_stands(agent: Agent) -> None:
    (old,) = towns(agent, "Kristiania")
    new = agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"]
    answer = graph(agent, old)
    assert answer.items() >= {"state": "superseded", "successor": new, "nodes": [], "edges": []}.items()
    for other in (NOWHERE, towns(agent.who(project="borealis"), "Tromsø")[0]):
        assert agent.refusal("memory_graph", memory_id=other)["code"] == "not_found"


def test_nothing_of_another_place_shows_through_an_edge(agent: Agent) -> None:
    """Linked in a session where both ends are held, read from one where one of them is not."""
    (oslo,) = towns(agent, "Oslo")
    colleague = agent.who(agent_id="codex", conversation_id="elsewhere")
    secret = write(colleague, content="The plan is secret", scope="session", title="Plan")
    further = write(agent, content="Moss has a harbour", title="Moss")
    link(colleague, oslo, secret)
    link(colleague, secret, further)
    assert nodes(graph(colleague, oslo, depth=2)) == {"Oslo": 0, "Plan": 1, "Moss": 2}
    answer = graph(agent, oslo, depth=3)
    assert (nodes(answer), answer["edges"], answer["cut"]) == ({"Oslo": 0}, [], [])
    assert secret not in str(answer)


def test_a_hub_of_many_edges_is_cut_and_the_answer_says_so(agent: Agent) -> None:
    count = size(600, 10_000)
    (hub,) = towns(agent, "Oslo")
    items = [
        {"content": f"Berth {number} is free", "type": "fact", "title": str(number)}
        for number in range(count)
    ]
    ids: list[str] = []
    for start in range(0, count, 500):
        written = agent.call("memory_write_bulk", items=items[start : start + 500])
        ids += [result["id"] for result in written["results"]]
    for start in range(0, count, 500):
        links = [{"from_id": berth, "to_id": hub} for berth in ids[start : start + 500]]
        assert agent.call("memory_link_bulk", links=links)["created"] == len(links)
    for depth in (1, 3):
        answer = graph(agent, hub, depth=depth, limit=20)
        assert (len(answer["nodes"]), len(answer["edges"]), len(answer["cut"])) == (20, 19, 1)
        newest = {str(count - 1 - number): 1 for number in range(19)}
        assert nodes(answer) == {"Oslo": 0, **newest}
    answer = graph(agent, ids[0], depth=2, limit=20)
    assert (nodes(answer)["Oslo"], len(answer["nodes"]), len(answer["cut"])) == (1, 20, 1)
    assert graph(agent, ids[0])["cut"] == []
