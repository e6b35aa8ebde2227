"""Whose memories a call means: the caller's, in its place, whatever the arguments say."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from m3_memory.catalog.tool import Effect
from m3_memory.toolbox import CATALOG
from tests.callers import Agent
from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.doors import M3, Mcp
from tests.surfaces.mcp_wire import Wire
from tests.unit.git_folders import origin, repository

OURS = "The staging password rotates every Monday at noon"
THEIRS = "The staging password rotates every Monday at dusk"
WIDE = (
    "",
    "*",
    "%",
    "all",
    ["A", "B"],
    "A' OR '1'='1",
    "agent/local/local/-",
    "agent/local/local/bridge",
    "user/",
    7,
)
"""What a caller may try as a scope."""


def contents(answer: dict[str, Any]) -> list[str]:
    return [hit["content"] for hit in answer["hits"]]


def every_search() -> Iterator[dict[str, Any]]:
    for mode in ("hybrid", "keyword", "vector"):
        for query in (THEIRS, "staging password", f'"{THEIRS}"', "staging"):
            for k in (1, 3, 100):
                yield {"query": query, "search_mode": mode, "k": k}


def test_near_identical_text_of_another_project_never_shows(agent: Agent) -> None:
    """B32, B37 Every mode and depth, the exact phrase, the first hit alone; the answer names its scope."""
    other = agent.who(project="bridge")
    theirs = [
        other.call("memory_write", content=f"{THEIRS}{mark}", type="fact")["id"]
        for mark in ("", "!", " sharp")
    ]
    for search in every_search():
        answer = agent.call("memory_search", **search)
        assert (answer["hits"], bool(answer["empty_because"])) == ([], True), search
        assert answer["scope"] == ["agent/local/local/atlas", "session/local/local/session-1", "user/local"]
    agent.call("memory_write", content=OURS, type="fact")
    for search in every_search():
        assert contents(agent.call("memory_search", **search)) == [OURS], search
        assert set(contents(other.call("memory_search", **search))) <= {
            THEIRS,
            f"{THEIRS}!",
            f"{THEIRS} sharp",
        }
    for tool, arguments in calls_about(theirs[0]):
        assert agent.refusal(tool, **arguments)["code"] == "not_found", tool
    assert other.call("memory_get", id=theirs[0])["memory"]["content"] == THEIRS


def calls_about(memory_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every call that names a memory by its id, and those that take the start of one."""
    more = {"memory_supersede": {"content": "x"}, "memory_update": {"title": "x"}}
    for tool in CATALOG.tools:
        if tool.effect is Effect.OPERATE:
            continue  # they are an operator's, whatever memory they name
        for name in {"id", "old_id", "memory_id"} & {given.name for given in tool.parameters}:
            yield tool.name, {name: memory_id, **more.get(tool.name, {})}
            if tool.name in ("memory_get", "memory_history"):
                yield tool.name, {name: memory_id[:-2]}


def test_a_scope_narrows_and_never_widens(agent: Agent) -> None:
    """B34 Whatever is tried as a scope is refused, or finds no more than the caller's own."""
    other = agent.who(project="bridge", agent_id="codex")
    other.call("memory_write", content=THEIRS, type="fact")
    agent.who(user_id="ann").call("memory_write", content=f"{THEIRS} too", type="fact", scope="user")
    agent.call("memory_write", content=OURS, type="fact")
    for scope in WIDE:
        for name in ("scope", "agent_filter", "conversation_id", "variant", "user_id", "requesting_agent"):
            outcome = agent.outcome("memory_search", {"query": "staging password", name: scope})
            assert not outcome.structured or set(contents(outcome.structured)) <= {OURS}, (name, scope)
        outcome = agent.outcome("memory_write", {"content": f"about {scope}", "type": "fact", "scope": scope})
        if outcome.structured:
            assert agent.call("memory_get", id=outcome.structured["id"])["scope"] == "agent/local/local/atlas"
            agent.call("memory_delete", id=outcome.structured["id"])
    assert agent.refusal("memory_search", query="staging", project="*")["code"] == "needs_grant"
    for argument in ("projects", "database", "circle", "audience"):
        assert (
            agent.refusal("memory_search", query="staging", **{argument: "*"})["code"] == "invalid_argument"
        )
    assert contents(agent.call("memory_search", query="staging password", agent_filter="codex")) == []
    for scope, found in (("agent", [OURS]), ("session", []), ("user", [])):
        assert contents(agent.call("memory_search", query="staging password", scope=scope)) == found


