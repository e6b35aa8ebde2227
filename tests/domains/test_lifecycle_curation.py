"""A plan about many memories: one operation, taken back whole; what is a person's becomes a question."""

from __future__ import annotations

from typing import Any

import pytest

from m3_memory.kernel.clock import ManualClock, plus
from m3_memory.storage.database import Database
from tests.callers import Agent
from tests.domains.test_lifecycle import state, write
from tests.domains.test_memories import verify
from tests.stored import stored

NOWHERE = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


def curate(agent: Agent, dry_run: bool = False, **plan: Any) -> dict[str, Any]:
    return agent.call("curate_memory_apply", plan=plan, dry_run=dry_run)


def many(agent: Agent, count: int) -> list[str]:
    return [write(agent, f"Buoy number {number} is painted", type="log") for number in range(count)]


def waiting(agent: Agent) -> list[dict[str, Any]]:
    operator = agent.who(agent_id="operator", is_operator=True)
    return operator.call("review_list")["reviews"]


def test_a_plan_is_one_operation_and_one_undo_takes_it_back(agent: Agent) -> None:
    tea, tram, old = (
        write(agent, said)
        for said in ("Tea is served at four", "The tram stops at the quay", "The pump is rusty")
    )
    answer = curate(
        agent,
        update=[{"id": tea, "title": "Tea", "importance": 0.9}],
        link=[{"from_id": tea, "to_id": tram, "relationship_type": "supports"}],
        delete=[old],
    )
    assert (answer["status"], answer["errors"], answer["proposals"]) == ("applied", [], [])
    assert answer["summary"] == {
        "deleted_soft": 1, "deleted_hard": 0, "linked": 1, "updated": 1, "proposed": 0,
    }  # fmt: skip
    assert (answer["delete"], answer["update"], answer["store"]) == ([old], [tea], "main")
    assert agent.call("memory_get", id=tea)["memory"]["title"] == "Tea"
    assert [state(agent, m) for m in (tea, tram, old)] == ["current", "current", "deleted"]
    assert len(agent.call("memory_graph", memory_id=tea)["edges"]) == 1
    agent.call("memory_undo", operation=answer["operation_id"])
    assert [state(agent, m) for m in (tea, tram, old)] == ["current"] * 3
    assert agent.call("memory_get", id=tea)["memory"]["title"] == ""
    assert agent.call("memory_graph", memory_id=tea)["edges"] == []


def test_a_dry_run_says_the_same_and_changes_nothing(agent: Agent) -> None:
    tea, old = write(agent, "Tea is served at four"), write(agent, "The pump is rusty")
    before = stored(agent.database)
    plan: dict[str, Any] = {"update": [{"id": tea, "title": "Tea"}], "delete": [old, NOWHERE]}
    told = curate(agent, dry_run=True, **plan)
    assert stored(agent.database) == before
    done = curate(agent, **plan)
    assert [told[name] for name in ("summary", "errors", "delete", "update")] == [
        done[name] for name in ("summary", "errors", "delete", "update")
    ]
    assert told["status"] == "preview"


def test_what_is_not_there_is_an_error_and_stops_no_other_step(agent: Agent) -> None:
    old = write(agent, "The pump is rusty")
    foreign = write(agent.who(project="elsewhere"), "The pump is new")
    answer = curate(agent, delete=[NOWHERE, foreign, old])
    assert [(error["id"], error["code"]) for error in answer["errors"]] == [
        (NOWHERE, "not_found"),
        (foreign, "not_found"),
    ]
    assert [state(agent, old), state(agent.who(project="elsewhere"), foreign)] == ["deleted", "current"]


def test_verified_and_pinned_memories_stand_and_a_person_is_asked(agent: Agent) -> None:
    verified, pinned, plain = (
        write(agent, said) for said in ("Tea is green", "The tram is late", "The pump is rusty")
    )
    verify(agent, verified)
    agent.call("memory_pin", id=pinned)
    answer = curate(agent, delete=[verified, pinned, plain])
    assert (answer["delete"], answer["summary"]["proposed"]) == ([plain], 2)
    assert [state(agent, m) for m in (verified, pinned, plain)] == ["current", "current", "deleted"]
    assert [item["review_id"] for item in waiting(agent)] == answer["proposals"]


def test_an_agent_ends_twenty_at_most_without_the_grant(agent: Agent) -> None:
    buoys = many(agent, 42)
    assert curate(agent, delete=buoys[:20])["summary"]["deleted_soft"] == 20
    held_back = curate(agent, delete=buoys[20:41])
    assert (held_back["status"], held_back["summary"]["deleted_soft"]) == ("proposed", 0)
    assert {state(agent, m) for m in buoys[20:]} == {"current"}
    trusted = agent.who(grants=frozenset({"curate"}))
    assert curate(trusted, delete=buoys[20:41])["summary"]["deleted_soft"] == 21
    assert [state(agent, m) for m in buoys[39:]] == ["deleted", "deleted", "current"]


