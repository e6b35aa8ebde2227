"""Undo, told through what reads show before, between and after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from m3_memory.domains.memories.service.undo import MAX_EVENTS
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import integrity
from m3_memory.storage.database import Database
from tests.callers import Agent
from tests.domains.test_memories import HOUR, SUCCESSOR, get, kinds, pass_time, verify, write
from tests.sizes import size
from tests.stored import stored

WRITES = 60
SUPERSEDES = 12


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


@pytest.fixture
def cursor(agent: Agent) -> Agent:
    """Another agent of the same circle, in another conversation."""
    return agent.who(agent_id="cursor", conversation_id="session-2")


def numbered(agent: Agent, number: int) -> str:
    return write(agent, content=f"Crane {number} lifts {number * 7 + 10} tons")


def everything(agent: Agent, ids: list[str], **at: str) -> dict[str, dict[str, Any]]:
    """What reads show of these memories at a moment; when it was recorded is another matter."""
    found = {memory_id: get(agent, memory_id, **at) for memory_id in ids}
    return {
        key: {k: v for k, v in answer.get("memory", {}).items() if k != "recorded_at"}
        for key, answer in found.items()
    }


def hits(agent: Agent, **at: str) -> set[tuple[str, str]]:
    answer = agent.call("memory_search", query="crane lifts tons", k=100, search_mode="keyword", **at)
    return {(hit["id"], hit["content"]) for hit in answer["hits"]}


def sequence(agent: Agent, memory_id: str, kind: str) -> int:
    """The sequence of a memory's newest event of this kind."""
    events = agent.call("memory_history", memory_id=memory_id, limit=100)["events"]
    return next(event["sequence"] for event in events if event["kind"] == kind)


def undone(asked: Agent, /, **named: object) -> dict[str, Any]:
    return pass_time(asked, asked.call("memory_undo", **named))


def sound(agent: Agent) -> bool:
    with agent.database.read(agent.caller.user_id) as reader:
        return integrity.faults(reader, agent.database.heads.read(), agent.clock.now()) == []


def test_an_agents_afternoon_is_undone_and_all_is_as_before(agent: Agent, cursor: Agent) -> None:
    """Issue 3, item 6: 60 writes and 12 supersedes by one agent."""
    old = [numbered(agent, number) for number in range(SUPERSEDES)]
    before = agent.clock.now()
    shown, found = everything(agent, old), hits(agent)
    began = pass_time(agent, agent.clock.now())
    new = [numbered(cursor, 100 + number) for number in range(WRITES)]
    for memory_id in old:
        pass_time(
            cursor, cursor.call("memory_supersede", old_id=memory_id, content=f"{memory_id} is scrapped")
        )
    between = agent.clock.now()
    ids = [*old, *new]
    shown_between, found_between = everything(agent, ids, known_at=between), hits(agent, known_at=between)
    assert hits(agent) == found_between != found
    preview = undone(agent, agent="cursor", since=began, dry_run=True)
    assert hits(agent) == found_between
    done = undone(agent, agent="cursor", since=began)
    assert done.items() >= {"withdrawn": WRITES + SUPERSEDES, "reverted": SUPERSEDES, "kept_total": 0}.items()
    told = {
        "status": "preview",
        "withdrawn": WRITES + SUPERSEDES,
        "reverted": SUPERSEDES,
        "edges_closed": SUPERSEDES,
    }
    assert preview.items() >= told.items()
    assert preview["memories"] == done["memories"]
    assert everything(agent, old) == shown
    assert hits(agent) == found
    assert [get(agent, memory_id)["state"] for memory_id in new] == ["withdrawn"] * WRITES
    assert everything(agent, ids, known_at=between) == shown_between
    assert hits(agent, known_at=between) == found_between
    assert everything(agent, old, as_of=before, known_at=before) == shown
    assert hits(agent, as_of=before, known_at=before) == found
    assert sound(agent)


