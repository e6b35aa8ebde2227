"""Many memories in one call: the same as one by one, in order, and no item stops another."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.memories.model import WriteRequest
from m3_memory.domains.memories.service.writes import add_all, operation, prepare_all
from m3_memory.errors import M3Error
from m3_memory.inference.embedder import Embedder
from m3_memory.inference.hashing import HashingEmbedder
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import integrity
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from tests.callers import Agent, Hashing, embedder_named
from tests.stored import stored

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
NOWHERE = "00000000-0000-7000-8000-000000000000"
DEEP = json.loads("[" * 60 + "]" * 60)

HOSTILE: Sequence[tuple[object, str]] = (
    (7, "invalid_argument"),
    ("no object", "invalid_argument"),
    (["content"], "invalid_argument"),
    (None, "invalid_argument"),
    ({}, "invalid_argument"),
    ({"content": "Tides turn", "type": "opinion"}, "invalid_argument"),
    ({"content": "Tides turn", "type": "fact", "colour": "red"}, "invalid_argument"),
    ({"content": "Tides turn", "type": "fact", "": 1}, "invalid_argument"),
    ({"content": "Tides \x00 turn", "type": "fact"}, "invalid_content"),
    ({"content": "Tides \ud800 turn", "type": "fact"}, "invalid_content"),
    ({"content": " \n ", "type": "fact"}, "invalid_content"),
    ({"content": "x" * 50_001, "type": "fact"}, "invalid_content"),
    ({"content": ["Tides", "turn"], "type": "fact"}, "invalid_content"),
    ({"content": "Tides turn", "type": "fact", "metadata": {"deep": DEEP}}, "invalid_metadata"),
    ({"content": "Tides turn", "type": "fact", "metadata": {"trust": "verified"}}, "invalid_metadata"),
    ({"content": "Tides turn", "type": "fact", "user_id": "somebody"}, "wider_identity"),
    ({"content": "Tides turn", "type": "fact", "agent_id": "codex"}, "wider_identity"),
    ({"content": "Tides turn", "type": "fact", "scope": "org"}, "invalid_argument"),
    ({"content": "Tides turn", "type": "fact", "valid_from": "soon"}, "invalid_time"),
    ({"content": "Tides turn", "type": "fact", "valid_to": "2020-01-01"}, "invalid_time"),
    ({"content": "Tides turn", "type": "fact", "store": "other"}, "invalid_argument"),
    ({"content": "Tides turn", "type": "fact", "trust_state": "verified"}, "invalid_argument"),
)  # fmt: skip


class Slow(Hashing):
    """Each time it embeds, seconds pass on the clock."""

    def __init__(self, clock: ManualClock, seconds: Sequence[float]) -> None:
        super().__init__()
        self._embedder = _Slow(clock, list(seconds))


class _Slow(HashingEmbedder):
    def __init__(self, clock: ManualClock, seconds: list[float]) -> None:
        self._clock, self._seconds = clock, seconds

    def embed(self, texts: Sequence[str], seconds: float = math.inf) -> list[bytes]:
        self._clock.advance(self._seconds.pop(0) if len(self._seconds) > 1 else self._seconds[0])
        return super().embed(texts, seconds)


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


def facts(count: int, *, first: int = 0) -> list[dict[str, Any]]:
    return [{"content": f"Berth {number} is deep", "type": "fact"} for number in range(first, first + count)]


def written(agent: Agent, items: Sequence[object], **arguments: object) -> dict[str, Any]:
    return agent.call("memory_write_bulk", items=items, **arguments)


def ids(answer: dict[str, Any]) -> list[str]:
    return [result["id"] for result in answer["results"]]


def counts(answer: dict[str, Any]) -> tuple[int, int, int]:
    return answer["created"], answer["duplicates"], answer["failed"]


def events(agent: Agent, memory_id: str) -> list[dict[str, Any]]:
    return agent.call("memory_history", memory_id=memory_id)["events"]


def times(database: Database) -> list[tuple[str, int]]:
    """Every store time, and how many memories came with it."""
    with database.read("local") as reader:
        rows = reader.rows(
            sql("SELECT recorded_at, count(*) FROM memory_items GROUP BY recorded_at ORDER BY recorded_at")
        )
    return [(str(at), int(str(count))) for at, count in rows]


def sound(agent: Agent) -> bool:
    with agent.database.read("local") as reader:
        return not integrity.faults(reader, agent.database.heads.read(), agent.clock.now())


def test_each_item_is_stored_as_a_write_stores_it(agent: Agent) -> None:
    items: list[dict[str, Any]] = [
        {"content": "Pilots board at noon", "type": "fact", "title": "Pilots", "metadata": {"k": [1, None]}},
        {"content": "Ropes are checked", "type": "procedure", "scope": "user", "importance": "0.75"},
        {"content": "Lamps burn", "type": "note", "valid_from": "2026-02-01", "valid_to": "2027-01-01"},
        {"content": f"The key is {SECRET}", "type": "auto", "scope": "session"},
        {"content": "Buoys are red", "type": "fact", "refresh_on": "2026-03-01", "refresh_reason": "paint"},
        {"content": "Fog", "type": "log", "variant": "trial", "embed_text": "mist and haze", "source": "me"},
    ]
    one_by_one = agent.who(user_id="other")
    many = written(agent, items)
    assert counts(many) == (len(items), 0, 0)
    for item, bulk in zip(items, many["results"], strict=True):
        single = one_by_one.call("memory_write", **item)
        assert (bulk["status"], bulk["vector"], bulk["type"]) == (
            single["status"], single["vector"], single["type"],
        )  # fmt: skip
        assert bulk.get("warnings", []) == single["warnings"]
        shown = [
            who.call("memory_get", id=found["id"], variant="trial", as_of="2026-02-02")
            for who, found in ((agent, bulk), (one_by_one, single))
        ]
        for answer in shown:
            for changing in ("id", "recorded_at", "expires_at", "valid_from"):
                answer["memory"].pop(changing, None)
            for place in ("id", "scope"):
                answer.pop(place)
        assert shown[0] == shown[1]
        assert [event["kind"] for event in events(agent, bulk["id"])] == ["create"]
    assert "expires_at" in agent.call("memory_get", id=many["results"][3]["id"])["memory"]
    assert sound(agent)


def test_what_was_written_together_is_found_alone(agent: Agent) -> None:
    answer = written(agent, facts(30))
    for number in (0, 17, 29):
        for mode in ("keyword", "vector"):
            hits = agent.call("memory_search", query=f"berth {number}", search_mode=mode, k=1)["hits"]
            assert [hit["id"] for hit in hits] == [ids(answer)[number]], mode


def test_a_batch_that_repeats_itself_makes_one_memory(agent: Agent) -> None:
    items = [
        {"content": "The crane lifts 40 tonnes", "type": "fact"},
        {"content": "the crane lifts 40  tonnes.", "type": "fact", "title": "Crane"},
        {"content": "The crane lifts 40 tonnes", "type": "decision"},
        {"content": "The crane lifts 40 tonnes", "type": "log"},
        {"content": "The crane lifts 40 tonnes", "type": "log"},
        {"content": "The crane lifts 40 tonnes", "type": "fact", "scope": "user"},
    ]
    answer = written(agent, items)
    assert counts(answer) == (5, 1, 0)
    first, second = answer["results"][:2]
    assert (second["status"], second["id"]) == ("duplicate", first["id"])
    assert [warning.split()[0] for warning in second["warnings"]] == ["wording", "title"]
    assert sorted(event["kind"] for event in events(agent, first["id"])) == ["corroborate", "create"]
    again = written(agent, items)
    assert counts(again) == (2, 4, 0)  # records of events are never the same
    assert ids(again)[:3] == ids(answer)[:3]
    assert sound(agent)


def test_earlier_and_later_statements_of_one_text_are_two(agent: Agent) -> None:
    spring = {"valid_from": "2026-03-01", "valid_to": "2026-06-01"}
    autumn = {"valid_from": "2026-09-01", "valid_to": "2026-12-01"}
    said = {"content": "The ferry sails daily", "type": "fact"}
    answer = written(agent, [{**said, **spring}, {**said, **autumn}, {**said, **spring}])
    assert [result["status"] for result in answer["results"]] == ["created", "created", "duplicate"]
    assert ids(answer)[2] == ids(answer)[0]


def test_a_bad_item_stops_no_other_and_says_what_is_wrong(agent: Agent) -> None:
    good = facts(len(HOSTILE) + 1)
    items = [item for pair in zip(good, [bad for bad, _ in HOSTILE], strict=False) for item in pair]
    answer = written(agent, [*items, good[-1]])
    assert counts(answer) == (len(good), 0, len(HOSTILE))
    assert [result["error"]["code"] for result in answer["results"][1::2]] == [code for _, code in HOSTILE]
    assert all(result["error"]["message"] and result["error"]["hint"] for result in answer["results"][1::2])
    stored_texts = [agent.call("memory_get", id=memory_id)["memory"]["content"] for memory_id in
                    (result["id"] for result in answer["results"][::2])]  # fmt: skip
    assert stored_texts == [item["content"] for item in good]
    assert sound(agent)


def test_hostile_items_alone_store_nothing(agent: Agent) -> None:
    before = stored(agent.database)["memory_items"]
    answer = written(agent, [bad for bad, _ in HOSTILE])
    assert counts(answer) == (0, 0, len(HOSTILE))
    assert stored(agent.database)["memory_items"] == before


def test_secrets_are_replaced_in_every_item(agent: Agent) -> None:
    answer = written(agent, [{"content": f"Pass {SECRET} on", "type": "fact", "title": f"t {SECRET}"}])
    (result,) = answer["results"]
    assert len(result["warnings"]) == 2
    assert SECRET not in repr(stored(agent.database))
    assert "[secret:github-token:" in agent.call("memory_get", id=result["id"])["memory"]["content"]


def test_no_item_reaches_into_what_another_user_has(agent: Agent) -> None:
    theirs = ids(written(agent.who(user_id="bob"), facts(3)))
    mine = written(agent, facts(3))
    assert counts(mine) == (3, 0, 0)
    assert not {*theirs} & {*ids(mine)}
    updated = agent.call("memory_update_bulk", updates=[{"id": one, "title": "mine"} for one in theirs])
    deleted = agent.call("memory_delete_bulk", ids=theirs)
    assert (updated["not_found"], deleted["not_found"]) == (3, 3)
    for one in theirs:
        theirs_of_it = [event["kind"] for event in events(agent.who(user_id="bob"), one)]
        assert [kind for kind in theirs_of_it if kind != "review"] == ["create"]


def test_a_superseded_value_is_refused_in_its_place(agent: Agent, clock: ManualClock) -> None:
    old = agent.call("memory_write", content="Gate 4 is open", type="fact")["id"]
    clock.advance(60)
    new = agent.call("memory_supersede", old_id=old, content="Gate 4 is shut")["id"]
    said = {"content": "Gate 4 is open", "type": "fact"}
    answer = written(agent, [*facts(1), said, {**said, "reassert": True}, {**said, "type": "note"}])
    assert [result.get("status") for result in answer["results"]] == ["created", None, "created", "created"]
    error = answer["results"][1]["error"]
    assert (error["code"], new in error["message"]) == ("superseded_value", True)


def test_what_items_leave_out_comes_from_the_defaults(agent: Agent) -> None:
    answer = written(
        agent,
        [{"content": "One"}, {"content": "Two", "type": "note", "scope": None}, {"content": "Three", "k": 1}],
        defaults={"type": "fact", "scope": "user", "conversation_id": "harbour"},
    )
    assert counts(answer) == (2, 0, 1)
    first, second = (agent.call("memory_get", id=found["id"])["memory"] for found in answer["results"][:2])
    assert (first["type"], first["scope"], first["conversation_id"]) == ("fact", "user", "harbour")
    assert (second["type"], second["scope"], second["conversation_id"]) == ("note", "user", "harbour")


def test_many_are_stored_in_chunks_and_as_one_operation(agent: Agent) -> None:
    answer = written(agent, facts(1100))
    assert counts(answer) == (1100, 0, 0)
    assert [count for _, count in times(agent.database)] == [500, 500, 100]
    told = [events(agent, ids(answer)[place])[0] for place in (0, 600, 1099)]
    assert len({event["operation_id"] for event in told}) == 1
    assert sound(agent)


def test_more_than_ten_thousand_at_once_are_refused_whole(agent: Agent) -> None:
    error = agent.refusal("memory_write_bulk", items=facts(10_001))
    assert (error["code"], "10000" in error["message"]) == ("invalid_argument", True)
    assert times(agent.database) == []


@pytest.mark.parametrize("items", [[], "[]"])
def test_none_at_all_are_none(agent: Agent, items: object) -> None:
    assert counts(agent.call("memory_write_bulk", items=items)) == (0, 0, 0)


def test_vectors_there_was_no_time_for_come_later_and_that_is_said(
    agent: Agent, database: Database, clock: ManualClock
) -> None:
    """A quarter of the call's time is kept for storing."""
    slow = Agent(database, clock, agent.caller, Slow(clock, [5.0]))
    answer = slow.call("memory_write_bulk", items=facts(600), timeout=30)
    assert counts(answer) == (600, 0, 0)
    ready = [result["vector"] for result in answer["results"]].count("ready")
    assert 0 < ready < 600
    (said,) = answer["warnings"]
    assert said.startswith(f"{600 - ready} memories are findable by words now")
    with database.read("local") as reader:
        ((jobs,),) = reader.rows(sql("SELECT count(*) FROM jobs WHERE kind = 'embed'"))
    assert jobs == 600 - ready


