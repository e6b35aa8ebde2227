"""What works in the background stays within the place of whom it works for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.surfaces.worker.loop import run_once, work_once
from tests.callers import Agent, embedder_named

OLD, SAME, NEW = (
    "The gateway listens on port 8080.",
    "The gateway is listening on port 8080.",
    "The gateway listens on port 9090.",
)
ELSEWHERE: Mapping[str, dict[str, Any]] = {
    "user": {"user_id": "bob"},
    "circle": {"circle": "apart"},
    "project": {"project": "shop"},
    "no project": {"project": ""},
}


def late(app: App, clock: ManualClock, *said: tuple[Mapping[str, Any], str]) -> list[str]:
    """The ids of what these callers said, an hour between each, and the worker then gave vectors to."""
    caller = Caller("local", "claude", "session-1", project="atlas")
    wordless = Agent(app.database, clock, caller, embedder_named("off"))
    ids: list[str] = []
    for who, content in said:
        ids.append(wordless.who(**who).call("memory_write", content=content, type="fact")["id"])
        clock.advance(3600)
    assert run_once(app)["done"] == len(said)
    return ids


@pytest.mark.parametrize("place", ELSEWHERE)
def test_a_late_check_compares_nothing_across_a_boundary(app: App, clock: ManualClock, place: str) -> None:
    """scope.background_respects_boundary."""
    there = ELSEWHERE[place]
    ids = late(app, clock, ({}, OLD), (there, SAME), (there | {"agent_id": "codex"}, NEW))
    claude = Agent(app.database, clock, Caller("local", "claude", "session-1", project="atlas"))
    assert claude.call("memory_get", id=ids[0])["status"] == "current"
    events = claude.call("memory_history", memory_id=ids[0])["events"]
    assert [event["kind"] for event in events] == ["create"]
    assert claude.call("review_list")["reviews"] == []
    other = claude.who(**there)
    assert [row["content"] for row in other.call("memory_list")["memories"]] == [NEW]


@pytest.mark.parametrize(
    ("said", "states"), [(SAME, ["current", "not_current"]), (NEW, ["not_current", "current"])]
)
def test_within_one_place_a_late_check_merges_and_ends(
    app: App, clock: ManualClock, said: str, states: list[str]
) -> None:
    """The control: of another agent in the same place the same words merge, and a newer value ends."""
    ids = late(app, clock, ({}, OLD), ({"agent_id": "codex"}, said))
    claude = Agent(app.database, clock, Caller("local", "claude", "session-1", project="atlas"))
    assert [claude.call("memory_get", id=id_)["status"] for id_ in ids] == states


def test_the_worker_keeps_one_users_limits_from_anothers_memories(app: App, clock: ManualClock) -> None:
    """scope.background_respects_boundary: a limit on an agent is its own user's, who set it."""
    claude = Agent(app.database, clock, Caller("local", "claude", "session-1", project="atlas"))
    bob = claude.who(user_id="bob")
    for agent in (claude, bob):
        for number in range(3):
            agent.call("memory_write", content=f"Crate {number} is full of tea", type="note")
            clock.advance(60)
    operator = replace(claude, caller=claude.caller.as_operator())
    operator.call("memory_set_retention", agent_id="claude", max_memories=1)
    assert work_once(app)["maintenance"]["retention"] == 2
    assert [agent.call("memory_list", counts=True)["total"] for agent in (claude, bob)] == [1, 3]