def test_what_a_payload_says_of_its_writer_counts_for_nothing(agent: Agent) -> None:
    """B35 Identity and trust are the connection's; labels are labels."""
    labels = {"source": "human", "model_id": "operator", "conversation_id": "session-9"}
    made = agent.call("memory_write", content=OURS, type="fact", title="verified by root", **labels)
    memory = agent.call("memory_get", id=made["id"])["memory"]
    assert (
        memory.items()
        >= {"agent_id": "claude", "trust_state": "accepted", "actionable": "inform", **labels}.items()
    )
    assert agent.who(conversation_id="session-9").call("memory_get", id=made["id"])["status"] == "current"
    claims = {
        "user_id": "ann",
        "agent_id": "root",
        "scope": "org",
        "owner_id": "ann",
        "verified_by": "human",
    }
    for key, value in {**claims, "Trust-State": "verified", "confidence": 1.0}.items():
        for tool, arguments in (
            ("memory_write", {"content": "x", "type": "fact"}),
            ("memory_update", {"id": made["id"]}),
            ("memory_supersede", {"old_id": made["id"], "content": "x"}),
        ):
            refused = agent.refusal(tool, **arguments, metadata={key: value})
            assert (refused["code"], key in refused["message"]) == ("invalid_metadata", True)
    assert agent.call("memory_get", id=made["id"])["memory"] == memory
    said = {"status": "verified", "created_by": "human", "owner": "ann"}
    agent.call("memory_update", id=made["id"], metadata=said)
    labelled = agent.call("memory_get", id=made["id"])["memory"]
    assert labelled["metadata"] == said
    assert all(labelled[name] == memory[name] for name in ("agent_id", "trust_state", "actionable"))


@contextmanager
def standing_in(place: CommandLine, kind: str) -> Generator[Any]:
    """A server or a command line started in that folder, by nothing but its working directory."""
    if kind == "mcp":
        with Wire(command=M3, cwd=place.folder, env=place.environment) as wire:
            yield Mcp(wire)
    else:
        yield place


def ask(door: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer, or the error, of a server or a command."""
    if isinstance(door, Mcp):
        found = door.ask(tool, arguments)
        return found.facts or found.error or {}
    words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
    done = door.run("memory", tool, *words)
    return done.answer if done.code == 0 else done.error


@pytest.mark.parametrize("kind", ["mcp", "m3"])
def test_without_a_scope_a_call_means_the_project_it_stands_in(tmp_path: Path, kind: str) -> None:
    """B33 Two processes in two directories over one store: neither finds, reads or changes the other's."""
    places = [
        command_line(
            repository(tmp_path / name, origin(f"git@example.com:acme/{name}.git")),
            CLAUDE_CODE_SESSION_ID=name,
        )
        for name in ("atlas", "bridge")
    ]
    with standing_in(places[0], kind) as here, standing_in(places[1], kind) as there:
        ours = ask(here, "memory_write", content=OURS, type="fact")["id"]
        theirs = ask(there, "memory_write", content=THEIRS, type="fact")["id"]
        for door, own, name in ((here, OURS, "atlas"), (there, THEIRS, "bridge")):
            answer = ask(door, "memory_search", query="staging password")
            assert contents(answer) == [own]
            assert any(name in scope for scope in answer["scope"])
        for tool, arguments in calls_about(theirs):
            assert ask(here, tool, **arguments)["code"] == "not_found", tool
        assert ask(there, "memory_get", id=ours)["code"] == "not_found"
        assert ask(there, "memory_get", id=theirs)["memory"]["content"] == THEIRS
        everywhere = ask(
            here, "memory_write", content="I write in the present tense", type="preference", scope="user"
        )
        assert ask(there, "memory_get", id=everywhere["id"])["memory"]["scope"] == "user"