def test_when_time_runs_out_between_chunks_what_is_stored_is_told(
    agent: Agent, database: Database, clock: ManualClock
) -> None:
    slow = Agent(database, clock, agent.caller, Slow(clock, [*[0.0] * 8, 31.0]))
    answer = slow.call("memory_write_bulk", items=[*facts(1200), {}], timeout=30)
    assert counts(answer) == (500, 0, 701)
    codes = [result.get("error", {}).get("code", "") for result in answer["results"]]
    assert codes == [""] * 500 + ["deadline_passed"] * 700 + ["invalid_argument"]
    assert counts(written(agent, facts(1200))) == (700, 500, 0)


def test_when_time_runs_out_before_anything_is_stored_the_call_fails(
    agent: Agent, database: Database, clock: ManualClock
) -> None:
    slow = Agent(database, clock, agent.caller, Slow(clock, [31.0]))
    assert slow.refusal("memory_write_bulk", items=facts(3), timeout=30)["code"] == "deadline_passed"
    assert times(database) == []


def test_without_a_model_nothing_is_said_and_jobs_wait(database: Database, clock: ManualClock) -> None:
    agent = Agent(database, clock, embedder=embedder_named("off"))
    answer = written(agent, [*facts(3), {"content": "Never by meaning", "type": "fact", "embed": False}])
    assert [result["vector"] for result in answer["results"]] == ["pending"] * 3 + ["none"]
    assert answer["warnings"] == []


