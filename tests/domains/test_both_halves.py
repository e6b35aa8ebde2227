"""What ended is told in words, with the call that takes it back; a take-back tells its other half."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from tests.callers import Agent

OLD = "The gateway\nlistens on port 8080."
NEW = "The gateway listens on port 9090."
OTHER = "The harbour has four cranes."
CALL = re.compile(r"(memory_\w+) ([0-9a-f-]{36})")


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock)


def later(agent: Agent) -> None:
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(60)


def write(agent: Agent, content: str) -> str:
    """The id of a memory that is a minute old."""
    written: str = agent.call("memory_write", content=content, type="fact")["id"]
    later(agent)
    return written


def state(agent: Agent, memory_id: str) -> str:
    found = agent.call("memory_get", id=memory_id)
    return found.get("state", found["status"])


def do_as_told(agent: Agent, remark: str) -> list[dict[str, Any]]:
    """Makes the calls that a remark names, in its order."""
    return [agent.call(tool, id=memory_id) for tool, memory_id in CALL.findall(remark)]


def by_write(agent: Agent, old: str) -> dict[str, Any]:
    del old
    return agent.call("memory_write", content=NEW, type="fact")


def by_supersede(agent: Agent, old: str) -> dict[str, Any]:
    return agent.call("memory_supersede", old_id=old, content=NEW)


def by_update(agent: Agent, old: str) -> dict[str, Any]:
    del old
    return agent.call("memory_update", id=write(agent, OTHER), content=NEW)


def by_bulk(agent: Agent, old: str) -> dict[str, Any]:
    del old
    return agent.call("memory_write_bulk", items=[{"content": NEW, "type": "fact"}])["results"][0]


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        (by_write, "value_changed"),
        (by_supersede, "asked"),
        (by_update, "value_changed"),
        (by_bulk, "value_changed"),
    ],
)
def test_what_ended_is_told_in_words_with_the_call_that_gives_it_back(
    agent: Agent, way: Callable[[Agent, str], dict[str, Any]], reason: str
) -> None:
    old = write(agent, OLD)
    answer = way(agent, old)
    assert answer["superseded"] == [old]
    (remark,) = (said for said in answer["warnings"] if old in said)
    assert '"The gateway listens on port 8080."' in remark
    assert f"({reason})" in remark
    later(agent)
    do_as_told(agent, remark)
    assert state(agent, old) == "current"


def test_of_what_is_to_end_it_is_told_when(agent: Agent) -> None:
    old = write(agent, OLD)
    answer = agent.call("memory_supersede", old_id=old, content=NEW, valid_from="2050-01-01")
    assert [said for said in answer["warnings"] if f"{old} ends at 2050-01-01" in said]
    assert state(agent, old) == "current"


def test_of_a_long_text_the_first_words_are_told(agent: Agent) -> None:
    old = write(agent, f"{OLD} {'It is old. ' * 300}")
    remarks = " ".join(by_supersede(agent, old)["warnings"])
    assert '"The gateway listens on port 8080. It is old.' in remarks
    assert len(remarks) < 500


def test_giving_a_place_back_tells_what_was_withdrawn(agent: Agent) -> None:
    old = write(agent, OLD)
    new = by_supersede(agent, old)["id"]
    later(agent)
    told = agent.call("memory_unsupersede", id=old)["warnings"]
    assert [said for said in told if new in said and "withdrawn" in said and NEW in said]
    assert state(agent, new) == "withdrawn"


@pytest.mark.parametrize("tool", ["memory_delete", "memory_delete_bulk"])
def test_a_deletion_tells_what_stays_ended_and_how_to_have_it(agent: Agent, tool: str) -> None:
    old, plain = write(agent, OLD), write(agent, OTHER)
    new = by_supersede(agent, old)["id"]
    later(agent)
    if tool == "memory_delete":
        done = [agent.call(tool, id=memory_id) for memory_id in (plain, new)]
    else:
        done = agent.call(tool, ids=[plain, new])["results"]
    assert done[0].get("warnings", []) == []
    (remark,) = done[1]["warnings"]
    later(agent)
    do_as_told(agent, remark)
    assert (state(agent, old), state(agent, new)) == ("current", "withdrawn")


def test_what_waits_for_a_person_is_not_called_created(agent: Agent) -> None:
    old = write(agent, OLD)
    operator = replace(agent, caller=agent.caller.as_operator())
    operator.call("memory_set_trust", id=old, state="verified")
    for said, begins in ((NEW, "Waits as a candidate: "), (OTHER, "Created: ")):
        done = agent.outcome("memory_write", {"content": said, "type": "fact"})
        assert done.structured
        assert done.text.partition("\n")[0] == f"{begins}{done.structured['id']}"


def test_a_dry_run_with_nothing_to_undo_says_so_as_the_undo_does(agent: Agent) -> None:
    began = agent.clock.now()
    asked = {"agent": "claude", "since": began}
    for dry_run in (True, False):
        assert agent.call("memory_undo", **asked, dry_run=dry_run)["status"] == "nothing"
    write(agent, OLD)
    for dry_run, status in ((True, "preview"), (False, "undone")):
        assert agent.call("memory_undo", **asked, dry_run=dry_run)["status"] == status
