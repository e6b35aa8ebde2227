"""Nothing of a memory shows to a caller who does not hold it, whatever reading tool is asked, and how."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing

import pytest

from m3_memory.catalog.dispatch import Outcome
from tests.callers import embedder_named
from tests.negative.recipes import MOMENTS, OF_MEMORIES, READING, Call, calls
from tests.negative.scene import FOREIGN, HIDDEN, READER, Canary, Scene
from tests.sizes import size
from tests.stores import Stores

LARGE = 520
"""More memories than are scored one by one."""

COMPARED = size(3, 1)
"""The answers about one canary in so many are compared with the empty twin's; all stand in the scene."""

TIMED = frozenset({"as_of", "known_at", "variant", "trust_state"})
"""Arguments that may show what is not current."""

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BARE_ID = re.compile(r"[0-9a-fA-F]{32}")
_TERMS = re.compile(r'"terms": ?\[\{[^]]*\]')
"""The words that a preview took its question apart into."""

_CURSOR_END = re.compile(r"~[0-9a-f]{16}\"")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture(params=["on", "off"])
def embedder(request: pytest.FixtureRequest) -> str:
    """The tests of this file hold with a model and without."""
    return request.param


@pytest.fixture
def scene(stores: Stores, embedder: str) -> Generator[Scene]:
    """A store where the reader has written, and others will."""
    with closing(Scene(stores.fresh(), embedder_named(embedder))) as made:
        yield made


@pytest.fixture
def without(stores: Stores, embedder: str) -> Generator[Scene]:
    """The same store with nobody else in it: what the reader may learn at most."""
    with closing(Scene(stores.fresh(), embedder_named(embedder))) as made:
        yield made


def asked(scene: Scene, call: Call) -> Outcome:
    return scene.reader.outcome(call.tool, call.arguments)


def found(outcome: Outcome) -> list[str]:
    """The ids a search found, in its order."""
    assert outcome.structured is not None
    return [hit["id"] for hit in outcome.structured["hits"]]


def every_call(canary: Canary) -> Iterator[Call]:
    for tool in OF_MEMORIES:
        yield from calls(tool, canary)


def current_calls(canary: Canary, tool: str) -> list[Call]:
    """Those of a tool, itself or through m3_call, that ask for nothing but what is current."""
    return [
        call
        for call in every_call(canary)
        if tool in json.dumps([call.tool, call.arguments]) and not TIMED & call.arguments.keys()
    ]


def told(outcome: Outcome, traces: Iterable[str], call: Call) -> list[str]:
    """Which traces an answer shows beyond repeating an argument that has one."""
    text = _TERMS.sub("", f"{outcome.text} {json.dumps(outcome.structured, ensure_ascii=False)}".lower())
    for said in repeated(call):
        if any(trace in said for trace in traces):
            text = text.replace(said, "")
    return [trace for trace in traces if trace in text]


def without_ids(scene: Scene, outcome: Outcome) -> str:
    """The answer's text, with what differs from store to store replaced: ids, and the key of a cursor."""
    text = _CURSOR_END.sub('~<digest>"', outcome.text)
    for place, own in enumerate(scene.own):
        text = text.replace(own, f"<own {place}>")
    return _UUID.sub("<id>", text)


def repeated(call: Call) -> list[str]:
    """Texts of a call that its answer may repeat, a whole id in the form that answers use."""
    texts = [part for part in _QUOTED.findall(json.dumps(call.arguments, ensure_ascii=False)) if part]
    whole = [str(uuid.UUID(part)) for part in texts if _BARE_ID.fullmatch(part)]
    return sorted((text.lower() for text in (*texts, *whole)), key=len, reverse=True)


def test_every_tool_that_reads_memories_is_tried() -> None:
    """Issue 2, point 3: of the reading tools only those are left out that tell of tools."""
    assert {tool.name for tool in READING} - {tool.name for tool in OF_MEMORIES} == {
        "agent_list",
        "agent_get",
        "tools_list_domains",
        "tools_load_domain",
        "m3_index",
        "m3_help_capabilities",
    }


