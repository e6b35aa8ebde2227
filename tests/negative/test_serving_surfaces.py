"""Every serving surface against every way of not being there, each brought about by the verb that does it.

Acceptance ids of the public atlas stand where a test keeps one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.config import Settings
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.reindex import reindex
from tests.callers import Agent, embedder_named
from tests.sizes import size
from tests.stores import Stores
from tests.surfaces.doors import run

HIDDEN, SHOWN = "zqhidden", "zqshown"
TRACE = "zqtrace"
"""What only the hidden text says, and no question."""

TEXT = f"the lantern of the {HIDDEN} tower is {TRACE} green"
SIBLING = f"the kettle in the {SHOWN} kitchen holds two litres"
QUERIES = (f"the lantern of the {HIDDEN} tower", HIDDEN, "lantern tower", "kettle kitchen", SHOWN)
DAY_SECONDS = 24 * 60 * 60
DEPTHS = size((3,), (1, 3, 100))


@dataclass(frozen=True)
class Stage:
    """A reader at a store, whose clock moves."""

    location: str
    clock: ManualClock
    reader: Agent

    @property
    def operator(self) -> Agent:
        return replace(self.reader, caller=self.reader.caller.as_operator())

    def write(self, agent: Agent, content: str, **more: object) -> str:
        self.clock.advance(1)
        found: str = agent.call("memory_write", **{"content": content, "type": "fact", **more})["id"]
        self.clock.advance(1)
        return found


@pytest.fixture(params=["on", "off"])
def stage(stores: Stores, request: pytest.FixtureRequest) -> Generator[Stage]:
    """With a model and without, on each engine."""
    location, clock = stores.fresh(), ManualClock()
    with closing(open_database(location, clock)) as database:
        caller = Caller("ann", "claude", "monday", project="site")
        yield Stage(location, clock, Agent(database, clock, caller, embedder_named(request.param)))


def _elsewhere(**place: object) -> Callable[[Stage], str]:
    return lambda stage: stage.write(stage.reader.who(agent_id="codex", **place), TEXT)


def _superseded(stage: Stage) -> str:
    old = stage.write(stage.reader, TEXT)
    stage.reader.call("memory_supersede", old_id=old, content="the tower has no lamp at all")
    return old


def _ended(stage: Stage) -> str:
    old = stage.write(stage.reader, TEXT)
    stage.reader.call("memory_update", id=old, valid_to=stage.clock.now())
    return old


def _expired(stage: Stage) -> str:
    old = stage.write(stage.reader, TEXT, scope="session")
    stage.clock.advance(2 * DAY_SECONDS)
    return old


def _deleted(stage: Stage) -> str:
    old = stage.write(stage.reader, TEXT)
    stage.reader.call("memory_delete", id=old)
    return old


def _rejected(stage: Stage) -> str:
    old = stage.write(stage.reader, TEXT)
    stage.operator.call("memory_set_trust", id=old, state="rejected", reason="it is wrong")
    return old


def _tombstoned(stage: Stage) -> str:
    old = _rejected(stage)
    for content in (TEXT, TEXT.upper(), f"{TEXT}.", TEXT.replace("o", "\u043e")):
        assert stage.reader.refusal("memory_write", content=content, type="note")["code"] == "tombstoned"
    items = [{"content": TEXT, "type": "fact"}]
    assert stage.reader.call("memory_write_bulk", items=items)["created"] == 0
    assert stage.reader.call("memory_import", data=json.dumps(items[0]))["imported"] == 0
    return old


def _candidate(stage: Stage) -> str:
    stage.reader.call("memory_import", data=json.dumps({"kind": "memory", "content": TEXT, "type": "fact"}))
    (row,) = stage.reader.call("memory_list", trust_state="candidate")["memories"]
    return str(row["id"])


def _erased(stage: Stage) -> str:
    old = stage.write(stage.reader, TEXT)
    confirm = stage.operator.call("gdpr_forget", ids=[old])["confirm"]
    stage.operator.call("gdpr_forget", ids=[old], confirm=confirm)
    return old


WAYS: dict[str, Callable[[Stage], str]] = {
    "of another user": _elsewhere(user_id="bob"),
    "of another circle": _elsewhere(circle="apart"),
    "of another project": _elsewhere(project="shop"),
    "of no project": _elsewhere(project=""),
    "superseded": _superseded,
    "ended": _ended,
    "expired": _expired,
    "deleted": _deleted,
    "rejected": _rejected,
    "tombstoned": _tombstoned,
    "candidate": _candidate,
    "erased": _erased,
}


def served(agent: Agent, memory_id: str, neighbour: str) -> Iterator[tuple[str, str]]:
    """What every reading surface answers that is asked for what is current alone, by its name and mode."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_list", {"limit": 100}),
        ("memory_list", {"counts": True}),
        ("memory_export", {"limit": 1000}),
        ("memory_get", {"id": memory_id}),
        ("memory_history", {"memory_id": memory_id}),
        ("memory_graph", {"memory_id": neighbour, "depth": 3}),
        ("memory_refresh_queue", {"include_future": True}),
        ("memory_lifecycle_summary", {}),
        ("memory_dedup", {"threshold": 0.5}),
        ("review_list", {}),
        ("agent_list", {}),
    ]
    for query in QUERIES:
        for mode in ("hybrid", "keyword", "vector"):
            calls += [("memory_search", {"query": query, "search_mode": mode, "k": k}) for k in DEPTHS]
        calls += [(tool, {"query": query}) for tool in ("memory_search_scored", "memory_suggest")]
        calls.append(("memory_search_multi_db", {"query": query}))
    for tool, arguments in calls:
        name = " ".join(filter(None, (tool, arguments.get("search_mode", ""))))
        yield name, agent.outcome(tool, arguments).text


