"""What each verb does to memories, told through what reads show afterwards."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.domains.memories.queries import close_belief, newest_belief, open_belief
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from m3_memory.storage.predicates import Filter, View
from m3_memory.storage.sql import sql
from tests.callers import Agent
from tests.stored import stored

MONDAY = {"content": "Releases leave on Monday", "type": "fact"}
HOUR = 3600
SUCCESSOR = "Releases leave on Thursday"


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


def write(agent: Agent, **changes: Any) -> str:
    """The id of a memory written now; time passes after it."""
    written = agent.call("memory_write", **{**MONDAY, **changes})
    assert written["status"] == "created"
    return pass_time(agent, written["id"])


def pass_time(agent: Agent, value: Any = None, seconds: float = HOUR) -> Any:
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(seconds)
    return value


def get(agent: Agent, memory_id: str, **moment: str) -> dict[str, Any]:
    return agent.call("memory_get", id=memory_id, **moment)


def found(agent: Agent, query: str = "releases leave", **arguments: object) -> list[str]:
    return [hit["content"] for hit in agent.call("memory_search", query=query, k=100, **arguments)["hits"]]


def kinds(agent: Agent, memory_id: str) -> list[str]:
    """What happened to a memory, oldest first."""
    return [event["kind"] for event in reversed(agent.call("memory_history", memory_id=memory_id)["events"])]


def verify(agent: Agent, memory_id: str) -> None:
    """A person's verdict, whose own tool comes in a later part."""
    with agent.database.write(agent.caller.user_id) as writer:
        newest = newest_belief(writer, View(agent.caller, Filter(), writer.now), memory_id)
        assert newest is not None
        close_belief(writer, newest, newest.opened_by)
        open_belief(writer, replace(newest, trust_state="verified"))


def vectors(agent: Agent, memory_id: str) -> list[str]:
    """The stored vectors of the version that is current."""
    with agent.database.read(agent.caller.user_id) as reader:
        newest = newest_belief(reader, View(agent.caller, Filter(), reader.now), memory_id)
        assert newest is not None
        return [
            repr(row)
            for row in reader.rows(
                sql("SELECT window_number, vector FROM memory_embeddings WHERE item = ?", newest.item)
            )
        ]


def test_a_memory_is_kept_as_it_was_given(agent: Agent) -> None:
    given = {
        "title": "Day", "metadata": {"ticket": 7, "k": {"k": None}}, "importance": 0.75, "source": "chat",
        "model_id": "m-1", "conversation_id": "c-1", "refresh_on": "2027-01-01", "refresh_reason": "yearly",
        "valid_from": "2025-06-01", "valid_to": "2028-06-01T09:00+09:00",
    }  # fmt: skip
    memory = get(agent, write(agent, **given))["memory"]
    moments = {
        "refresh_on": "2027-01-01T00:00:00.000000Z",
        "valid_from": "2025-06-01T00:00:00.000000Z",
        "valid_to": "2028-06-01T00:00:00.000000Z",
    }
    known = {"project": "atlas", "agent_id": "claude", "trust_state": "accepted", "actionable": "inform"}
    assert (
        memory.items() >= ({**MONDAY, **given} | moments | known | {"version": 1, "scope": "agent"}).items()
    )


def test_an_update_makes_a_version_and_the_old_one_stays_readable(agent: Agent) -> None:
    memory_id = write(agent, title="Day", valid_from="2025-06-01")
    before = agent.clock.now()
    pass_time(agent)
    changed = agent.call("memory_update", id=memory_id, content="Releases leave on Tuesday")
    assert (changed["status"], changed["version"], changed["changed"]) == ("updated", 2, ["content"])
    now, then = get(agent, memory_id)["memory"], get(agent, memory_id, known_at=before)["memory"]
    assert (now["content"], then["content"]) == ("Releases leave on Tuesday", MONDAY["content"])
    assert now["valid_from"] == then["valid_from"] == "2025-06-01T00:00:00.000000Z"
    assert now["title"] == "Day"
    assert found(agent) == ["Releases leave on Tuesday"]
    assert found(agent, known_at=before) == [MONDAY["content"]]
    assert found(agent, as_of="2025-07-01") == ["Releases leave on Tuesday"], "the record was wrong all along"
    assert kinds(agent, memory_id) == ["create", "update"]