def test_ten_thousand_bad_items_still_make_an_answer(agent: Agent) -> None:
    answer = written(agent, [{"content": "x", "type": "y" * 300}] * 10_000)
    assert counts(answer) == (0, 0, 10_000)
    assert {result["error"]["code"] for result in answer["results"]} == {"invalid_argument"}
    assert "message" in answer["results"][0]["error"]
    assert len(json.dumps(answer)) < 1_000_000
    assert "no room" in answer["warnings"][0]


def test_what_is_only_proposed_answers_no_statement_of_an_agent(agent: Agent, tmp_path: Path) -> None:
    """Nobody finds a candidate by default: who says the same makes a memory; a later proposal repeats it."""
    settings = Settings(home=tmp_path)
    ctx = Context(agent.caller, agent.database, agent.embedder, agent.clock, settings)

    def proposed() -> str:
        (draft,) = prepare_all(ctx, [WriteRequest("The pilot is Eve", "fact")])
        assert not isinstance(draft, M3Error)
        with ctx.write() as writer:
            (result,) = add_all(operation(ctx, writer), [(replace(draft, trust_state="candidate"), "")])
        assert not isinstance(result, M3Error)
        return result.status

    assert proposed() == "candidate"
    assert agent.call("memory_search", query="pilot")["hits"] == []
    answer = written(agent, [{"content": "The pilot is Eve", "type": "fact"}] * 2)
    assert counts(answer) == (1, 1, 0)
    assert [hit["id"] for hit in agent.call("memory_search", query="pilot")["hits"]] == [ids(answer)[0]]
    assert proposed() == "duplicate"