def test_what_another_changed_since_is_named_and_kept(agent: Agent, cursor: Agent) -> None:
    """Issue 3, item 6. The same for a memory that another superseded, and one that was linked on."""
    began = agent.clock.now()
    updated, superseded, plain = (numbered(cursor, number) for number in range(3))
    agent.call("memory_update", id=updated, content="Crane 0 lifts nothing")
    agent.call("memory_supersede", old_id=superseded, content="Crane 1 was sold")
    pass_time(agent)
    done = undone(agent, agent="cursor", since=began)
    assert (done["withdrawn"], done["kept_total"], [m["id"] for m in done["memories"]]) == (1, 2, [plain])
    kept = {k["memory_id"]: (k["why"], k["by_kind"], k["by_agent_id"], k["by_event"]) for k in done["kept"]}
    assert kept == {
        updated: ("changed_since", "update", "claude", sequence(agent, updated, "update")),
        superseded: ("changed_since", "supersede", "claude", sequence(agent, superseded, "supersede")),
    }
    assert get(agent, updated)["memory"]["content"] == "Crane 0 lifts nothing"
    assert get(agent, superseded)["state"] == "superseded"
    assert get(agent, plain)["state"] == "withdrawn"


def test_a_single_change_that_was_built_on_is_refused_and_names_what_is_in_the_way(agent: Agent) -> None:
    memory_id = write(agent)
    pass_time(agent, agent.call("memory_update", id=memory_id, content=SUCCESSOR))
    pass_time(agent, agent.call("memory_update", id=memory_id, title="Day"))
    before = stored(agent.database)
    create = sequence(agent, memory_id, "create")
    last = agent.call("memory_history", memory_id=memory_id)["events"][0]
    refused = agent.refusal("memory_undo", event=create)
    assert (refused["code"], f"event {last['sequence']}" in refused["message"]) == ("undo_blocked", True)
    assert agent.refusal("memory_undo", event=create, dry_run=True) == refused
    assert stored(agent.database) == before
    undone(agent, event=last["sequence"])
    assert "title" not in agent.call("memory_history", memory_id=memory_id)["events"][0]["reason"]
    undone(
        agent, operation=agent.call("memory_history", memory_id=memory_id)["events"][2]["operation_id"] or ""
    )
    assert get(agent, memory_id)["memory"]["content"] != SUCCESSOR
    undone(agent, event=create)
    assert get(agent, memory_id)["state"] == "withdrawn"
    assert sound(agent)


