"""Tombstones: a value that a person rejected does not come back, until a person lifts that."""

from __future__ import annotations

from typing import Any

import pytest

from m3_memory.domains.agents.queries import put_alias
from m3_memory.domains.memories.queries import known_audiences
from m3_memory.domains.memories.service.tombstones import one_place
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.clock import ManualClock
from m3_memory.kernel.normal import normal_hash
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from tests.callers import Agent
from tests.stored import stored

VALUE = "The limit of the billing queue is 106 m or x2."


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock)


@pytest.fixture
def operator(agent: Agent) -> Agent:
    return agent.who(agent_id="operator", is_operator=True)


@pytest.fixture
def rejected(agent: Agent, operator: Agent) -> str:
    """A memory of this value, rejected."""
    memory_id = write(agent)
    operator.call("memory_set_trust", id=memory_id, state="rejected", reason="nobody measured it")
    return memory_id


def write(agent: Agent, content: str = VALUE, **given: object) -> str:
    return agent.call("memory_write", **{"type": "fact", "content": content, **given})["id"]


def refused(agent: Agent, content: str = VALUE, **given: Any) -> dict[str, Any]:
    return agent.refusal("memory_write", **{"type": "fact", "content": content, **given})


@pytest.mark.parametrize(
    "spelled",
    [
        VALUE,
        f"  {VALUE.upper().removesuffix('.')}\n",
        VALUE.replace("billing", "b\u0456lling"),  # Cyrillic i
        VALUE.replace("o", "\u03bf").replace("e", "\u0435"),  # Greek o, Cyrillic e
        VALUE.replace("limit", "\uff4c\uff49mit"),  # full-width
        VALUE.replace("queue", "que\u200bue\u202c"),  # invisible
        VALUE.replace("queue", "qu\x01e\x7fu\u3164e\u2800"),  # controls, fillers
        VALUE.replace("billing", "billin\u0261"),  # phonetic g
        VALUE.replace("billing", "billi\u043fg"),  # Cyrillic p for n
    ],
)
def test_a_rejected_value_is_refused_however_it_is_spelled(agent: Agent, rejected: str, spelled: str) -> None:
    """tombstone.key_normalization_attack."""
    error = refused(agent, spelled)
    assert error["code"] == "tombstoned"
    assert rejected in str(error["hint"])
    assert "106" not in str(error), "the text of what was rejected is shown to nobody"
    newest = agent.call("memory_history", memory_id=rejected)["events"][0]
    assert (newest["kind"], newest["reason"]) == ("tombstone", "said again, and refused")


@pytest.mark.parametrize("title", ["", "Limits"])
@pytest.mark.parametrize("type_", ["fact", "note", "log", "message"])
@pytest.mark.parametrize("wording", [{"reassert": True}, {"valid_from": "2026-01-01"}, {"variant": "b"}])
def test_no_title_type_or_time_brings_it_back(
    agent: Agent, rejected: str, title: str, type_: str, wording: dict[str, Any]
) -> None:
    assert rejected
    assert refused(agent, type=type_, title=title, **wording)["code"] == "tombstoned"


@pytest.mark.parametrize("type_", ["fact", "note", "decision", "log", "summary", "message"])
def test_no_type_takes_it_in_other_words(agent: Agent, operator: Agent, type_: str) -> None:
    memory_id = write(agent, "The billing service listens on port 8443.")
    other = agent.who(project="other")
    told = {"content": "The billing service is listening on port 8443.", "type": type_}
    operator.call("memory_set_trust", id=memory_id, state="rejected")
    assert agent.refusal("memory_write", **told)["code"] == "tombstoned"
    assert other.call("memory_write", **told)["status"] == "created"
    assert agent.call("memory_write", **told | {"content": "The mail service listens on port 9443."})
    operator.call("tombstone_lift", id=memory_id)
    assert agent.call("memory_write", **told)["status"] == "created"


@pytest.mark.parametrize(
    "other",
    [
        VALUE.replace("106", "10\u2076"),
        VALUE.replace("x2", "x\u00b2"),
        VALUE.replace("106", "107"),
        VALUE.replace("is 106", "is not 106"),
        VALUE.replace("106 m", "106 \u03bcm"),
    ],
)
def test_another_value_is_no_rejected_one(agent: Agent, rejected: str, other: str) -> None:
    assert normal_hash(other) != normal_hash(VALUE)
    memory_id = write(agent, other)
    assert memory_id != rejected
    assert agent.call("memory_get", id=memory_id)["memory"]["content"] == other