def test_an_update_that_ends_a_memory_counts_like_a_deletion(agent: Agent) -> None:
    """What only says when it will end, or no end at all, is no ending."""
    buoys = many(agent, 21)
    now, later = agent.clock.now(), plus(agent.clock.now(), 3600)
    for until in (later, "clear"):
        answer = curate(agent, update=[{"id": buoy, "valid_to": until} for buoy in buoys])
        assert (answer["summary"]["updated"], answer["proposals"]) == (21, [])
    ended = [{"id": buoy, "valid_to": now} for buoy in buoys[:20]]
    titled = {"id": buoys[20], "title": "Buoy"}
    plans: list[dict[str, Any]] = [
        {"update": [*ended, {"id": buoys[20], "valid_to": now}]},
        {"update": ended, "delete": buoys[20:]},
    ]
    for plan in plans:
        told = curate(agent, dry_run=True, **plan)["summary"]
        held_back = curate(agent, **plan)
        assert (held_back["status"], held_back["summary"]) == ("proposed", told)
        assert (held_back["update"], held_back["delete"], told["proposed"]) == ([], [], 21)
    assert {state(agent, buoy) for buoy in buoys} == {"current"}
    assert curate(agent, update=[*ended, titled])["summary"]["updated"] == 21
    assert {state(agent, buoy) for buoy in buoys[:20]} == {"ended"}


def test_an_erasure_is_always_a_question(agent: Agent) -> None:
    secret = write(agent, "The safe is behind the painting")
    operator = agent.who(agent_id="operator", is_operator=True)
    for each in (agent, operator):
        answer = curate(each, delete_hard=[secret])
        assert (answer["status"], answer["delete_hard"]) == ("proposed", [secret])
        assert answer["summary"]["deleted_hard"] == 0
        assert state(agent, secret) == "current"
    assert len(waiting(agent)) == 1


def test_a_plan_whose_world_changed_or_whose_time_is_over_does_nothing(agent: Agent) -> None:
    tea, old = write(agent, "Tea is served at four"), write(agent, "The pump is rusty")
    record = agent.call("memory_get", id=tea)["memory"]
    mark = f"{record['version']}@{record['recorded_at']}"
    agent.call("memory_update", id=tea, title="Tea")
    before = stored(agent.database)
    plan: dict[str, object] = {"delete": [old]}
    for more in (
        {"expects": {tea: mark}},
        {"expires_at": agent.clock.now()},
    ):
        assert agent.refusal("curate_memory_apply", plan=plan | more)["code"] == "stale"
    assert stored(agent.database) == before
    now = agent.call("memory_get", id=tea)["memory"]
    fresh = {
        "expects": {tea: f"{now['version']}@{now['recorded_at']}"},
        "expires_at": plus(agent.clock.now(), 60),
    }
    assert agent.call("curate_memory_apply", plan=plan | fresh)["status"] == "applied"


@pytest.mark.parametrize(
    "plan",
    [
        {"erase": []},
        {"delete": "all"},
        {"update": ["x"]},
        {"update": [{"id": NOWHERE, "trust_state": "verified"}]},
        {"update": [{"id": NOWHERE, "content": 7}]},
        {"update": [{"id": NOWHERE, "importance": "high"}]},
        {"update": [{"id": NOWHERE}]},
        {"link": [{"from_id": NOWHERE, "to_id": NOWHERE}]},
        {"expects": [NOWHERE]},
    ],
)
def test_a_plan_that_means_nothing_is_refused_whole(agent: Agent, plan: dict[str, object]) -> None:
    old = write(agent, "The pump is rusty")
    refused = agent.refusal("curate_memory_apply", plan={"delete": [old]} | plan)
    assert refused["code"] == "invalid_argument"
    assert state(agent, old) == "current"


def test_ids_are_whole(agent: Agent) -> None:
    assert agent.refusal("curate_memory_apply", plan={"delete": ["*"]})["code"] == "invalid_id"


def test_a_plan_keeps_no_secret(agent: Agent) -> None:
    """Neither where it changes a memory, nor where that waits for a person."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    open_one, pinned = write(agent, "The token is kept in the safe"), write(agent, "The badge is blue")
    agent.call("memory_pin", id=pinned)
    curate(
        agent,
        update=[
            {"id": open_one, "content": f"The token is {secret}", "metadata": {"token": secret}},
            {"id": pinned, "title": secret},
        ],
    )
    record = agent.call("memory_get", id=open_one)["memory"]
    assert "[secret:" in record["content"]
    assert "[secret:" in record["metadata"]["token"]
    assert secret not in repr(stored(agent.database))
    assert len(waiting(agent)) == 1


def test_an_end_is_a_moment_like_any_other(agent: Agent) -> None:
    tea = write(agent, "Tea is served at four")
    curate(agent, update=[{"id": tea, "valid_to": "2027-01-01"}])
    assert agent.call("memory_get", id=tea)["memory"]["valid_to"] == "2027-01-01T00:00:00.000000Z"
    bad = {"update": [{"id": tea, "valid_to": "tomorrow"}]}
    assert agent.refusal("curate_memory_apply", plan=bad)["code"] == "invalid_time"