def test_an_undo_is_undone_by_undoing_the_memorys_last_change_again(agent: Agent) -> None:
    old = write(agent)
    new = pass_time(agent, agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"])
    states = {
        "superseded": ("superseded", "current"),
        "back": ("current", "withdrawn"),
    }
    for turn in ("back", "superseded", "back"):
        done = undone(agent, memory_id=old)
        assert {memory["id"] for memory in done["memories"]} == {old, new}
        told = [get(agent, memory_id).get("state", "current") for memory_id in (old, new)]
        assert tuple(told) == states[turn], turn
    assert kinds(agent, old) == ["create", "supersede", "undo", "undo", "undo"]
    assert kinds(agent, new) == ["create", "undo", "undo", "undo"]
    refused = agent.refusal("memory_undo", event=sequence(agent, old, "supersede"))
    assert (refused["code"], "already" in refused["message"]) == ("undo_blocked", True)


def test_either_event_of_a_supersede_undoes_both(agent: Agent) -> None:
    old = write(agent)
    new = pass_time(agent, agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"])
    undone(agent, event=sequence(agent, new, "create"))
    assert (get(agent, old)["status"], get(agent, new)["state"]) == ("current", "withdrawn")
    again = pass_time(agent, agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"])
    assert get(agent, old)["successor"] == again


def test_unsuperseding_gives_the_old_memory_its_place_back(agent: Agent) -> None:
    old = write(agent, valid_to="2030-01-01")
    was = get(agent, old)["memory"]
    new = pass_time(agent, agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"])
    for wrong, code in ((new, "undo_blocked"), (old.replace(old[:8], "00000000"), "not_found")):
        assert agent.refusal("memory_unsupersede", id=wrong)["code"] == code
    assert agent.call("memory_unsupersede", id=old)["status"] == "restored"
    assert get(agent, old)["memory"] | {"recorded_at": was["recorded_at"]} == was
    assert get(agent, new)["state"] == "withdrawn"
    assert agent.refusal("memory_unsupersede", id=old)["code"] == "undo_blocked"
    written = agent.call("memory_write", content=SUCCESSOR, type="fact")
    assert written["status"] == "created", "what was withdrawn may be said again"


def test_a_successor_that_stood_before_stays_when_it_is_one_no_longer(agent: Agent) -> None:
    old, stood = write(agent), write(agent, content=SUCCESSOR)
    assert agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"] == stood
    pass_time(agent)
    agent.call("memory_unsupersede", id=old)
    assert [get(agent, memory_id)["status"] for memory_id in (old, stood)] == ["current", "current"]


def test_what_stands_in_anothers_place_is_not_withdrawn_from_under_it(agent: Agent, cursor: Agent) -> None:
    began = agent.clock.now()
    old, stood = write(agent), write(cursor, content=SUCCESSOR)
    assert agent.call("memory_supersede", old_id=old, content=SUCCESSOR)["id"] == stood
    pass_time(agent)
    done = undone(cursor, agent="cursor", since=began)
    (kept,) = done["kept"]
    assert (kept["memory_id"], kept["by_kind"], kept["by_agent_id"]) == (stood, "supersede", "claude")
    assert get(agent, stood)["status"] == "current"
    undone(agent, memory_id=old)
    assert undone(cursor, agent="cursor", since=began)["withdrawn"] == 1


def test_what_would_be_said_twice_stays_away_and_is_named(agent: Agent, cursor: Agent) -> None:
    gone, other = write(agent), numbered(agent, 1)
    began = pass_time(agent, agent.clock.now())
    for memory_id in (gone, other):
        pass_time(cursor, cursor.call("memory_delete", id=memory_id))
    again = write(agent)
    refused = cursor.refusal("memory_undo", memory_id=gone)
    assert (refused["code"], again in refused["message"]) == ("duplicate_value", True)
    done = undone(cursor, agent="cursor", since=began)
    assert [m["id"] for m in done["memories"]] == [other]
    assert [(k["memory_id"], k["why"], k["by_memory_id"]) for k in done["kept"]] == [
        (gone, "duplicate", again)
    ]
    assert (get(agent, gone)["state"], get(agent, other)["status"]) == ("deleted", "current")


def test_two_that_stood_side_by_side_do_so_again(agent: Agent) -> None:
    """The same words about two times: neither was a duplicate when it was written."""
    began = agent.clock.now()
    later = write(agent, valid_from="2030-01-01", valid_to="2031-01-01")
    now = write(agent, valid_from="2025-01-01")
    for memory_id in (later, now):
        pass_time(agent, agent.call("memory_delete", id=memory_id))
    undone(agent, memory_id=now)
    undone(agent, memory_id=later)
    assert [get(agent, memory_id).get("state", "current") for memory_id in (now, later)] == [
        "current",
        "not_yet_valid",
    ]
    assert undone(agent, agent="claude", since=began)["withdrawn"] == 2


def test_a_range_ends_before_until_and_leaves_who_else_wrote(agent: Agent, cursor: Agent) -> None:
    early, since = numbered(cursor, 1), agent.clock.now()
    within, others, until = numbered(cursor, 2), numbered(agent, 3), agent.clock.now()
    late = numbered(cursor, 4)
    done = undone(agent, agent="cursor", since=since, until=until)
    assert [memory["id"] for memory in done["memories"]] == [within]
    assert [get(agent, memory_id)["status"] for memory_id in (early, others, late)] == ["current"] * 3
    again = undone(agent, agent="cursor", since=since, until=until)
    assert (again["status"], again["already_undone"], again["withdrawn"]) == ("nothing", 1, 0)
    assert undone(agent, agent="nobody", since=since)["status"] == "nothing"


def test_edges_are_closed_and_opened_again(agent: Agent, cursor: Agent) -> None:
    one, two = numbered(agent, 1), numbered(agent, 2)
    cursor.call("memory_link", from_id=one, to_id=two, relationship_type="supports")
    linked = pass_time(agent, agent.clock.now())

    def edges(**at: str) -> list[str]:
        return [e["relationship_type"] for e in agent.call("memory_graph", memory_id=one, **at)["edges"]]

    assert edges() == ["supports"]
    assert undone(agent, memory_id=one)["edges_closed"] == 1
    assert (edges(), edges(known_at=linked)) == ([], ["supports"])
    assert undone(agent, memory_id=one)["edges_reopened"] == 1
    pass_time(agent, agent.call("memory_unlink", from_id=one, to_id=two, relationship_type="supports"))
    assert edges() == []
    refused = cursor.refusal("memory_undo", event=sequence(agent, one, "link"))
    assert (refused["code"], "unlink" in refused["message"]) == ("undo_blocked", True)
    undone(agent, memory_id=one)
    assert edges() == ["supports"]
    undone(cursor, event=sequence(agent, one, "link"))
    assert edges() == []
    assert [get(agent, memory_id)["status"] for memory_id in (one, two)] == ["current", "current"]


def test_importance_and_pins_keep_no_past_and_the_answer_says_so(agent: Agent, cursor: Agent) -> None:
    began = agent.clock.now()
    memory_id = write(cursor)
    cursor.call("memory_update", id=memory_id, importance=0.9)
    cursor.call("memory_pin", id=memory_id)
    pass_time(agent)
    refused = agent.refusal("memory_undo", event=sequence(agent, memory_id, "pin"))
    assert (refused["code"], "memory_unpin" in refused["hint"]) == ("undo_blocked", True)
    done = undone(agent, agent="cursor", since=began)
    assert done["warnings"] == ["2 changes of importance, pin or refresh stay: those keep no past"]
    undone(agent, agent="claude", since=began)
    memory = get(agent, memory_id)["memory"]
    assert (memory["importance"], memory["pinned"]) == (0.9, True)


def test_an_undo_reaches_only_what_the_caller_holds(agent: Agent) -> None:
    """Nothing tells an event of another place from one that never was."""
    began = agent.clock.now()
    mine = write(agent)
    places = [agent.who(project="borealis"), agent.who(circle="apart"), agent.who(user_id="bob")]
    theirs = [write(place) for place in places]
    for place, memory_id in zip(places, theirs, strict=True):
        event = place.call("memory_history", memory_id=memory_id)["events"][0]
        named = [{"operation": event["operation_id"]}, {"memory_id": memory_id}]
        if place.caller.user_id == agent.caller.user_id:
            named.append({"event": event["sequence"]})
        for name in named:
            for dry_run in (True, False):
                refused = agent.refusal("memory_undo", **name, dry_run=dry_run)
                assert refused["code"] == "not_found"
        assert place.call("memory_undo", operation=event["operation_id"], dry_run=True)["withdrawn"] == 1
    nothing = {"event": 999_999}
    assert agent.refusal("memory_undo", **nothing) == agent.refusal(
        "memory_undo", event=sequence(places[0], theirs[0], "create")
    )
    done = undone(agent, agent="claude", since=began)
    assert ([memory["id"] for memory in done["memories"]], done["kept_total"]) == ([mine], 0)
    assert [get(place, key)["status"] for place, key in zip(places, theirs, strict=True)] == ["current"] * 3


@pytest.mark.parametrize(("old_scope", "new_scope"), [("agent", "session"), ("session", "agent")])
def test_a_change_of_which_a_part_lies_elsewhere_is_kept(
    agent: Agent, old_scope: str, new_scope: str
) -> None:
    """One of the two belongs to a session that the caller is not in: it shows by nothing."""
    began = agent.clock.now()
    colleague = agent.who(agent_id="codex", conversation_id="elsewhere")
    old = write(colleague, scope=old_scope)
    new = colleague.call("memory_supersede", old_id=old, content=SUCCESSOR, scope=new_scope)["id"]
    pass_time(agent)
    held, secret = (old, new) if old_scope == "agent" else (new, old)
    refused = agent.refusal("memory_undo", memory_id=held)
    assert (refused["code"], secret in str(refused)) == ("undo_blocked", False)
    done = undone(agent, agent="codex", since=began)
    assert {kept["why"] for kept in done["kept"]} <= {"elsewhere", "changed_since"}
    assert {kept["memory_id"] for kept in done["kept"]} == {held}
    assert secret not in str(done)
    assert get(agent, held).get("state", "current") == ("superseded" if held == old else "current")
    assert colleague.call("memory_unsupersede", id=old)["status"] == "restored"


def test_a_memory_that_took_the_place_of_one_elsewhere_stays_and_names_nothing(agent: Agent) -> None:
    colleague = agent.who(agent_id="codex", conversation_id="elsewhere")
    stood = write(agent, content=SUCCESSOR)
    secret = write(colleague, scope="session")
    superseding = colleague.call("memory_supersede", old_id=secret, content=SUCCESSOR, scope="agent")
    assert superseding["id"] == stood
    pass_time(agent)
    refused = agent.refusal("memory_undo", memory_id=stood)
    assert (refused["code"], secret in str(refused), "codex" in str(refused)) == (
        "undo_blocked",
        False,
        False,
    )
    assert get(agent, stood)["status"] == "current"


def test_what_a_person_verified_only_a_person_undoes(agent: Agent) -> None:
    began = agent.clock.now()
    memory_id = write(agent)
    verify(agent, memory_id)
    pass_time(agent)
    operator = agent.who(is_operator=True)
    operator.call("memory_delete", id=memory_id)
    for tool, named in (("memory_undo", {"memory_id": memory_id}), ("memory_restore", {"id": memory_id})):
        assert agent.refusal(tool, **named)["code"] == "needs_operator"
    done = undone(agent, agent="claude", since=began)
    assert [kept["why"] for kept in done["kept"]] == ["needs_operator"] * 2
    assert operator.call("memory_undo", memory_id=memory_id)["restored"] == 1
    assert get(agent, memory_id)["memory"]["trust_state"] == "verified"


def test_what_the_operator_did_only_the_operator_undoes(agent: Agent) -> None:
    """A plain write, delete or link is an operator's act, also of what agents may change themselves."""
    began = agent.clock.now()
    operator = replace(agent, caller=agent.caller.as_operator())
    mine, theirs = write(agent), numbered(operator, 1)
    operator.call("memory_link", from_id=theirs, to_id=mine)
    link = sequence(agent, theirs, "link")
    operator.call("memory_delete", id=mine)
    pass_time(agent)
    for tool, named in (
        ("memory_undo", {"memory_id": mine}),
        ("memory_restore", {"id": mine}),
        ("memory_undo", {"event": link}),
        ("memory_undo", {"event": sequence(agent, theirs, "create")}),
    ):
        assert agent.refusal(tool, **named)["code"] == "needs_operator", named
    done = undone(agent, agent="operator", since=began)
    assert {kept["why"] for kept in done["kept"]} == {"needs_operator"}
    assert (len(done["kept"]), get(agent, mine)["status"]) == (3, "not_current")
    assert operator.call("memory_restore", id=mine)["status"] == "restored"
    assert undone(agent, agent="operator", since=began)["withdrawn"] == 0


def test_an_edge_that_leads_elsewhere_is_no_event_of_what_it_starts_from(agent: Agent) -> None:
    """Neither told nor in the way: else a link from another project would keep what one did oneself."""
    began = agent.clock.now()
    colleague = agent.who(agent_id="codex", project="harbour")
    shared = write(agent, scope="user")
    pass_time(agent)
    agent.call("memory_update", id=shared, content="Crane 9 lifts 90 tons")
    secret = numbered(colleague, 3)
    before = agent.call("memory_history", memory_id=shared)
    colleague.call("memory_link", from_id=shared, to_id=secret)
    link = sequence(colleague, shared, "link")
    colleague.call("memory_unlink", from_id=shared, to_id=secret)
    colleague.call("memory_undo", event=sequence(colleague, shared, "unlink"))
    pass_time(agent)
    assert kinds(colleague, shared)[-3:] == ["link", "unlink", "undo"]
    assert agent.call("memory_history", memory_id=shared) == before
    nothing = agent.refusal("memory_undo", event=999_999)
    assert agent.refusal("memory_undo", event=link) == nothing
    assert agent.call("memory_undo", agent="codex", since=began, dry_run=True)["kept"] == []
    assert agent.call("memory_undo", memory_id=shared)["reverted"] == 1
    assert colleague.call("memory_graph", memory_id=shared)["edges"] != []


def test_an_undo_is_named_in_one_way_alone(agent: Agent) -> None:
    memory_id = write(agent)
    for named in (
        {},
        {"event": 1, "memory_id": memory_id},
        {"agent": "claude"},
        {"memory_id": memory_id, "since": "2026-01-01"},
    ):
        assert agent.refusal("memory_undo", **named)["code"] == "invalid_argument", named
    assert agent.refusal("memory_undo", event=0)["code"] == "invalid_argument"
    assert get(agent, memory_id)["status"] == "current"


def test_thousands_of_changes_are_undone_in_one_operation(agent: Agent) -> None:
    """More than one statement names; the answer lists the first hundred and counts all."""
    count = size(1_100, MAX_EVENTS)
    began = agent.clock.now()
    for start in range(0, count, 500):
        items = [
            {"content": f"Bolt {number} is tight", "type": "log"}
            for number in range(start, min(count, start + 500))
        ]
        agent.call("memory_write_bulk", items=items)
    pass_time(agent, seconds=HOUR)
    done = undone(agent, agent="claude", since=began)
    assert (done["withdrawn"], len(done["memories"]), done["kept_total"]) == (count, 100, 0)
    assert any(f"{count:,}" in warning for warning in done["warnings"])
    found = agent.call("memory_search", query="bolt tight", search_mode="keyword")
    assert found["hits"] == []
    assert sound(agent)
    if count == MAX_EVENTS:
        write(agent)
        assert agent.refusal("memory_undo", agent="claude", since=began)["code"] == "invalid_argument"