def test_nothing_of_a_memory_of_another_place_shows(scene: Scene, without: Scene) -> None:
    """Issue 2, point 3. Cases B32, B34: the answers are those of a store that never had the memory."""
    scene.add_foreign()
    without.clock.set(scene.clock.now())
    for place, canary in enumerate(scene.canaries.values()):
        for call in every_call(canary):
            answer = asked(scene, call)
            assert told(answer, canary.traces, call) == [], (canary.name, call)
            if place % COMPARED == 0:
                twin = without_ids(without, asked(without, call))
                assert without_ids(scene, answer) == twin, (canary.name, call)


def test_other_places_change_nothing_that_a_large_store_finds(stores: Stores) -> None:
    """Issue 2, point 3. Case B32, where words choose candidates before they are scored."""
    with closing(Scene(stores.fresh(), embedder_named("off"))) as scene:
        for number in range(LARGE):
            content = f"the passphrase of door {number} is {'plum' if number % 7 else 'damson'}"
            scene.reader.call("memory_write", content=content, type="fact")
        queries = ("zqaword", "zqaword passphrase", "zqaword passphrase damson", "passphrase plum", "door 17")
        calls = [Call("memory_search", {"query": query, "k": 20}, plain=False) for query in queries]
        before = [found(asked(scene, call)) for call in calls]
        scene.add_foreign()
        assert [found(asked(scene, call)) for call in calls] == before
        assert [bool(ids) for ids in before] == [False, True, True, True, True]
        canary = scene.canaries["of another conversation's session"]
        query = {"query": f"{canary.word} passphrase", "k": 1}
        assert found(canary.owner.outcome("memory_search", query)) == [canary.id]


def test_the_owner_finds_it_with_the_same_calls(scene: Scene) -> None:
    """Issue 2, point 3: the liveness twin. A tool whose twin finds nothing proves nothing."""
    scene.add_foreign()
    assert scene.canaries.keys() == FOREIGN.keys()
    for canary in scene.canaries.values():
        for call in every_call(canary):
            if call.plain:
                answer = canary.owner.outcome(call.tool, call.arguments)
                assert told(answer, canary.traces, call), (canary.name, call, answer.text)


def test_the_tools_about_tools_show_no_memory(scene: Scene) -> None:
    scene.add_foreign()
    for tool in READING:
        if tool not in OF_MEMORIES:
            call = Call(tool.name, dict(tool.example), plain=False)
            answer = asked(scene, call)
            assert not answer.is_error
            for canary in scene.canaries.values():
                assert told(answer, canary.words, call) == []


def test_agents_of_other_users_are_told_to_nobody(scene: Scene) -> None:
    """An agent of the caller's user shows, whatever its place; one of another user is not found."""
    scene.add_foreign()
    told_of = {agent["agent_id"] for agent in scene.reader.call("agent_list")["agents"]}
    for canary in scene.canaries.values():
        is_own = canary.owner.caller.user_id == READER.user_id
        assert (canary.agent in told_of) is is_own, canary.name
        asked_for = scene.reader.outcome("agent_get", {"agent_id": canary.agent})
        assert asked_for.is_error is not is_own
        assert canary.owner.call("agent_get")["agent_id"] == canary.agent


def test_what_is_not_current_shows_no_text_by_default(scene: Scene) -> None:
    """Issue 2, point 3. Case B25, over a restart: found before the change, and never after it."""
    scene.add_own(tuple(HIDDEN))
    for canary in scene.canaries.values():
        for call in every_call(canary):
            if call.plain:
                assert told(asked(scene, call), canary.traces, call), (canary.name, call)
    for canary in scene.canaries.values():
        scene.hide(canary)
    scene.restart()
    for canary in scene.canaries.values():
        for call in (*current_calls(canary, "memory_search"), *current_calls(canary, "memory_list")):
            answer = asked(scene, call)
            assert told(answer, canary.words, call) == [], (canary.name, call)
            assert canary.id not in answer.text, (canary.name, call)
        for call in (*current_calls(canary, "memory_get"), *current_calls(canary, "memory_suggest")):
            assert told(asked(scene, call), canary.words, call) == [], (canary.name, call)
        answer = scene.reader.call("memory_get", id=canary.id)
        assert (answer["status"], answer["state"]) == ("not_current", canary.name)
        assert len(scene.reader.call("memory_history", memory_id=canary.id)["events"]) == 2