@pytest.mark.case("B25")
@pytest.mark.parametrize("way", WAYS)
def test_no_surface_serves_what_is_not_there(stage: Stage, way: str) -> None:
    """scope.cross_tenant_absent, deletion.absent_after_reindex_and_restart, correction.survives_reindex."""
    neighbour = stage.write(stage.reader, SIBLING)
    memory_id = WAYS[way](stage)

    def told(agent: Agent) -> list[str]:
        return [tool for tool, text in served(agent, memory_id, neighbour) if TRACE in text]

    assert told(stage.reader) == []
    assert SHOWN in stage.reader.outcome("memory_search", {"query": "kettle kitchen", "k": 1}).text
    for _ in reindex(stage.reader.database):
        pass
    with closing(open_database(stage.location, stage.clock)) as again:
        restarted = replace(stage.reader, database=again)
        assert told(restarted) == []
        hits = restarted.call("memory_search", query="kettle kitchen", search_mode="keyword")["hits"]
        assert [hit["content"] for hit in hits] == [SIBLING]


def test_the_same_surfaces_serve_what_is_there(stage: Stage) -> None:
    """The control: before it is hidden, each of the surfaces that show text shows this one."""
    neighbour = stage.write(stage.reader, SIBLING)
    memory_id = stage.write(stage.reader, TEXT, refresh_on="2026-01-01T00:00:01Z")
    stage.reader.call("memory_link", from_id=neighbour, to_id=memory_id, relationship_type="related")
    told = {tool for tool, text in served(stage.reader, memory_id, neighbour) if TRACE in text}
    assert told >= {
        *("memory_list", "memory_export", "memory_get", "memory_graph", "memory_refresh_queue"),
        *("memory_search hybrid", "memory_search keyword", "memory_search vector"),
        *("memory_search_scored", "memory_suggest", "memory_search_multi_db"),
    }


