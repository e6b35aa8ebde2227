"""One call is one answer, whichever way it comes in; and every answer keeps the promise of its schema."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from m3_memory.app import App
from m3_memory.catalog.tool import Effect
from m3_memory.config import Settings
from m3_memory.generated import load_catalog
from m3_memory.launch import Launch
from m3_memory.surfaces.session import Session
from m3_memory.toolbox import CATALOG
from tests.surfaces.agent_steps import AGENTS
from tests.surfaces.bulk_steps import BULK, letter
from tests.surfaces.doors import AGENT, PLACE, Answer, Door, opened, server
from tests.surfaces.lifecycle_steps import LIFECYCLE
from tests.surfaces.mcp_wire import LEGACY, modern, request
from tests.surfaces.moving_steps import MOVING
from tests.surfaces.relation_steps import RELATIONS
from tests.surfaces.retrieval_steps import RETRIEVAL
from tests.surfaces.review_steps import REVIEW
from tests.surfaces.steps import NOWHERE, Step

DOORS = ("mcp", "mcp-modern", "m3_call", "m3 call", "m3 verb")
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

FACT = {"content": "Releases are cut from the branch stable", "type": "fact"}
STORY: tuple[Step, ...] = (
    Step("memory_search", {"query": "release"}),
    Step("memory_write", {**FACT, "title": "Branch", "metadata": {"ticket": 7, "k": None}}, name="fact"),
    Step("memory_write", {**FACT, "content": "releases are CUT from the  branch stable."}),
    Step("memory_write", {"content": "", "type": "fact"}, "invalid_content"),
    Step("memory_write", {"content": "a", "type": "opinion"}, "invalid_argument"),
    Step("memory_write", {**FACT, "valid_from": "2026-02-02", "valid_to": "2026-02-01"}, "invalid_time"),
    Step("memory_write", {**FACT, "metadata": [1]}, "invalid_metadata"),
    Step("memory_write", {**FACT, "user_id": "somebody"}, "wider_identity"),
    Step("memory_search", {"query": "which branch", "k": 5, "type_filter": "fact"}),
    Step("memory_search", {"query": "branch", "search_mode": "vector", "scope": "agent"}),
    Step("memory_search", {"query": "???"}),
    Step("memory_search", {"query": "branch", "k": 500}, "invalid_argument"),
    Step("memory_search", {"query": "branch", "as_of": "yesterday"}, "invalid_time"),
    Step("memory_search", {"query": "branch", "colour": "red"}, "invalid_argument", verb=False),
    Step("memory_get", {"id": "$fact"}),
    Step("memory_get", {"id": "$fact", "as_of": "2020-01-01"}),
    Step("memory_get", {"id": NOWHERE}, "not_found"),
    Step("memory_get", {"id": "memory"}, "invalid_id"),
    Step("memory_update", {"id": "$fact", "content": "Releases are cut from the branch main"}),
    Step("memory_update", {"id": "$fact", "importance": 0.9, "refresh_on": "2026-01-01"}),
    Step("memory_update", {"id": "$fact", "importance": 0.9}),
    Step("memory_update", {"id": "$fact", "importance": 2}, "invalid_argument"),
    Step("memory_update", {"id": NOWHERE, "title": "Branch"}, "not_found"),
    Step("memory_supersede", {"old_id": "$fact", "content": "Releases are cut from tags"}, name="newer"),
    Step("memory_supersede", {"old_id": "$fact", "content": "Releases are cut by hand"}, "not_current"),
    Step("memory_write", {**FACT, "content": "Releases are cut from the branch main"}, "superseded_value"),
    Step("memory_get", {"id": "$fact"}),
    Step("memory_delete", {"id": "$newer", "hard": True}, "needs_operator"),
    Step("memory_delete", {"id": "$newer"}),
    Step("memory_delete", {"id": "$newer"}, "not_current"),
    Step("memory_restore", {"id": "$newer"}),
    Step("memory_restore", {"id": "$newer"}, "undo_blocked"),
    Step("memory_history", {"memory_id": "$newer"}),
    Step("memory_history", {"memory_id": "$fact", "limit": 2}),
    Step("memory_history", {"memory_id": NOWHERE}, "not_found"),
    *RELATIONS,
    *RETRIEVAL,
    *BULK,
    *MOVING,
    Step("memory_set_trust", {"id": "$newer", "state": "verified"}, "needs_operator"),
    Step("tombstone_lift", {"id": "$newer"}, "needs_operator"),
    Step("tombstone_list", {}, "needs_operator"),
    Step("gdpr_export", {}, "needs_operator"),
    Step("gdpr_forget", {"ids": ["$newer"]}, "needs_operator"),
    *AGENTS,
    *LIFECYCLE,
    *REVIEW,
    Step("tools_list_domains", {}),
    Step("tools_list_domains", {"domain": "memory"}, "invalid_argument", verb=False),
    Step("tools_load_domain", {"domain": "admin"}),
    Step("tools_load_domain", {"domain": "nowhere"}, "invalid_argument"),
    Step("m3_call", {"tool": "memory_search", "args": {"query": "tags"}}),
    Step(
        "memory_write", {"content": f"The token is {SECRET}", "type": "auto", "scope": "user"}, name="token"
    ),
    Step("m3_call", {"tool": "memory_delete", "args": {"id": "$token"}, "dry_run": True}),
    Step("m3_call", {"batch": [{"tool": "memory_get", "args": {"id": "$token"}}, {"tool": "memory_write"}]}),
    Step("m3_call", {}, "invalid_argument"),
)
"""A life of a few memories, told to every door; each answer may depend on all that went before.

