"""An update says something new: it is checked as every write is, and says what came of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from tests.callers import Agent

OLD = "The gateway listens on port 8080."
NEW = "The gateway listens on port 9090."
OTHER = "The harbour has four cranes."


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock)


def write(agent: Agent, content: str, **more: object) -> str:
    """The id of a memory that is a minute old."""
    found = agent.call("memory_write", content=content, type="fact", **more)["id"]
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(60)
    return found


def update(agent: Agent, memory_id: str, content: str = NEW) -> dict[str, Any]:
    return agent.call("memory_update", id=memory_id, content=content)


def verify(agent: Agent, memory_id: str) -> None:
    operator = replace(agent, caller=agent.caller.as_operator())
    operator.call("memory_set_trust", id=memory_id, state="verified")


def states(agent: Agent, *memory_ids: str) -> list[str]:
    """How memories stand: current, or why not."""
    found = [agent.call("memory_get", id=memory_id) for memory_id in memory_ids]
    return [each.get("state", each["status"]) for each in found]


def test_an_update_that_says_otherwise_ends_the_older_and_one_call_takes_both_back(agent: Agent) -> None:
    old, other = write(agent, OLD), write(agent, OTHER)
    answer = update(agent, other)
    assert (answer["status"], answer["superseded"]) == ("updated", [old])
    assert any("memory_unsupersede" in warning for warning in answer["warnings"])
    assert states(agent, old, other) == ["superseded", "current"]

    agent.call("memory_undo", memory_id=other)
    assert states(agent, old, other) == ["current", "current"]
    assert agent.call("memory_get", id=other)["memory"]["content"] == OTHER


def test_of_what_one_call_corrects_none_ends_another(agent: Agent) -> None:
    old, one, two = write(agent, OLD), write(agent, OTHER), write(agent, "The office is in Oslo.")
    updates = [{"id": one, "content": NEW}, {"id": two, "content": "The gateway listens on port 7070."}]
    first, second = agent.call("memory_update_bulk", updates=updates)["results"]
    assert (first["superseded"], second["conflicts"][0]["id"]) == ([old], one)
    assert states(agent, old, one, two) == ["superseded", "current", "current"]


def test_a_call_may_correct_what_an_earlier_part_of_it_contradicts(agent: Agent) -> None:
    old, other = write(agent, OLD), write(agent, OTHER)
    updates = [{"id": other, "content": NEW}, {"id": old, "content": OLD.replace("gateway", "proxy")}]
    first, second = agent.call("memory_update_bulk", updates=updates)["results"]
    assert (first["status"], second["status"]) == ("updated", "updated")
    assert states(agent, old, other) == ["current", "current"]


def test_what_one_call_tells_of_several_times_is_one_history(agent: Agent) -> None:
    told = {"2022": "8080", "2023": "9090", "2024": "7070"}
    items = [
        {"type": "fact", "content": f"The gateway listens on port {port}.", "valid_from": f"{year}-01-01"}
        for year, port in told.items()
    ]
    results = agent.call("memory_write_bulk", items=items)["results"]
    ids = [each["id"] for each in results]
    assert [each.get("superseded") for each in results] == [None, [ids[0]], [ids[1]]]
    for year, port in told.items():
        hits = agent.call("memory_search", query="gateway port", as_of=f"{year}-06-01")["hits"]
        assert [hit["content"] for hit in hits] == [f"The gateway listens on port {port}."]
    assert states(agent, *ids) == ["superseded", "superseded", "current"]
    agent.call("memory_undo", memory_id=ids[0])
    assert states(agent, *ids) == ["withdrawn", "withdrawn", "withdrawn"], "one call, undone whole"


def test_an_update_about_something_else_ends_nothing(agent: Agent) -> None:
    """The control: as like as the words may be."""
    old, other = write(agent, OLD), write(agent, OTHER)
    answer = update(agent, other, "The mail server listens on port 9090.")
    assert not {"superseded", "conflicts", "review_id"} & answer.keys()
    assert states(agent, old, other) == ["current", "current"]


@pytest.mark.parametrize(("mode", "asks"), [("propose", True), ("off", False)])
def test_the_setting_says_what_an_update_does(
    agent: Agent, mode: Literal["propose", "off"], asks: bool
) -> None:
    asked = replace(agent, contradiction=mode)
    old, other = write(asked, OLD), write(asked, OTHER)
    answer = update(asked, other)
    assert [conflict["id"] for conflict in answer.get("conflicts", [])] == ([old] if asks else [])
    assert ("review_id" in answer) is asks
    assert states(asked, old, other) == ["current", "current"]


def test_an_update_never_ends_what_is_pinned(agent: Agent) -> None:
    old, other = write(agent, OLD), write(agent, OTHER)
    agent.call("memory_pin", id=old)
    answer = update(agent, other)
    assert (answer["conflicts"][0]["id"], answer["conflicts"][0]["reason"]) == (old, "pinned")
    assert agent.call("memory_get", id=old)["memory"]["disputed_by"] == [other]


def test_an_update_against_what_a_person_verified_waits_for_them_and_ends_nothing(agent: Agent) -> None:
    verified = write(agent, OLD, valid_from="2026-01-01")
    accepted = write(agent, "The gateway listens on port 7070.", valid_from="2026-01-01")
    other = write(agent, OTHER)
    verify(agent, verified)
    answer = update(agent, other)
    assert (answer["status"], "superseded" in answer) == ("candidate", False)
    assert {conflict["id"] for conflict in answer["conflicts"]} == {verified, accepted}
    assert states(agent, verified, accepted, other) == ["current", "current", "candidate"]

    operator = replace(agent, caller=agent.caller.as_operator())
    shown = {each["review_id"]: each for each in operator.call("review_list")["reviews"]}
    question = shown[answer["review_id"]]
    decided = {"review_id": question["review_id"], "digest": question["digest"], "decision": "accept"}
    operator.call("review_decide", **decided)
    assert states(agent, other) == ["current"]
    assert "superseded" in states(agent, verified, accepted)


def test_a_written_candidate_ends_nothing_either(agent: Agent) -> None:
    verified = write(agent, OLD, valid_from="2026-01-01")
    accepted = write(agent, "The gateway listens on port 7070.", valid_from="2026-01-01")
    verify(agent, verified)
    answer = agent.call("memory_write", content=NEW, type="fact")
    assert (answer["status"], answer["superseded"]) == ("candidate", [])
    assert states(agent, verified, accepted, answer["id"]) == ["current", "current", "candidate"]


def test_an_older_memory_that_is_corrected_ends_where_the_newer_begins(agent: Agent) -> None:
    other = write(agent, OTHER, valid_from="2024-01-01")
    newer = write(agent, OLD, valid_from="2025-06-01")
    answer = update(agent, other)
    assert "valid_to" in answer["changed"]
    assert any(newer in warning and "2025-06-01" in warning for warning in answer["warnings"])
    assert states(agent, newer, other) == ["current", "ended"]


@pytest.mark.parametrize("kept", ["pinned", "propose"])
def test_a_machine_cuts_short_no_older_memory_that_it_may_not_end(agent: Agent, kept: str) -> None:
    asked = replace(agent, contradiction="propose") if kept == "propose" else agent
    other = write(asked, OTHER, valid_from="2024-01-01")
    newer = write(asked, OLD, valid_from="2025-06-01")
    if kept == "pinned":
        asked.call("memory_pin", id=other)
    answer = update(asked, other)
    assert [conflict["id"] for conflict in answer["conflicts"]] == [newer]
    assert states(asked, newer, other) == ["current", "current"]

    operator = replace(agent, caller=agent.caller.as_operator())
    (question,) = operator.call("review_list")["reviews"]
    decided = {"review_id": question["review_id"], "digest": question["digest"], "decision": "accept"}
    operator.call("review_decide", **decided)
    assert states(agent, newer, other) == ["current", "superseded"]


def test_many_writes_say_of_each_what_it_ended_and_what_was_asked(agent: Agent) -> None:
    old, pinned = write(agent, OLD), write(agent, "The mail server is in Oslo.")
    agent.call("memory_pin", id=pinned)
    contents = (NEW, "The mail server is in Rome.", OTHER)
    items = [{"type": "fact", "content": content} for content in contents]
    ending, asking, plain = agent.call("memory_write_bulk", items=items)["results"]
    assert (ending["status"], ending["superseded"]) == ("superseding", [old])
    assert (asking["status"], asking["conflicts"][0]["id"]) == ("disputed", pinned)
    assert asking["review_id"]
    assert not {"superseded", "conflicts", "review_id"} & plain.keys()


VERBS: dict[str, tuple[str, dict[str, Any]]] = {
    "delete": ("memory_delete", {}),
    "an end": ("memory_update", {"valid_to": "2030-01-01"}),
    "a title": ("memory_update", {"title": "Ports"}),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_person_rejected_is_not_asked_again_and_the_agent_is_told(agent: Agent, verb: str) -> None:
    tool, given = VERBS[verb]
    verified = write(agent, OLD)
    verify(agent, verified)
    first = agent.call(tool, id=verified, **given)
    assert first["status"] == "proposed"
    again = agent.call(tool, id=verified, **given)
    assert (again["status"], again["review_id"]) == ("proposed", first["review_id"])

    operator = replace(agent, caller=agent.caller.as_operator())
    (question,) = operator.call("review_list")["reviews"]
    operator.call("review_decide", review_id=first["review_id"], digest=question["digest"], decision="reject")
    once_more = agent.call(tool, id=verified, **given)
    assert (once_more["status"], once_more["review_id"]) == ("unchanged", first["review_id"])
    assert any("rejected" in warning for warning in once_more["warnings"])
    assert operator.call("review_list")["reviews"] == []

    other = agent.call("memory_update", id=verified, title="Something else")
    assert other["status"] == "proposed", "another question is asked"
    assert len(operator.call("review_list")["reviews"]) == 1


@pytest.mark.parametrize("type_", ["note", "decision", "user_fact", "procedure"])
def test_what_another_type_says_about_the_same_is_told_and_never_ended(agent: Agent, type_: str) -> None:
    old = write(agent, OLD)
    answer = agent.call("memory_write", content=NEW, type=type_)
    assert answer["status"] == "created"
    assert [said for said in answer["warnings"] if old in said and "of type fact" in said]
    assert agent.call("memory_get", id=old)["status"] == "current"
    assert agent.call("memory_write", content="The gateway listens on port 7070.", type="fact")["superseded"]


@pytest.mark.parametrize("type_", ["message", "log", "conversation", "summary"])
def test_records_of_events_are_told_of_nothing_and_to_nobody(agent: Agent, type_: str) -> None:
    record = agent.call("memory_write", content=OLD, type=type_)["id"]
    assert agent.call("memory_write", content=NEW, type="fact")["warnings"] == []
    assert agent.call("memory_write", content=OLD, type=type_)["warnings"] == []
    assert agent.call("memory_get", id=record)["status"] == "current"


def held(agent: Agent, memory_id: str) -> tuple[str, str]:
    found = agent.call("memory_get", id=memory_id, as_of="2023-06-02")["memory"]
    return found["valid_from"][:10], found["valid_to"][:10]


def test_a_back_dated_statement_ends_where_the_next_of_those_it_contradicts_began(agent: Agent) -> None:
    for year_month, port in (("2023-01", 3010), ("2024-01", 3012), ("2024-06", 3013)):
        write(agent, f"The gateway listens on port {port}.", valid_from=f"{year_month}-01")
    late = write(agent, "The gateway listens on port 3011.", valid_from="2023-06-01")
    assert held(agent, late) == ("2023-06-01", "2024-01-01")


def test_a_statement_of_today_ends_where_a_planned_one_begins(agent: Agent) -> None:
    old = write(agent, OLD)
    agent.call("memory_supersede", old_id=old, content=NEW, valid_from="2099-01-01")
    third = write(agent, "The gateway listens on port 7070.")
    assert agent.call("memory_get", id=third)["memory"]["valid_to"].startswith("2099-01-01")
    assert agent.call("memory_get", id=old)["state"] == "superseded"


@pytest.mark.parametrize(
    ("begins", "ends", "said_from", "until"),
    [
        ("2099-01-01", None, None, "2099-01-01"),
        ("2099-01-01", None, "2024-01-01", "2099-01-01"),
        ("2023-01-01", "2024-01-01", "2022-01-01", "2023-01-01"),
        ("2023-01-01", "2024-01-01", "2024-01-01", None),
        ("2023-01-01", "2024-01-01", None, None),
    ],
)
def test_a_statement_ends_where_any_that_contradicts_it_begins_held_now_or_not(
    agent: Agent, begins: str, ends: str | None, said_from: str | None, until: str | None
) -> None:
    planned = write(agent, OLD, valid_from=begins, valid_to=ends)
    unlike = write(agent, OTHER, valid_from="2098-01-01")
    answer = agent.call("memory_write", content=NEW, type="fact", valid_from=said_from)
    assert (answer["status"], answer["superseded"]) == ("created", [])
    found = agent.call("memory_get", id=answer["id"], as_of=said_from)["memory"]
    assert found.get("valid_to", "")[:10] == (until or "")
    for memory_id, start, end in ((planned, begins, ends), (unlike, "2098-01-01", None)):
        left = agent.call("memory_get", id=memory_id, as_of=start)["memory"]
        assert left.get("valid_to", "")[:10] == (end or ""), "what begins later stays as it is"


def test_an_update_after_an_undo_is_recorded_as_the_version_it_makes(agent: Agent) -> None:
    memory_id = write(agent, OTHER)
    update(agent, memory_id)
    agent.call("memory_undo", memory_id=memory_id)
    made = update(agent, memory_id, "The harbour has five cranes.")["version"]
    assert made == 3
    events = agent.call("memory_history", memory_id=memory_id)["events"]
    assert max(event["version"] for event in events if event["kind"] == "update") == made
