"""Whatever was done is undone: step by step in reverse, and all of an agent's acts at once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from tests.callers import Agent, embedder_named
from tests.sizes import size
from tests.stores import Stores

TEXTS = (
    "the mill runs",
    "The mill  runs.",
    "the mill stands still",
    "the mill burnt down",
    "the weir is open",
)
EDGES = ("related", "supports")
MOMENT_SECONDS = 60.0

Answer: TypeAlias = dict[str, Any]


class Step(NamedTuple):
    """One act: a verb, which memories it is about, and a text for those that say something."""

    verb: str
    pick: int
    other: int
    text: str


class Story:
    """Acts of one agent on a store of its own; refused ones leave nothing behind."""

    def __init__(self, agent: Agent, clock: ManualClock) -> None:
        self.agent = agent
        self.clock = clock
        self.ids: list[str] = []

    def tell(self, step: Step) -> None:
        self.clock.advance(MOMENT_SECONDS)
        if step.verb == "write" or not self.ids:
            answer = self._asked("memory_write", content=step.text, type="fact", valid_from="2025-06-01")
        else:
            answer = VERBS[step.verb](self, self._picked(step.pick), self._picked(step.other), step.text)
        if (made := answer.get("id")) and made not in self.ids:
            self.ids.append(made)

    def _picked(self, pick: int) -> str:
        return self.ids[pick % len(self.ids)]

    def _asked(self, tool: str, **arguments: object) -> Answer:
        return self.agent.outcome(tool, arguments).structured or {}

    def write_from(self, text: str) -> Answer:
        return self._asked("memory_write", content=text, type="fact", reassert=True)

    def update(self, memory_id: str, text: str) -> Answer:
        return self._asked("memory_update", id=memory_id, content=text)

    def supersede(self, memory_id: str, text: str) -> Answer:
        return self._asked("memory_supersede", old_id=memory_id, content=text)

    def change(self, tool: str, memory_id: str) -> Answer:
        name = "memory_id" if tool == "memory_undo" else "id"
        return self._asked(tool, **{name: memory_id})

    def relate(self, tool: str, from_id: str, to_id: str, kind: str) -> Answer:
        self._asked(tool, from_id=from_id, to_id=to_id, relationship_type=kind)
        return {}


VERBS: dict[str, Callable[[Story, str, str, str], Answer]] = {
    "say again": lambda story, _one, _other, text: story.write_from(text),
    "update": lambda story, one, _other, text: story.update(one, text),
    "supersede": lambda story, one, _other, text: story.supersede(one, text),
    "delete": lambda story, one, _other, _text: story.change("memory_delete", one),
    "restore": lambda story, one, _other, _text: story.change("memory_restore", one),
    "unsupersede": lambda story, one, _other, _text: story.change("memory_unsupersede", one),
    "undo": lambda story, one, _other, _text: story.change("memory_undo", one),
    "link": lambda story, one, other, text: story.relate("memory_link", one, other, EDGES[len(text) % 2]),
    "unlink": lambda story, one, other, text: story.relate("memory_unlink", one, other, EDGES[len(text) % 2]),
}

steps = st.builds(
    Step,
    st.sampled_from(["write", *VERBS, "write", "supersede", "link"]),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from(TEXTS),
)
stories = st.lists(steps, min_size=1, max_size=10)


def shown(agent: Agent, ids: list[str], **at: str) -> dict[str, object]:
    """All that reads show of these memories, but for when the store came to believe it."""
    found: dict[str, object] = {}
    for memory_id in ids:
        got = agent.outcome("memory_get", {"id": memory_id, **at}).structured or {}
        near = agent.outcome("memory_graph", {"memory_id": memory_id, **at}).structured or {}
        memory = {key: value for key, value in got.get("memory", {}).items() if key != "recorded_at"}
        found[memory_id] = (memory, edges(near))
    hits = agent.call("memory_search", query="mill weir", k=100, search_mode="keyword", **at)["hits"]
    return found | {"hits": sorted((hit["id"], hit["content"]) for hit in hits)}


def edges(near: Answer) -> list[tuple[str, str, str]]:
    return sorted((e["from_id"], e["relationship_type"], e["to_id"]) for e in near.get("edges", ()))


def last_operation(agent: Agent, ids: list[str]) -> str:
    """The last call that opened or closed anything of these memories."""
    last = (0, "")
    for memory_id in ids:
        for event in agent.call("memory_history", memory_id=memory_id, limit=100)["events"]:
            if event["kind"] != "corroborate":
                last = max(last, (event["sequence"], event["operation_id"]))
    return last[1]


class Town(NamedTuple):
    """One user's agent on a store that other stories share."""

    agent: Agent
    clock: ManualClock

    def pass_time(self) -> str:
        """A moment between what was and what comes."""
        self.clock.advance(MOMENT_SECONDS)
        now = self.clock.now()
        self.clock.advance(MOMENT_SECONDS)
        return now


@pytest.fixture
def towns(stores: Stores) -> Generator[Callable[[], Town]]:
    clock, users = ManualClock(), count()
    with closing(open_database(stores.fresh(), clock)) as store:

        def town() -> Town:
            caller = Caller(f"user {next(users)}", "claude", "monday", project="site")
            return Town(Agent(store, clock, caller, embedder_named("off")), clock)

        yield town


def test_a_story_undone_step_by_step_leads_back_through_every_moment_of_it(
    towns: Callable[[], Town],
) -> None:
    @settings(max_examples=150)
    @given(told=stories)
    def holds(told: list[Step]) -> None:
        agent, clock = town = towns()
        story = Story(agent, clock)
        before: dict[str, tuple[list[str], dict[str, object]]] = {}
        past: dict[str, dict[str, object]] = {}
        for step in told:
            ids, picture = list(story.ids), shown(agent, story.ids)
            story.tell(step)
            before.setdefault(last_operation(agent, story.ids), (ids, picture))
            now = town.pass_time()
            past[now] = shown(agent, story.ids, as_of=now, known_at=now)
        for operation, (ids, picture) in reversed(before.items()):
            agent.call("memory_undo", operation=operation)
            assert shown(agent, ids) == picture, operation
        assert {str(of) for of in shown(agent, story.ids).values()} <= {"({}, [])", "[]"}
        for now, picture in past.items():
            assert shown(agent, [i for i in story.ids if i in picture], as_of=now, known_at=now) == picture

    holds()


def test_all_that_an_agent_did_is_undone_at_once(towns: Callable[[], Town]) -> None:
    """Whatever it did to what others wrote too, undoing included; nobody came after it."""

    @settings(max_examples=400)
    @given(early=stories, late=stories)
    def holds(early: list[Step], late: list[Step]) -> None:
        agent, clock = town = towns()
        story = Story(agent, clock)
        for step in early:
            story.tell(step)
        since, ids, picture = town.pass_time(), list(story.ids), shown(agent, story.ids)
        story.agent = agent.who(agent_id="cursor")
        for step in late:
            story.tell(step)
        now = town.pass_time()
        past = shown(agent, story.ids, as_of=now, known_at=now)
        done = agent.call("memory_undo", agent="cursor", since=since)
        assert done["kept_total"] == 0, done["kept"]
        assert shown(agent, ids) == picture
        assert {key for key, of in shown(agent, story.ids).items() if of != ({}, [])} <= {*ids, "hits"}
        town.pass_time()
        assert shown(agent, story.ids, as_of=now, known_at=now) == past
        if operation := done.get("operation_id"):
            agent.call("memory_undo", operation=operation)
            assert shown(agent, story.ids) == shown(agent, story.ids, as_of=now, known_at=now)

    holds()