def test_what_an_update_leaves_out_stays_and_clear_empties(agent: Agent) -> None:
    given = {"title": "Day", "conversation_id": "c-1", "refresh_on": "2027-01-01", "refresh_reason": "yearly"}
    memory_id = write(agent, **given, valid_to="2028-01-01", metadata={"k": 1})
    agent.call("memory_update", id=memory_id, title="Weekday", metadata="", valid_to="")
    memory = get(agent, memory_id)["memory"]
    assert (
        memory.items()
        >= {**MONDAY, "title": "Weekday", "metadata": {"k": 1}, "conversation_id": "c-1"}.items()
    )
    assert {"refresh_on", "refresh_reason", "valid_to"} <= memory.keys()
    cleared = dict.fromkeys((*given, "valid_to"), "clear")
    agent.call("memory_update", id=memory_id, **cleared, metadata={})
    memory = get(agent, memory_id)["memory"]
    assert (memory["title"], memory["metadata"], memory["content"]) == ("", {}, MONDAY["content"])
    assert not {"refresh_on", "refresh_reason", "valid_to", "conversation_id"} & memory.keys()


def test_metadata_alone_makes_a_version_that_keeps_its_vectors(agent: Agent) -> None:
    memory_id = write(agent)
    before = vectors(agent, memory_id)
    assert len(before) == (1 if agent.embedder.get() else 0)
    changed = agent.call("memory_update", id=memory_id, metadata={"k": 1}, conversation_id="c-2")
    assert (changed["version"], changed["changed"]) == (2, ["metadata", "conversation_id"])
    assert vectors(agent, memory_id) == before
    assert found(agent, search_mode="vector", conversation_id="c-2") == [MONDAY["content"]]
    assert kinds(agent, memory_id) == ["create", "metadata"]


def test_a_new_end_is_a_new_belief_of_the_same_version(agent: Agent) -> None:
    memory_id = write(agent)
    before = agent.clock.now()
    pass_time(agent)
    assert agent.call("memory_update", id=memory_id, valid_to="2026-02-01")["version"] == 1
    assert found(agent) == found(agent, as_of="2026-01-31") == [MONDAY["content"]]
    assert found(agent, as_of="2026-02-01") == []
    assert found(agent, as_of="2026-02-01", known_at=before) == [MONDAY["content"]]
    pass_time(agent, seconds=40 * 24 * HOUR)
    assert found(agent) == []
    answer = get(agent, memory_id)
    assert (answer["status"], answer["state"], answer["since"]) == (
        "not_current", "ended", "2026-02-01T00:00:00.000000Z",
    )  # fmt: skip
    assert "memory" not in answer


def test_importance_and_refresh_change_no_belief(agent: Agent) -> None:
    memory_id = write(agent)
    beliefs = stored(agent.database)["memory_validity"]
    for change, kind in (
        ({"importance": 0.9}, "importance"),
        ({"refresh_on": "2026-01-01", "refresh_reason": "check"}, "refresh"),
        ({"refresh_on": "clear", "refresh_reason": "clear"}, "refresh"),
    ):
        answer = agent.call("memory_update", id=memory_id, **change)
        assert (answer["status"], answer["version"]) == ("updated", 1)
        memory = get(agent, memory_id)["memory"]
        assert memory.get("stale", False) == (change.get("refresh_on") == "2026-01-01")
        assert kinds(agent, memory_id)[-1] == kind
    assert memory["importance"] == 0.9
    assert agent.call("memory_update", id=memory_id, importance=0.9)["status"] == "unchanged"
    assert len(kinds(agent, memory_id)) == 4
    assert stored(agent.database)["memory_validity"] == beliefs


def test_a_successor_inherits_what_it_does_not_say(agent: Agent) -> None:
    old = write(
        agent, title="Day", metadata={"k": 1}, importance=0.9, conversation_id="c-1", scope="user",
        refresh_on="2027-01-01",
    )  # fmt: skip
    answer = agent.call("memory_supersede", old_id=old, content=SUCCESSOR)
    assert (answer["status"], answer["superseded"], answer["type"]) == ("superseding", [old], "fact")
    assert answer["id"] != old
    memory = get(agent, answer["id"])["memory"]
    inherited = {"title": "Day", "metadata": {"k": 1}, "importance": 0.9, "conversation_id": "c-1"}
    assert memory.items() >= {**inherited, "type": "fact", "scope": "user", "content": SUCCESSOR}.items()
    other = agent.call("memory_supersede", old_id=answer["id"], content="By hand", type="plan", title="How")
    memory = get(agent, other["id"])["memory"]
    assert memory.items() >= {"type": "plan", "title": "How", "metadata": {"k": 1}}.items()