def test_the_same_words_in_another_project_circle_or_user_are_no_rejected_value(
    agent: Agent, rejected: str
) -> None:
    assert rejected
    for elsewhere in ({"project": "other"}, {"circle": "apart"}, {"user_id": "bob"}):
        assert agent.who(**elsewhere).call("memory_write", type="fact", content=VALUE)["status"] == "created"


def test_a_project_by_another_name_is_the_same_place(agent: Agent, operator: Agent) -> None:
    before = agent.who(project="old-name")
    memory_id = write(before)
    operator.who(project="old-name").call("memory_set_trust", id=memory_id, state="rejected")
    assert agent.who(project="new-name").call("memory_write", type="fact", content=VALUE)
    renamed = agent.who(project="newer-name", project_aliases=("old-name",))
    assert refused(renamed)["code"] == "tombstoned"


def test_its_paraphrase_is_refused_under_every_name_too(agent: Agent, operator: Agent) -> None:
    memory_id = write(agent.who(project="old"), "The billing service listens on port 8443.")
    operator.who(project="old").call("memory_set_trust", id=memory_id, state="rejected")
    told = {"content": "The billing service is listening on port 8443."}
    assert refused(linked(agent), **told)["code"] == "tombstoned"
    assert write(agent.who(project="new"), **told)


def linked(agent: Agent) -> Agent:
    return agent.who(project="new", project_aliases=("old",))


def test_a_rejection_holds_under_every_name_of_the_project(agent: Agent, operator: Agent) -> None:
    first, second = write(agent.who(project="old")), write(agent.who(project="new"), type="note")
    other = write(agent.who(project="other"))
    answer = linked(operator).call("memory_set_trust", id=second, state="rejected")
    assert answer["also_rejected"] == [first]
    assert linked(agent).call("memory_get", id=first)["state"] == "rejected"
    assert linked(agent).call("memory_list")["memories"] == []
    assert agent.who(project="other").call("memory_get", id=other)["status"] == "current"
    assert refused(linked(agent))["code"] == "tombstoned"

    linked(operator).call("memory_set_trust", id=second, state="accepted")
    assert operator.call("tombstone_list")["total"] == 0
    assert linked(agent).call("memory_get", id=second)["status"] == "current"


def test_a_question_shows_nothing_that_was_rejected_under_another_name(agent: Agent, operator: Agent) -> None:
    here, old = agent.who(project="new"), agent.who(project="old")
    other = write(here, "The office is in Lisbon.")
    proposed = {"act": "update", "id": other, "changes": {"content": VALUE}}
    linked(agent).call("review_propose", steps=[proposed], reason="seen in the plan")
    plan = linked(operator).call("review_list")["reviews"][0]["plan"]
    assert VALUE in str(plan)
    operator.who(project="old").call("memory_set_trust", id=write(old), state="rejected")
    (review,) = linked(operator).call("review_list")["reviews"]
    assert VALUE not in str(review["plan"])


def test_no_memory_comes_back_beside_one_that_says_the_same_under_another_name(agent: Agent) -> None:
    first = write(agent.who(project="old"))
    linked(agent).call("memory_delete", id=first)
    write(agent.who(project="other"))
    linked(agent).call("memory_restore", id=first)
    linked(agent).call("memory_delete", id=first)
    write(linked(agent))
    assert linked(agent).refusal("memory_restore", id=first)["code"] in ("undo_blocked", "duplicate_value")
    assert agent.who(project="old").call("memory_restore", id=first)["status"] == "restored"


def test_who_stands_elsewhere_rejects_under_the_names_that_the_store_knows(agent: Agent) -> None:
    write(agent.who(project="old"))
    write(agent.who(project="new"))
    write(agent.who(project="other"))
    far = agent.who(project="far", is_operator=True).caller
    with agent.database.write(agent.caller.user_id) as writer:
        old, new, other = known_audiences(
            writer, [agent.who(project=name).caller.audience(Scope.AGENT) for name in ("old", "new", "other")]
        ).values()
        assert one_place(writer, far, [old, other]) == {old: {old}, other: {other}}
        put_alias(writer, "old", "new")
        assert one_place(writer, far, [old, other]) == {old: {old, new}, other: {other}}


@pytest.mark.parametrize(("there", "then"), [("agent", "user"), ("agent", "session"), ("user", "agent")])
def test_what_was_rejected_does_not_come_back_by_another_scope_of_the_same_reads(
    agent: Agent, operator: Agent, there: str, then: str
) -> None:
    memory_id = write(agent, scope=there)
    operator.call("memory_set_trust", id=memory_id, state="rejected")
    assert refused(agent, scope=then)["code"] == "tombstoned"
    assert agent.who(user_id="bob").call("memory_write", type="fact", content=VALUE, scope=then)
    operator.call("tombstone_lift", id=memory_id)
    assert agent.call("memory_write", type="fact", content=VALUE, scope=then)["status"] == "created"


