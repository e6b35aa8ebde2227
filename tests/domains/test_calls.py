"""What holds for the calls of every tool of the product, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from m3_memory.app import App
from m3_memory.catalog.dispatch import dispatch
from m3_memory.catalog.schema import Kind
from m3_memory.catalog.tool import Effect, Tool
from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.errors import InvalidId, InvalidTime
from m3_memory.kernel.caller import Caller
from m3_memory.toolbox import CATALOG
from tests.callers import Agent, embedder_named
from tests.stored import stored

MEMORY_TOOLS = [tool for tool in CATALOG.tools if tool.domain == "memory"]


@pytest.fixture
def agent(app: App, tmp_path: Path) -> Agent:
    caller = Caller("local", "claude", "session-1", folder=str(tmp_path))
    (tmp_path / "release.md").write_text("The release train waits for nobody")
    return Agent(app.database, app.clock, caller, embedder_named("off"))


def _context(agent: Agent, tool: Tool) -> Context:
    """What the tool is called with, by the operator where nobody else may."""
    settings = Settings(home=Path("unused"))
    caller = agent.caller.as_operator() if tool.effect is Effect.OPERATE else agent.caller
    return Context(caller, agent.database, agent.embedder, agent.clock, settings)


def _operator(agent: Agent) -> Agent:
    return replace(agent, caller=agent.caller.as_operator())


def _example(agent: Agent, tool: Tool, memory_id: str) -> dict[str, object]:
    """Its example, about memories that are there and can be changed so."""
    other = agent.call("memory_write", content="The release train has ten cars", type="fact")["id"]
    match tool.name:
        case "memory_restore":
            agent.call("memory_delete", id=memory_id)
        case "memory_unsupersede":
            agent.call("memory_supersede", old_id=memory_id, content="It leaves on Mondays")
        case "tombstone_lift":
            _operator(agent).call("memory_set_trust", id=memory_id, state="rejected")
        case "review_propose":
            return {"steps": [{"act": "delete", "id": memory_id}], "reason": "it is over"}
        case "review_decide":
            asked = agent.call(
                "review_propose", steps=[{"act": "delete", "id": memory_id}], reason="it is over"
            )
            (shown,) = agent.call("review_list", review_id=asked["review_id"])["reviews"]
            return {**tool.example, "review_id": shown["review_id"], "digest": shown["digest"]}
        case _:
            pass
    given = {
        **dict.fromkeys(("id", "old_id", "memory_id", "from_id"), memory_id),
        "to_id": other,
        "path": f"{agent.caller.folder}/release.md",
    }
    return {name: given.get(name, value) for name, value in tool.example.items()}


@pytest.mark.parametrize("tool", MEMORY_TOOLS, ids=lambda tool: tool.name)
def test_a_call_nobody_waits_for_any_more_answers_so_and_changes_nothing(agent: Agent, tool: Tool) -> None:
    written = agent.call("memory_write", content="The release train leaves on Fridays", type="fact")
    arguments = _example(agent, tool, written["id"])
    before = stored(agent.database)
    given_up = replace(_context(agent, tool), cancelled=lambda: True)
    too_late = replace(_context(agent, tool), deadline=agent.clock.monotonic())
    for context in (given_up, too_late):
        error = dispatch(CATALOG, context, tool.name, arguments).error
        assert (error and error.code) == "deadline_passed"
    assert stored(agent.database) == before
    assert dispatch(CATALOG, _context(agent, tool), tool.name, arguments).error is None


def _read_as_ids_or_moments() -> Iterator[tuple[Tool, str, str]]:
    for tool in CATALOG.tools:
        for parameter in tool.parameters:
            if parameter.shape.rules.error in (InvalidTime, InvalidId):
                yield tool, parameter.name, parameter.shape.rules.error.code


def test_a_dry_run_refuses_the_ids_and_moments_that_a_run_would(agent: Agent) -> None:
    checked = set[str]()
    for tool, name, code in _read_as_ids_or_moments():
        dry: dict[str, object] = {"tool": tool.name, "dry_run": True}
        wrong = {**tool.example, name: "yesterday"}
        for called, arguments in ((tool.name, wrong), ("m3_call", {**dry, "args": wrong})):
            refused = _operator(agent).outcome(called, arguments).error
            assert refused is not None
            assert (refused.code, refused.message.partition(":")[0]) == (code, name)
        assert _operator(agent).outcome("m3_call", {**dry, "args": dict(tool.example)}).error is None
        checked.add(name)
    assert checked >= {
        "id",
        "old_id",
        "memory_id",
        "as_of",
        "known_at",
        "valid_from",
        "valid_to",
        "refresh_on",
    }


def test_a_whole_number_is_refused_or_read_but_never_an_error_of_ours(agent: Agent) -> None:
    """Largest and smallest of what is taken, and of what databases and JSON know, for every tool."""
    checked = 0
    for tool in CATALOG.tools:
        for parameter in tool.parameters:
            if parameter.shape.kind is not Kind.INTEGER:
                continue
            for value in (2**53 - 1, 2**53, 2**63 - 1, 2**63, 2**64, 10**29, str(2**63), 1e30):
                for number in (value, f"-{value}" if isinstance(value, str) else -value):
                    refused = (
                        _operator(agent).outcome(tool.name, {**tool.example, parameter.name: number}).error
                    )
                    code = refused.code if refused else ""
                    assert code != "internal", (tool.name, parameter.name, number)
                    if abs(float(number)) >= 2**53:
                        assert code == "invalid_argument", (tool.name, parameter.name, number)
            checked += 1
    assert checked