def test_the_old_ends_where_the_new_begins_and_both_stay(agent: Agent) -> None:
    old = write(agent, valid_from="2025-01-01")
    new = agent.call("memory_supersede", old_id=old, content=SUCCESSOR, valid_from="2025-07-01")["id"]
    assert found(agent) == found(agent, as_of="2025-07-01") == [SUCCESSOR]
    assert found(agent, as_of="2025-06-30T23:59:59.999999") == [MONDAY["content"]]
    answer = get(agent, old)
    assert answer.items() >= {"status": "not_current", "state": "superseded", "successor": new}.items()
    assert answer["since"] == "2025-07-01T00:00:00.000000Z"
    assert "memory" not in answer
    assert get(agent, old, as_of="2025-06-01")["memory"]["content"] == MONDAY["content"]
    assert kinds(agent, old) == ["create", "supersede"]
    assert kinds(agent, new) == ["create"]


def test_what_was_never_so_closes_whole(agent: Agent) -> None:
    """A successor that holds since the old one's start, or before, leaves it no time of its own."""
    old = write(agent, valid_from="2025-01-01")
    before = agent.clock.now()
    pass_time(agent)
    agent.call("memory_supersede", old_id=old, content=SUCCESSOR, valid_from="2024-01-01")
    assert found(agent, as_of="2025-06-01") == [SUCCESSOR]
    assert found(agent, as_of="2025-06-01", known_at=before) == [MONDAY["content"]]
    assert get(agent, old)["state"] == "superseded"


def test_superseding_twice_names_the_successor(agent: Agent) -> None:
    old = write(agent, valid_from="2025-01-01")
    new = agent.call("memory_supersede", old_id=old, content=SUCCESSOR, valid_from="2027-01-01")["id"]
    assert found(agent) == [MONDAY["content"]], "the successor's time has not come"
    refused = agent.refusal("memory_supersede", old_id=old, content="By hand")
    assert refused["code"] == "not_current"
    assert new in refused["hint"]


def test_a_successor_that_says_the_same_is_refused(agent: Agent) -> None:
    old = write(agent)
    new = agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"]
    same = agent.refusal("memory_supersede", old_id=new, content=f"  {SUCCESSOR.upper()}.")
    assert (same["code"], new in same["message"]) == ("duplicate_value", True)


def test_a_value_that_was_superseded_does_not_come_back_by_itself(agent: Agent) -> None:
    old = write(agent)
    new = agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"]
    pass_time(agent)
    before = stored(agent.database)
    refused = agent.refusal("memory_write", **MONDAY)
    assert refused["code"] == "superseded_value"
    assert new in refused["message"]
    assert SUCCESSOR in refused["message"]
    assert "reassert" in refused["hint"]
    earlier = agent.refusal("memory_write", **MONDAY, valid_from="2025-01-01")
    assert earlier["code"] == "superseded_value"
    assert stored(agent.database) == before
    later = agent.call("memory_write", **MONDAY, valid_from=agent.clock.now())
    assert later["status"] == "created"


def test_a_superseded_value_comes_back_when_it_is_asserted_again(agent: Agent) -> None:
    old = write(agent)
    new = agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"]
    assert agent.call("memory_write", **MONDAY, reassert=True)["status"] == "created"
    agent.call("memory_delete", id=new)
    assert sorted(found(agent)) == [MONDAY["content"]]


def test_a_value_comes_back_by_superseding_what_replaced_it(agent: Agent) -> None:
    first = write(agent)
    second = agent.call("memory_supersede", old_id=first, content=SUCCESSOR)["id"]
    pass_time(agent)
    third = agent.call("memory_supersede", old_id=second, content=MONDAY["content"])["id"]
    assert len({first, second, third}) == 3
    assert found(agent) == [MONDAY["content"]]
    assert get(agent, second)["successor"] == third


def test_a_value_whose_successor_is_gone_is_welcome(agent: Agent) -> None:
    old = write(agent)
    new = agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"]
    assert agent.refusal("memory_write", **MONDAY)["code"] == "superseded_value"
    agent.call("memory_delete", id=new)
    assert agent.call("memory_write", **MONDAY)["status"] == "created"