def test_a_lifted_value_may_be_said_again_and_the_memory_stays_rejected(
    agent: Agent, operator: Agent, rejected: str
) -> None:
    (row,) = operator.call("tombstone_list")["tombstones"]
    assert row["kind"] == "rejected"
    assert (row["memory_id"], row["set_by"], row["reason"]) == (rejected, "operator", "nobody measured it")

    assert operator.call("tombstone_lift", id=row["id"], reason="measured now")["lifted"] == [row["id"]]
    assert operator.call("tombstone_list")["total"] == 0
    newest = operator.call("memory_history", memory_id=rejected)["events"][0]
    assert (newest["kind"], newest["reason"]) == ("lift", "measured now")
    again = write(agent)
    assert again != rejected
    assert agent.call("memory_get", id=rejected)["state"] == "rejected"


def test_a_tombstone_is_lifted_by_its_memory_once(operator: Agent, rejected: str) -> None:
    assert len(operator.call("tombstone_lift", id=rejected[:18])["lifted"]) == 1
    assert operator.refusal("tombstone_lift", id=rejected)["code"] == "not_found"
    assert operator.refusal("tombstone_lift", id="ts-0123456789abcdef")["code"] == "not_found"


def test_a_person_too_lifts_it_first(operator: Agent, rejected: str) -> None:
    assert rejected
    assert refused(operator)["code"] == "tombstoned"


def test_what_is_kept_of_a_value_is_a_digest_that_nobody_can_guess(
    agent: Agent, operator: Agent, rejected: str
) -> None:
    assert rejected
    (row,) = stored(agent.database)["memory_tombstones"]
    assert VALUE not in str(row)
    assert normal_hash(VALUE) not in str(row)
    assert operator.call("tombstone_list")["tombstones"][0]["id"].removeprefix("ts-") in str(row)


def test_a_memory_that_says_it_can_not_be_trusted_again_beside_one_that_says_it_now(
    agent: Agent, operator: Agent, rejected: str
) -> None:
    operator.call("tombstone_lift", id=rejected)
    write(agent)
    error = operator.refusal("memory_set_trust", id=rejected, state="accepted")
    assert error["code"] == "duplicate_value"
    assert agent.call("memory_get", id=rejected)["state"] == "rejected"


def derive(agent: Agent, derived: str, *sources: tuple[str, str]) -> None:
    with agent.database.write(agent.caller.user_id) as writer:
        for kind, source in sources:
            writer.execute(sql("INSERT INTO derivations VALUES ('memory', ?, ?, ?)", derived, kind, source))


def test_what_was_derived_from_a_rejected_memory_alone_is_retired_with_it(
    agent: Agent, operator: Agent
) -> None:
    source, other = write(agent), write(agent, "The office is in Lisbon.")
    summary, summary_of_it = write(agent, "The queue is short."), write(agent, "Queues are short here.")
    of_both, of_talk = write(agent, "Lisbon has a short queue."), write(agent, "Somebody said it is short.")
    verified = write(agent, "The queue of Lisbon was measured.")
    derive(agent, summary, ("memory", source))
    derive(agent, summary_of_it, ("memory", summary))
    derive(agent, of_both, ("memory", source), ("memory", other))
    derive(agent, of_talk, ("memory", summary), ("turn", "t-1"))
    derive(agent, verified, ("memory", other))
    operator.call("memory_set_trust", id=verified, state="verified")

    answer = operator.call("memory_set_trust", id=source, state="rejected")
    assert sorted(answer["retired"]) == sorted([summary, summary_of_it])
    shown = {row["id"] for row in agent.call("memory_list")["memories"]}
    assert shown == {other, of_both, of_talk, verified}
    newest = agent.call("memory_history", memory_id=summary_of_it)["events"][0]
    assert (newest["kind"], newest["reason"]) == ("delete", "derived from what was rejected")


def test_what_rests_on_a_deleted_or_superseded_memory_alone_falls_too(agent: Agent) -> None:
    """evidence.source_delete_reaches_derived."""
    deleted, superseded = write(agent), write(agent, "The office is in Lisbon.")
    of_deleted, of_superseded = write(agent, "The queue is short."), write(agent, "We work by the sea.")
    derive(agent, of_deleted, ("memory", deleted))
    derive(agent, of_superseded, ("memory", superseded))
    agent.call("memory_delete", id=deleted)
    new = agent.call("memory_supersede", old_id=superseded, content="The office is in Madrid.")["id"]
    assert {row["id"] for row in agent.call("memory_list")["memories"]} == {new}
    agent.call("memory_restore", id=deleted)
    assert agent.call("memory_get", id=deleted)["status"] == "current"
