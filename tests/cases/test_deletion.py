"""What was deleted stays deleted."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.domains.system.service import examine
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.surfaces.worker.loop import run_once
from tests.callers import Agent, embedder_named
from tests.stores import Stores
from tests.surfaces.doors import Door, error, facts

GONE = "The winch code is in the red folder"
KEPT = "The winch manual is in the blue folder"
SEARCHES: tuple[dict[str, Any], ...] = (
    {"query": "winch folder"},
    {"query": GONE},
    {"query": "winch", "search_mode": "keyword"},
    {"query": "winch folder", "search_mode": "vector"},
    {"query": "winch folder", "type_filter": "fact", "conversation_id": "c-1", "agent_filter": "claude"},
    {"query": "winch folder", "as_of": "2026-01-01T00:00:30Z"},
    {"query": "winch folder", "include_scratchpad": True, "k": 100},
)


def seen(agent: Agent) -> list[set[str]]:
    return [{hit["content"] for hit in agent.call("memory_search", **search)["hits"]} for search in SEARCHES]


def test_a_deleted_memory_is_nowhere_and_its_sibling_everywhere(agent: Agent) -> None:
    """B25 Only `known_at` before the delete shows it, and the history tells of it."""
    one, two = (
        agent.call("memory_write", content=content, type="fact", conversation_id="c-1")["id"]
        for content in (GONE, KEPT)
    )
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(60)
    assert seen(agent) == [{GONE, KEPT}] * len(SEARCHES)
    before = agent.clock.now()
    agent.clock.advance(60)
    agent.call("memory_delete", id=one)
    assert seen(agent) == [{KEPT}] * len(SEARCHES)
    assert agent.call("memory_get", id=one)["state"] == "deleted"
    assert "memory" not in agent.call("memory_get", id=one, as_of=before)
    assert agent.call("memory_get", id=one, known_at=before)["memory"]["content"] == GONE
    for tool, arguments in (
        ("memory_update", {"id": one, "title": "back"}),
        ("memory_update", {"id": one, "importance": 1.0}),
        ("memory_supersede", {"old_id": one, "content": "back"}),
        ("memory_delete", {"id": one}),
    ):
        assert agent.refusal(tool, **arguments)["code"] == "not_current", tool
    kinds = [event["kind"] for event in agent.call("memory_history", memory_id=one)["events"]]
    assert kinds == ["delete", "create"]
    agent.call("memory_update", id=two, title="Manual")
    assert seen(agent) == [{KEPT}] * len(SEARCHES)


def test_no_restart_no_rebuild_and_no_late_job_brings_it_back(settings: Settings, clock: ManualClock) -> None:
    """B25 Vectors that come late, an index made anew, another process: the deleted one stays away."""
    caller = Caller("local", "claude", "session-1", project="atlas")

    def opened() -> App:
        return App(settings, clock, HostEnvironment())

    with closing(opened()) as app:
        words_only = Agent(app.database, clock, caller, embedder_named("off"))
        content = {"type": "fact", "conversation_id": "c-1"}
        one = words_only.call("memory_write", content=f"{GONE} {'and more ' * 1500}", **content)["id"]
        agent = Agent(app.database, clock, caller)
        two = agent.call("memory_write", content=f"{GONE} {'and then ' * 1500}", **content)
        agent.call("memory_write", content=KEPT, **content)
        assert two["vector"] == "pending"
        clock.advance(60)
        for memory_id in (one, two["id"]):
            agent.call("memory_delete", id=memory_id)
        assert run_once(app)["failed"] == 0
        assert seen(agent) == [{KEPT}] * len(SEARCHES)
    for path in Path(settings.home).glob("m3.db.*"):
        path.unlink()
    with closing(opened()) as app:
        agent = Agent(app.database, clock, caller)
        assert seen(agent) == [{KEPT}] * len(SEARCHES)
        assert run_once(app)["waiting"] == 0
        assert seen(agent) == [{KEPT}] * len(SEARCHES)
        assert examine(app.context(caller)).faults == []
        assert agent.call("memory_restore", id=one)["status"] == "restored"
        assert len(seen(agent)[0]) == 2


def test_what_was_deleted_may_be_said_again(agent: Agent) -> None:
    """B26 As a memory of its own; the deleted one stays as it is."""
    one = agent.call("memory_write", content=GONE, type="fact")["id"]
    agent.call("memory_delete", id=one)
    again = agent.call("memory_write", content=GONE, type="fact")
    assert (again["status"], again["id"] == one) == ("created", False)
    other = agent.call("memory_write", content=KEPT, type="fact")["id"]
    agent.call("memory_delete", id=again["id"])
    assert agent.call("memory_update", id=other, content=GONE)["status"] == "updated"
    assert {hit["content"] for hit in agent.call("memory_search", query="winch folder")["hits"]} == {GONE}


@pytest.mark.parametrize("tool", ["memory_write", "memory_write_bulk", "memory_supersede"])
def test_what_was_deleted_may_be_said_again_in_every_way(agent: Agent, tool: str) -> None:
    """B26 After it was written, updated and deleted one by one or together; and again, and again."""
    for _ in range(3):
        other = agent.call("memory_write", content=KEPT, type="fact")["id"]
        said = {"content": GONE, "type": "fact"}
        arguments: dict[str, Any] = {
            "memory_write": said,
            "memory_write_bulk": {"items": [said, said]},
            "memory_supersede": {"old_id": other, "content": GONE},
        }[tool]
        answer = agent.call(tool, **arguments)
        again = answer.get("results", [answer])[0]
        assert again["status"] in ("created", "superseding")
        updates = [{"id": again["id"], "title": "Winch"}, {"id": again["id"], "content": f"{GONE}, twice"}]
        assert agent.call("memory_update_bulk", updates=updates)["succeeded"] == 2
        assert agent.call("memory_update", id=again["id"], content=GONE)["version"] == 4
        assert agent.call("memory_delete_bulk", ids=[again["id"], other])["succeeded"] >= 1
        assert agent.call("memory_search", query="winch folder")["hits"] == []


def test_a_delete_through_any_door_holds_for_all(door: Door) -> None:
    """B25."""
    one, two = (facts(door, "memory_write", content=content, type="fact")["id"] for content in (GONE, KEPT))
    facts(door, "memory_delete", id=one)
    assert [hit["id"] for hit in facts(door, "memory_search", query="winch folder")["hits"]] == [two]
    assert facts(door, "memory_get", id=one)["state"] == "deleted"
    assert error(door, "memory_update", id=one, title="back")["code"] == "not_current"
    assert facts(door, "memory_restore", id=one)["status"] == "restored"
    assert {hit["id"] for hit in facts(door, "memory_search", query="winch folder")["hits"]} == {one, two}


def test_no_import_undoes_a_deletion_and_none_is_in_what_is_exported(
    stores: Stores, clock: ManualClock
) -> None:
    """B85's half about deletion: two stores change apart and tell each other all, twice, both ways."""
    caller = Caller("local", "claude", "session-1", project="atlas")
    with ExitStack() as stack:
        one, two = (
            Agent(stack.enter_context(closing(open_database(stores.fresh(), clock))), clock, caller)
            for _ in range(2)
        )

        def told(source: Agent, target: Agent) -> list[dict[str, Any]]:
            """What the source exports, taken in by the person at the target."""
            lines = source.call("memory_export")["lines"]
            person = replace(target, caller=caller.as_operator())
            person.call("memory_import", data="\n".join(json.dumps(line) for line in lines))
            return lines

        gone, erased, kept = (
            one.call("memory_write", content=content, type="fact")["id"]
            for content in (GONE, "The winch alarm is at the gate", KEPT)
        )
        clock.advance(60)
        told(one, two)
        assert len(two.call("memory_list")["memories"]) == 3
        clock.advance(60)
        one.call("memory_delete", id=gone)
        person = replace(one, caller=caller.as_operator())
        confirm = person.call("gdpr_forget", ids=[erased])["confirm"]
        person.call("gdpr_forget", ids=[erased], confirm=confirm)
        two.call("memory_update", id=gone, content=f"{GONE}, on top")
        two.call("memory_update", id=kept, title="Manual")
        for _ in range(2):
            clock.advance(60)
            assert GONE not in json.dumps(told(one, two))
            assert GONE in json.dumps(told(two, one))
            assert [row["id"] for row in one.call("memory_list")["memories"]] == [kept]
            assert one.call("memory_get", id=gone)["state"] == "deleted"
            assert one.refusal("memory_get", id=erased)["code"] == "not_found"
            assert one.call("memory_list", trust_state="candidate")["memories"] == []
        assert one.call("memory_restore", id=gone)["status"] == "restored"
        assert one.call("memory_get", id=gone)["memory"]["content"] == GONE