def test_updates_are_applied_in_order_and_counted(agent: Agent) -> None:
    one, two, three = ids(written(agent, facts(3)))
    agent.call("memory_delete", id=three)
    answer = agent.call(
        "memory_update_bulk",
        updates=[
            {"id": one, "title": "First"},
            {"id": two, "importance": 0.5},
            {"id": NOWHERE, "title": "?"},
            {"id": three, "title": "?"},
            {"id": one, "content": "Berth 0 is shallow", "title": "clear"},
            {"id": one, "metadata": {"seen": True}},
            {"id": two, "content": "Berth 0 is shallow"},
            {"id": "two"},
            {"title": "?"},
            4,
        ],
    )
    assert [result.get("status") or result["error"]["code"] for result in answer["results"]] == [
        *("updated", "unchanged", "not_found", "not_current", "updated", "updated"),
        *("duplicate_value", "invalid_id", "invalid_argument", "invalid_argument"),
    ]
    assert [answer[name] for name in ("succeeded", "not_found", "no_change", "failed", "total")] == [
        *(3, 1, 1, 5, 10)
    ]
    memory = agent.call("memory_get", id=one)["memory"]
    assert (memory["content"], memory["title"], memory["version"]) == ("Berth 0 is shallow", "", 4)
    assert answer["results"][4]["changed"] == ["content", "title"]
    hits = agent.call("memory_search", query="shallow", search_mode="vector", k=1)["hits"]
    assert [hit["id"] for hit in hits] == [one]
    assert sound(agent)