def test_the_past_of_what_is_not_current_is_shown_to_who_asks_for_it(scene: Scene) -> None:
    """The control of the test before. Cases B18, B19: as_of for the world, known_at for the store."""
    scene.add_own(tuple(HIDDEN))
    then = scene.clock.now()
    for canary in scene.canaries.values():
        scene.hide(canary)
    world, store = {"as_of": then}, {"as_of": then, "known_at": then}
    shown_by = {
        "superseded": world, "ended": world, "not_yet_valid": store, "deleted": store, "expired": store,
        "candidate": store, "variant": {"variant": "experiment"},
    }  # fmt: skip
    for name, arguments in shown_by.items():
        canary = scene.canaries[name]
        assert (
            scene.reader.call("memory_get", id=canary.id, **arguments)["memory"]["content"] == canary.content
        )
        for mode in ("keyword", "vector", "hybrid"):
            answer = scene.reader.call("memory_search", query=canary.word, search_mode=mode, k=1, **arguments)
            assert [hit["id"] for hit in answer["hits"]] == [canary.id], (name, mode)


def test_rejected_text_is_shown_at_no_moment(scene: Scene) -> None:
    """Data model §2: rejected text is never shown to an agent at any time, a candidate's not by default."""
    scene.add_own(("rejected", "candidate"))
    moments = [None, scene.clock.now(), *MOMENTS]
    rejected, candidate = scene.canaries.values()
    scene.hide(rejected)
    scene.hide(candidate)
    moments += [scene.clock.now()]
    for canary, known in ((rejected, moments), (candidate, [None])):
        for at in ({"as_of": as_of, "known_at": known_at} for as_of in moments for known_at in known):
            for call in (
                Call("memory_search", {"query": canary.word, **at}, plain=False),
                Call("memory_get", {"id": canary.id, **at}, plain=False),
                Call("memory_history", {"memory_id": canary.id, "known_at": at["known_at"]}, plain=False),
            ):
                assert told(asked(scene, call), canary.words, call) == [], (canary.name, call)


def test_a_successor_in_another_place_is_not_named(scene: Scene) -> None:
    """Data model §2: the successor if visible. Here it belongs to a session that the reader is not in."""
    old = scene.own[0]
    colleague = scene.reader.who(agent_id="codex", conversation_id="tuesday")
    scene.clock.advance(1)
    new = colleague.call("memory_supersede", old_id=old, content="the door has no lock", scope="session")[
        "id"
    ]
    for agent, named in ((colleague, True), (scene.reader, False)):
        found = agent.call("memory_get", id=old)
        assert (found["state"], found.get("successor")) == ("superseded", new if named else None)
        events = agent.call("memory_history", memory_id=old)["events"]
        assert (new in json.dumps(events)) is named
        assert [event["kind"] for event in events] == ["supersede", "create"]
    refused = scene.reader.refusal("memory_supersede", old_id=old, content="the door is open")
    assert refused["code"] == "not_current"
    assert new not in json.dumps(refused)


def test_an_operator_in_another_place_sees_no_more(scene: Scene) -> None:
    """Being an operator opens a review, not the places of others."""
    scene.add_foreign()
    operator = scene.reader.who(is_operator=True)
    assert operator.caller.audiences() == READER.audiences()
    for canary in scene.canaries.values():
        assert operator.call("memory_search", query=canary.word, search_mode="keyword")["hits"] == []
        assert operator.refusal("memory_get", id=canary.id)["code"] == "not_found"