def test_the_same_statement_twice_is_one_memory(agent: Agent) -> None:
    memory_id = write(agent, title="Day", metadata={"k": 1})
    again = {
        "type": "fact",
        "content": "  releases LEAVE on\u00a0Ｍonday. ",
        "title": "Weekday",
        "metadata": {"k": 2},
    }
    answer = agent.call("memory_write", **again, valid_to="2030-01-01")
    assert (answer["id"], answer["status"]) == (memory_id, "duplicate")
    assert {warning.split()[0] for warning in answer["warnings"]} == {
        "wording",
        "title",
        "metadata",
        "valid_to",
    }
    assert (
        get(agent, memory_id)["memory"].items()
        >= {"title": "Day", "metadata": {"k": 1}, "version": 1}.items()
    )
    assert found(agent) == [MONDAY["content"]]
    assert kinds(agent, memory_id) == ["create", "corroborate"]


def test_another_place_type_variant_or_value_is_another_memory(agent: Agent) -> None:
    others = (
        {"type": "note"},
        {"variant": "a"},
        {"scope": "user"},
        {"content": "Releases leave on Monday 2"},
        {"content": "Releases never leave on Monday"},
    )
    assert len({write(agent), *(write(agent, **other) for other in others)}) == 1 + len(others)


def test_the_same_words_twice_are_two_events(agent: Agent) -> None:
    """In the types whose memories are events; a replaced one does not bar the words either."""
    for kind in ("conversation", "message", "chat_log", "log", "summary"):
        old, new = (write(agent, type=kind) for _ in range(2))
        assert old != new
        agent.call("memory_supersede", old_id=old, content=f"A {kind} of another kind")
        write(agent, type=kind)
        assert found(agent, type_filter=kind).count(MONDAY["content"]) == 2
        assert get(agent, new)["status"] == "current"


def test_what_is_deleted_is_not_found_until_it_is_restored(agent: Agent) -> None:
    memory_id = write(agent, title="Day", importance=0.9)
    kept = write(agent, content="Releases leave from the north dock")
    was = get(agent, memory_id)["memory"]
    before = agent.clock.now()
    pass_time(agent)
    assert agent.call("memory_delete", id=memory_id)["status"] == "deleted"
    assert found(agent) == ["Releases leave from the north dock"]
    assert get(agent, memory_id).items() >= {"status": "not_current", "state": "deleted"}.items()
    assert MONDAY["content"] in found(agent, known_at=before)
    for tool, more in (
        ("memory_delete", {"id": memory_id}),
        ("memory_update", {"id": memory_id, "title": "x"}),
        ("memory_supersede", {"old_id": memory_id, "content": "x"}),
    ):
        assert agent.refusal(tool, **more)["code"] == "not_current"
    assert agent.call("memory_restore", id=memory_id)["status"] == "restored"
    assert sorted(found(agent)) == sorted([MONDAY["content"], "Releases leave from the north dock"])
    again = get(agent, memory_id)["memory"]
    assert again | {"recorded_at": was["recorded_at"]} == was
    assert again["recorded_at"] > was["recorded_at"]
    assert kinds(agent, memory_id) == ["create", "delete", "undo"]
    for live in (memory_id, kept):
        assert agent.refusal("memory_restore", id=live)["code"] == "undo_blocked"


def test_what_was_said_again_meanwhile_is_not_restored(agent: Agent) -> None:
    memory_id = write(agent)
    agent.call("memory_delete", id=memory_id)
    again = write(agent)
    assert again != memory_id
    refused = agent.refusal("memory_restore", id=memory_id)
    assert (refused["code"], again in refused["message"]) == ("duplicate_value", True)
    assert get(agent, memory_id)["state"] == "deleted"
    assert found(agent) == [MONDAY["content"]]


def test_what_a_session_notes_is_gone_after_a_day_without_any_maintenance(agent: Agent) -> None:
    note = write(agent, scope="session")
    write(agent, content="Releases leave from the north dock")
    elsewhere = agent.who(conversation_id="session-2")
    assert elsewhere.refusal("memory_get", id=note)["code"] == "not_found"
    pass_time(agent, seconds=22 * HOUR - 1)
    assert MONDAY["content"] in found(agent)
    before = agent.clock.now()
    pass_time(agent, seconds=1)
    assert found(agent) == ["Releases leave from the north dock"]
    assert get(agent, note)["state"] == "expired"
    assert MONDAY["content"] in found(agent, known_at=before)
    assert agent.refusal("memory_update", id=note, title="x")["code"] == "not_current"
    assert write(agent, scope="session") != note