The secret comes last: the digest in its place is keyed by the store, and would stir the scores of a search.
"""

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_MARKER = re.compile(r"(\[secret:[a-z-]+:)[0-9a-f]+\]")


COUNTED_LATE = ("use_count", "last_used_at")


@dataclass
class Mask:
    """Gives ids the number of their first appearance, hides times, surfaces and digests by keys.

    Use counts are left out: each process writes its own a little later.
    """

    seen: dict[str, str] = field(default_factory=dict[str, str])

    def masked(self, value: Any) -> Any:
        match value:
            case dict():
                return {
                    key: key.upper() if key in ("surface", "digest") else self.masked(item)
                    for key, item in value.items()  # pyright: ignore[reportUnknownVariableType]
                    if key not in COUNTED_LATE
                }
            case list():
                return [self.masked(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
            case str():
                text = _MARKER.sub(r"\1DIGEST]", _TIME.sub("TIME", value))
                return _ID.sub(lambda found: self.seen.setdefault(found[0], f"ID{len(self.seen)}"), text)
            case _:
                return value


@pytest.fixture(autouse=True)
def installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same model and session of the host for every door; each test has a home of its own."""
    monkeypatch.setenv("M3_EMBEDDER", "hashing")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "session-1")


class Direct:
    """No door at all: the call that every door makes."""

    name = "dispatch"

    def __init__(self, app: App) -> None:
        self.home = app.settings.home
        self._session = Session(Launch(agent=AGENT, project=PLACE[1]), app)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        outcome = self._session.call(tool, arguments)
        error = json.loads(outcome.text) if outcome.is_error else None
        return Answer(outcome.structured, error, outcome.text)


def told(door: Door) -> Iterator[tuple[Step, Answer]]:
    """The answers of a door to the story; a step it has no words for is passed over."""
    home = door.home if isinstance(door, Direct) else Path(os.environ["M3_HOME"])
    made = {"letter": letter(home)}
    for step in STORY:
        if door.name == "m3 verb" and not step.verb:
            continue
        text = json.dumps(step.arguments)
        for name, memory_id in made.items():
            text = text.replace(f'"${name}"', f'"{memory_id}"')
        answer = door.ask(step.tool, json.loads(text))
        if step.name and answer.facts:
            made[step.name] = answer.facts["id"]
        yield step, answer


def masked_story(door: Door) -> list[tuple[Step, Any]]:
    mask = Mask()
    return [(step, mask.masked(answer.facts or answer.error)) for step, answer in told(door)]


def direct_story(settings: Settings) -> list[tuple[Step, Any]]:
    with closing(App.open(settings)) as app:
        return masked_story(Direct(app))


def test_the_story_calls_every_tool_to_a_good_end_and_to_a_bad_one() -> None:
    """What is the operator's comes to none through these doors: test_operators_alone.py."""
    mine = {tool.name for tool in CATALOG.tools if tool.effect is not Effect.OPERATE}
    assert {step.tool for step in STORY if not step.code} == mine
    assert {step.tool for step in STORY if step.code} == {tool.name for tool in CATALOG.tools}


def test_every_answer_keeps_its_schema_and_is_said_twice(app: App) -> None:
    """Success by the output schema, with no member it does not name; the text ends in the same facts."""
    tools = {tool["name"]: tool for tool in load_catalog()["tools"]}
    for step, answer in told(Direct(app)):
        said = json.loads(answer.text.rpartition("\n")[2])
        if step.code:
            assert (answer.facts, answer.error and answer.error["code"]) == (None, step.code), answer
            assert said.keys() == {"code", "message", "hint"}
            assert all(said.values())
            continue
        schema = tools[step.tool]["outputSchema"]
        assert answer.facts == said, answer
        jsonschema.validate(answer.facts, schema, jsonschema.Draft202012Validator)
        assert said.keys() <= schema["properties"].keys()


def test_both_engines_give_the_same_answers(settings: Settings, tmp_path: Path) -> None:
    assert direct_story(settings) == direct_story(Settings(tmp_path / "other", embedder="hashing"))


@pytest.mark.parametrize("name", DOORS)
def test_a_call_has_the_same_answer_through_every_door(name: str, tmp_path: Path) -> None:
    """What is no tool's answer to pass on, `m3_call` refuses; ids, times and the surface are masked."""
    expected = direct_story(Settings(tmp_path / "other", embedder="hashing"))
    with opened(name) as door:
        answers = masked_story(door)
    through = {id(step): answer for step, answer in answers}
    for step, answer in expected:
        if name == "m3 verb" and not step.verb:
            continue
        if name == "m3_call" and not CATALOG.find(step.tool).dispatchable:
            assert through[id(step)]["code"] == "not_dispatchable"
            continue
        assert through[id(step)] == answer, (name, step)


@pytest.mark.parametrize("version", [LEGACY[-1], "modern"])
def test_the_first_list_is_the_ten_essential_tools_in_few_bytes(version: str) -> None:
    """3,000 tokens of four bytes, as they go over the wire, output schemas and all."""
    with server() as wire:
        if version in LEGACY:
            wire.open(version)
        tools = wire.result(request("tools/list") if version in LEGACY else modern("tools/list"))["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in CATALOG.essentials]
    assert len(tools) == 10
    assert len(json.dumps(tools, separators=(",", ":"))) <= 12_000
    for tool in tools:
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
