"""The grant to widen: what a read may look into besides its own place, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.catalog.tool import Effect
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from m3_memory.toolbox import CATALOG
from tests.callers import Agent

WORDS = "the ferry release"
HOSTILE = (
    "*",
    "%",
    "_",
    "shop",
    "-",
    "nowhere",
    "agent/local/local/shop",
    "shop' OR '1'='1",
    "sho",
    "SHOP",
    "**",
)


@pytest.fixture
def claude(database: Database, clock: ManualClock) -> Agent:
    """An agent in the project `site`; memories are in `site`, `shop`, no project, and in another circle."""
    agent = Agent(database, clock)
    claude = agent.who(project="site")
    for there in (claude, agent.who(project="shop"), agent, claude.who(circle="apart", project="lab")):
        clock.advance(1)
        place = there.caller.project or "no project"
        there.call("memory_write", content=f"{WORDS} of {place}", type="fact")
    clock.advance(1)
    claude.who(user_id="bob", project="shop").call("memory_write", content=f"{WORDS} of bob", type="fact")
    return claude


@pytest.fixture
def wide(claude: Agent) -> Agent:
    """The same agent with the grant."""
    return claude.who(grants=frozenset({"widen"}))


def places(found: Mapping[str, Any]) -> set[str]:
    """The places whose memory an answer shows."""
    told = json.dumps(found)
    return {name for name in ("site", "shop", "no project", "lab", "bob") if f"{WORDS} of {name}" in told}


READS: Mapping[str, dict[str, object]] = {
    "memory_search": {"query": WORDS},
    "memory_search_scored": {"query": WORDS},
    "memory_search_multi_db": {"query": WORDS},
    "memory_suggest": {"query": WORDS},
    "memory_list": {},
    "memory_export": {},
}


@pytest.mark.parametrize("tool", READS)
def test_a_project_is_named_under_the_grant_and_every_answer_says_where_it_looked(
    wide: Agent, tool: str
) -> None:
    """Case B33: the default is the caller's own place; another one is named, and needs the grant."""
    for project, shown in (
        ("", {"site"}),
        ("site", {"site"}),
        ("shop", {"shop"}),
        ("-", {"no project"}),
        ("*", {"site", "shop", "no project"}),
        ("lab", set[str]()),
        ("SHOP", set[str]()),
    ):
        found = wide.call(tool, **READS[tool], project=project)
        assert places(found) == shown, project
        assert [name for name in found["scope"] if name.startswith("agent/")] == {
            "": ["agent/local/local/site"],
            "-": ["agent/local/local/-"],
            "*": ["agent/local/local/site", "agent/local/local/-", "agent/local/local/shop"],
        }.get(project, [f"agent/local/local/{project}"])


@pytest.mark.parametrize("tool", READS)
def test_without_the_grant_only_the_own_place_is_named(claude: Agent, tool: str) -> None:
    """Cases B32, B34, `scope.caller_cannot_widen`: whether or not there is such a project."""
    for project in HOSTILE:
        assert claude.refusal(tool, **READS[tool], project=project)["code"] == "needs_grant", project
    for project in ("", "site", None):
        assert places(claude.call(tool, **READS[tool], project=project)) == {"site"}
    assert claude.refusal(tool, **READS[tool], project=["site", "shop"])["code"] == "invalid_argument"


def test_a_memory_of_another_project_is_read_by_its_id_under_the_grant(claude: Agent, wide: Agent) -> None:
    found = wide.call("memory_search", query=WORDS, project="shop")["hits"][0]["id"]
    for tool, name in (("memory_get", "id"), ("memory_history", "memory_id"), ("memory_graph", "memory_id")):
        for project in ("shop", "*"):
            assert found in json.dumps(wide.call(tool, **{name: found}, project=project))
        assert wide.refusal(tool, **{name: found})["code"] == "not_found"
        assert wide.refusal(tool, **{name: found}, project="-")["code"] == "not_found"
        assert claude.refusal(tool, **{name: found}, project="shop")["code"] == "needs_grant"


def test_the_scope_narrows_what_was_widened(wide: Agent) -> None:
    assert places(wide.call("memory_search", query=WORDS, project="*", scope="session")) == set()
    assert places(wide.call("memory_search", query=WORDS, project="*", scope="agent")) != set()


def test_a_project_is_named_by_any_of_its_names(wide: Agent, clock: ManualClock) -> None:
    with wide.database.write("local") as writer:
        link = "INSERT INTO projects (owner, name, main_name, linked_at) VALUES (?, 'old-shop', 'shop', ?)"
        writer.execute(sql(link, writer.owner, clock.now()))
    wide.who(project="old-shop").call("memory_write", content=f"{WORDS} once", type="fact")
    for name in ("shop", "old-shop"):
        found = wide.call("memory_list", project=name)
        assert found["total"] == 2
        assert found["scope"][:1] == ["agent/local/local/shop"]


def test_a_grant_of_another_kind_widens_nothing(claude: Agent) -> None:
    other = claude.who(grants=frozenset({"curate", "publish", "produce"}))
    assert other.refusal("memory_list", project="shop")["code"] == "needs_grant"


def test_an_operator_reads_any_project_of_the_circle_that_is_named(claude: Agent) -> None:
    operator = replace(claude, caller=claude.caller.as_operator())
    assert places(operator.call("memory_list")) == {"site"}
    assert places(operator.call("memory_list", project="*")) == {"site", "shop", "no project"}


def test_no_write_takes_a_project(wide: Agent) -> None:
    for tool in CATALOG.tools:
        if tool.effect in (Effect.WRITE, Effect.DESTROY):
            assert "project" not in {parameter.name for parameter in tool.parameters}
    refused = wide.refusal("memory_write", content="here", type="fact", project="shop")
    assert refused["code"] == "invalid_argument"
    found = wide.call("memory_search", query=WORDS, project="shop")["hits"][0]["id"]
    for tool, arguments in (
        ("memory_update", {"id": found, "title": "mine"}),
        ("memory_delete", {"id": found}),
        ("memory_supersede", {"old_id": found, "content": "mine"}),
        ("memory_pin", {"id": found}),
    ):
        assert wide.refusal(tool, **arguments)["code"] == "not_found"