def test_a_history_says_who_did_what_when_and_in_one_call(agent: Agent) -> None:
    memory_id = write(agent)
    other = agent.who(agent_id="codex", surface="cli")
    other.call("memory_update", id=memory_id, title="Day")
    pass_time(agent)
    new = agent.call("memory_supersede", old_id=memory_id, content=SUCCESSOR)["id"]
    answer = agent.call("memory_history", memory_id=memory_id)
    supersede, update, create = answer["events"]
    assert answer["total"] == 3
    assert [event["agent_id"] for event in (create, update, supersede)] == ["claude", "codex", "claude"]
    assert (create["surface"], update["surface"]) == ("mcp", "cli")
    assert (update["kind"], update["version"], supersede["other_id"]) == ("update", 2, new)
    assert create["at"] < update["at"] < supersede["at"]
    (created,) = agent.call("memory_history", memory_id=new)["events"]
    assert created["operation_id"] == supersede["operation_id"]
    assert len({event["operation_id"] for event in (create, update, supersede)}) == 3
    assert [e["kind"] for e in agent.call("memory_history", memory_id=memory_id, limit=1)["events"]] == [
        "supersede"
    ]
    past = agent.call("memory_history", memory_id=memory_id, known_at=update["at"])
    assert ([event["kind"] for event in past["events"]], past["total"]) == (["update", "create"], 2)


def test_a_type_chosen_by_rules_is_said(agent: Agent) -> None:
    for content, kind in (
        ("We decided to keep SQLite", "decision"),
        ("I prefer tabs", "preference"),
        ("```\nprint(1)\n```", "snippet"),
        ("The sky was clear", "note"),
    ):
        answer = agent.call("memory_write", content=content, type="auto")
        assert answer["type"] == kind
        assert any(kind in warning and "rules" in warning for warning in answer["warnings"])
        other = agent.call("memory_write", content=content, type="belief", auto_classify=True, scope="user")
        assert other["type"] == kind


def test_only_a_person_changes_what_a_person_verified(agent: Agent) -> None:
    memory_id = write(agent)
    verify(agent, memory_id)
    pass_time(agent)
    assert get(agent, memory_id)["memory"].items() >= {"trust_state": "verified", "actionable": "act"}.items()
    for tool, arguments, status in (
        ("memory_update", {"id": memory_id, "title": "x"}, "proposed"),
        ("memory_update", {"id": memory_id, "importance": 0.1}, "proposed"),
        ("memory_update", {"id": memory_id, "content": "Releases are cut on Wednesdays."}, "candidate"),
        ("memory_supersede", {"old_id": memory_id, "content": SUCCESSOR}, "candidate"),
        ("memory_delete", {"id": memory_id}, "proposed"),
    ):
        answer = agent.call(tool, **arguments)
        assert (answer["status"], bool(answer["review_id"])) == (status, True), tool
    shown = get(agent, memory_id)
    assert (shown["status"], shown["memory"]["content"]) == ("current", MONDAY["content"])
    assert shown["memory"]["trust_state"] == "verified"


def test_only_a_person_erases_for_good(agent: Agent) -> None:
    memory_id = write(agent)
    assert agent.refusal("memory_delete", id=memory_id, hard=True)["code"] == "needs_operator"
    assert found(agent) == [MONDAY["content"]]
    assert agent.call("memory_delete", id=memory_id, hard=False)["status"] == "deleted"


def test_concurrent_updates_lose_nothing(agent: Agent) -> None:
    """Each of them is a version; the last one stands."""
    memory_id = write(agent)
    texts = [f"Releases leave on day {number}" for number in range(6)]
    threads = [
        threading.Thread(
            target=agent.call, args=("memory_update",), kwargs={"id": memory_id, "content": text}
        )
        for text in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory = get(agent, memory_id)["memory"]
    assert memory["version"] == 1 + len(texts)
    assert found(agent) == [memory["content"]]
    assert memory["content"] in texts
    assert kinds(agent, memory_id) == ["create"] + ["update"] * len(texts)


def test_fields_updated_at_once_are_all_updated(agent: Agent) -> None:
    memory_id = write(agent)
    changes = [{"title": "Day"}, {"metadata": {"k": 1}}, {"importance": 0.9}, {"valid_to": "2030-01-01"}]
    threads = [
        threading.Thread(target=agent.call, args=("memory_update",), kwargs={"id": memory_id, **change})
        for change in changes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory = get(agent, memory_id)["memory"]
    assert memory.items() >= {"title": "Day", "metadata": {"k": 1}, "importance": 0.9}.items()
    assert memory["valid_to"] == "2030-01-01T00:00:00.000000Z"