def test_a_rejection_is_no_memory_and_k_bounds_what_is_found(stage: Stage) -> None:
    """tombstone.no_second_memory_unit, retrieval.k_is_an_upper_bound.

    And correction.retraction_without_replacement: what is taken back leaves nothing in its place.
    """
    kept = [stage.write(stage.reader, f"the {place} has a {thing}") for place, thing in PLACES]
    before = stage.reader.call("memory_list", counts=True)["total"]
    _tombstoned(stage)
    assert stage.reader.call("memory_list", counts=True)["total"] == before == len(kept)
    for mode in ("hybrid", "keyword", "vector"):
        query = "the harbour library bakery garage attic"
        all_hits = [
            [
                hit["id"]
                for hit in stage.reader.call("memory_search", query=query, search_mode=mode, k=k)["hits"]
            ]
            for k in range(1, len(kept) + 3)
        ]
        assert {*all_hits[-1]} == {*kept}
        assert all_hits == [all_hits[-1][:k] for k in range(1, len(kept) + 3)]
    stage.reader.call("memory_delete", id=kept[0])
    stage.clock.advance(DAY_SECONDS)
    hits = stage.reader.call("memory_search", query=f"{PLACES[0][0]} {PLACES[0][1]}", k=100)["hits"]
    assert kept[0] not in {hit["id"] for hit in hits}


PLACES = (
    ("harbour", "crane"),
    ("library", "clock"),
    ("bakery", "stove"),
    ("garage", "lift"),
    ("attic", "rope"),
)


@pytest.mark.case("B29")
def test_what_is_done_in_one_project_leaves_the_same_text_in_another(stage: Stage) -> None:
    """Delete, reject, erase and retain in one; the twin in the other stays, with its links."""
    other = stage.reader.who(project="shop")
    twin, beside = stage.write(other, TEXT), stage.write(other, SIBLING)
    other.call("memory_link", from_id=twin, to_id=beside, relationship_type="supports")
    before = other.call("memory_get", id=twin), other.call("memory_graph", memory_id=twin)["edges"]
    for way in ("deleted", "rejected", "erased"):
        WAYS[way](stage)
        if way == "rejected":
            stage.operator.call(
                "tombstone_lift", id=stage.operator.call("tombstone_list")["tombstones"][0]["id"]
            )
        assert (
            other.call("memory_get", id=twin),
            other.call("memory_graph", memory_id=twin)["edges"],
        ) == before


@pytest.fixture
def commands(settings: Settings, store: str, monkeypatch: pytest.MonkeyPatch) -> Generator[Stage]:
    """The same stage as the command line stands on."""
    monkeypatch.setenv("M3_HOME", str(settings.home))
    monkeypatch.setenv("M3_DATABASE_URL", settings.database_url)
    monkeypatch.setenv("M3_EMBEDDER", "hashing")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "monday")
    clock = ManualClock()
    with closing(open_database(store, clock)) as database:
        yield Stage(store, clock, Agent(database, clock, Caller("local", "cli", "monday", project="atlas")))


@pytest.mark.parametrize("way", [*WAYS, "current"])
def test_the_command_line_serves_what_is_current_alone(commands: Stage, tmp_path: Path, way: str) -> None:
    """Search, list, export, get and history; the control is a memory that nobody hid."""
    commands.write(commands.reader, SIBLING)
    memory_id = WAYS[way](commands) if way in WAYS else commands.write(commands.reader, TEXT)
    exported = tmp_path / "all.jsonl"
    told = [
        repr(run(*words.split()))
        for words in (
            *(f"memory search {HIDDEN}", "memory search lantern", "memory list", "memory list --counts"),
            *(f"memory search tower --search-mode {mode}" for mode in ("keyword", "vector")),
            *(f"memory get {memory_id}", f"memory history {memory_id}", f"export {exported}", "review"),
        )
    ]
    texts = [*told, exported.read_text(encoding="utf-8")]
    is_there = way == "current"
    assert [text for text in texts if TRACE in text] == [] or is_there
    assert sum(TRACE in text for text in texts) >= 7 * is_there
    assert SHOWN in repr(run("memory", "search", "kettle"))
    assert SHOWN in texts[-1]
    counted = run("memory", "list", "--counts").facts
    assert counted is not None
    assert counted["total"] == 1 + (way in ("current", "superseded"))
