"""How much a client is told about tools before it asks: the budget of every list, and the way to the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from m3_memory.catalog.registry import DOMAINS
from m3_memory.generated import load_catalog
from m3_memory.toolbox import CATALOG
from tests.surfaces.doors import Mcp, facts, server
from tests.surfaces.mcp_wire import request

FIRST_BYTES = 12_000
"""Of the first list of a connection: some 3,000 tokens."""

PROFILE_BYTES = 64_000
"""Of a list with domains beside the essential tools, and of the whole list."""

INSTRUCTIONS_BYTES = 1_000
CLIENT_TAKES = 40
"""So many tools some clients take, and drop the rest."""

CORE = frozenset(
    {
        *("memory_search", "memory_write", "memory_get", "memory_update", "memory_supersede"),
        *("memory_delete", "tools_list_domains", "tools_load_domain", "m3_call"),
    }
)


def tools_of(*launch: str) -> tuple[list[dict[str, Any]], str]:
    """The first `tools/list` of a server so launched, and its instructions."""
    with server(*launch) as wire:
        instructions = wire.open()["instructions"]
        return wire.result(request("tools/list"))["tools"], instructions


def size_bytes(listed: object) -> int:
    return len(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode())


@pytest.mark.case("B56")
def test_the_first_list_and_the_instructions_are_small() -> None:
    tools, instructions = tools_of()
    assert len(tools) <= 10
    assert size_bytes(tools) <= FIRST_BYTES
    assert len(instructions.encode()) <= INSTRUCTIONS_BYTES
    assert {tool["name"] for tool in tools} >= CORE


@pytest.mark.case("B56")
@pytest.mark.parametrize("choice", ["all", *(name for name, _, _ in CATALOG.domains())])
def test_every_profile_keeps_its_budget_and_begins_with_the_core(choice: str) -> None:
    """A client that takes forty tools, whichever it is told, has the core among them."""
    tools, _ = tools_of("--tools", choice)
    assert size_bytes(tools) <= PROFILE_BYTES
    assert {tool["name"] for tool in tools[:CLIENT_TAKES]} >= CORE
    assert [tool["name"] for tool in tools[: len(CATALOG.essentials)]] == [t.name for t in CATALOG.essentials]
    wanted = DOMAINS if choice == "all" else {choice}
    expected = {tool.name for tool in CATALOG.tools if tool.essential or tool.domain in wanted}
    assert {tool["name"] for tool in tools} == expected


@pytest.mark.case("B56")
def test_what_is_not_listed_is_reached_by_its_name_and_by_loading() -> None:
    with server() as wire:
        door = Mcp(wire)
        listed = {tool["name"] for tool in wire.result(request("tools/list"))["tools"]}
        assert "memory_list" not in listed
        called = door.ask("m3_call", {"tool": "memory_list"}).facts
        assert called is not None
        assert called["ok"] is True
        loaded = facts(door, "tools_load_domain", domain="memory")["tools_now_available"]
        assert "memory_list" in loaded
        answer = wire.ask(request("tools/list", request_id="again"))
        while answer.get("id") != "again":  # the list has changed, and that is told too
            answer = wire.read()
        assert {*loaded} < {tool["name"] for tool in answer["result"]["tools"]}


def test_the_index_has_every_tool_with_its_arguments() -> None:
    with server() as wire:
        door = Mcp(wire)
        index = facts(door, "m3_index")
        catalog = {tool["name"]: tool for tool in load_catalog()["tools"]}
        assert index["count"] == len(index["tools"]) == len(catalog)
        for entry in index["tools"]:
            tool = catalog[entry["name"]]
            schema = tool["inputSchema"]
            assert entry["domain"] == tool["domain"]
            assert entry["summary"] == tool["description"].partition("\n")[0]
            assert entry["destructive"] == (tool["effect"] in ("destroy", "operate"))
            assert {a["name"]: a["type"] for a in entry["args"]} == {
                name: about["type"] for name, about in schema.get("properties", {}).items()
            }
            assert [a["name"] for a in entry["args"] if a["required"]] == schema.get("required", [])
        admin = facts(door, "m3_index", domain="admin")["tools"]
        assert {entry["domain"] for entry in admin} == {"admin"}


def test_help_is_a_page_of_the_tools_asked_for() -> None:
    with server() as wire:
        door = Mcp(wire)
        everything = facts(door, "m3_help_capabilities")
        assert everything["count"] == len(CATALOG.tools)
        assert all(f"**{tool.name}**" in everything["text"] for tool in CATALOG.tools)
        some = facts(door, "m3_help_capabilities", query="Supersede", domain="memory")
        assert "**memory_supersede**(old_id, content" in some["text"]
        assert 0 < some["count"] < len(CATALOG.in_domain("memory"))
        nothing = facts(door, "m3_help_capabilities", query="no tool says this")
        assert (nothing["count"], "No tool matches" in nothing["text"]) == (0, True)