def test_deletes_are_counted_and_a_second_one_is_no_success(agent: Agent) -> None:
    one, two = ids(written(agent, facts(2)))
    answer = agent.call("memory_delete_bulk", ids=[one, NOWHERE, one, "one", two])
    assert [result.get("status") or result["error"]["code"] for result in answer["results"]] == [
        "deleted", "not_found", "not_current", "invalid_id", "deleted",
    ]  # fmt: skip
    assert [answer[name] for name in ("succeeded", "not_found", "no_change", "failed", "total")] == [
        *(2, 1, 0, 2, 5)
    ]
    assert answer["mode"] == "soft"
    assert agent.call("memory_search", query="berth")["hits"] == []


def test_only_a_person_erases_many_for_good(agent: Agent) -> None:
    (one,) = ids(written(agent, facts(1)))
    answer = agent.call("memory_delete_bulk", ids=[one], hard=True)
    assert answer["results"][0]["error"]["code"] == "needs_operator"
    assert agent.call("memory_get", id=one)["status"] == "current"


@pytest.mark.parametrize("tool", ["memory_write_bulk", "memory_update_bulk", "memory_delete_bulk"])
def test_a_whole_call_is_taken_back_at_once(agent: Agent, clock: ManualClock, tool: str) -> None:
    made = ids(written(agent, facts(510)))
    clock.advance(60)
    before = [agent.call("memory_get", id=made[place]) for place in (0, 509)]
    arguments: dict[str, Any] = {
        "memory_write_bulk": {"items": facts(510, first=600)},
        "memory_update_bulk": {"updates": [{"id": one, "title": "Berth"} for one in made]},
        "memory_delete_bulk": {"ids": made},
    }[tool]
    changed = ids(agent.call(tool, **arguments))
    clock.advance(60)
    operation = events(agent, changed[0])[0]["operation_id"]
    agent.call("memory_undo", operation=operation)
    if tool == "memory_write_bulk":
        assert {agent.call("memory_get", id=one)["status"] for one in changed} == {"not_current"}
    for shown in before:
        found = agent.call("memory_get", id=shown["id"])
        assert (found["status"], found["memory"]["title"]) == ("current", "")
    assert sound(agent)


def test_a_change_made_meanwhile_is_not_overwritten(database: Database, clock: ManualClock) -> None:
    """What another writes between the reading and the lock is read again."""
    agent = Agent(database, clock)
    one, two = ids(written(agent, facts(2)))

    class Meanwhile(Hashing):
        calls = 0

        def get(self, wait_seconds: float = 1.5) -> Embedder:
            self.calls += 1
            if self.calls == 1:
                agent.call("memory_update", id=two, title="Theirs")
            return super().get(wait_seconds)

    late = Agent(database, clock, embedder=Meanwhile())
    updates = [{"id": one, "content": "Berth 0 is full"}, {"id": two, "content": "Berth 1 is full"}]
    assert late.call("memory_update_bulk", updates=updates)["succeeded"] == 2
    memory = agent.call("memory_get", id=two)["memory"]
    assert (memory["title"], memory["content"]) == ("Theirs", "Berth 1 is full")
