"""What a plan may say, and what a decision may do: nothing that can't be carried out, or was not asked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from tests.callers import Agent
from tests.stored import stored


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock).who(project="atlas")


@pytest.fixture
def operator(agent: Agent) -> Agent:
    """The person, standing in the agent's project."""
    return Agent(agent.database, agent.clock, agent.caller.as_operator(), agent.embedder)


SAID = (
    "Owls are nocturnal birds",
    "The ledger is kept in Bern",
    "Badges expire every year",
    "Soup is served at noon",
)


@pytest.fixture
def ids(agent: Agent) -> dict[str, str]:
    """Four memories about different things, by letters."""
    return {letter: write(agent, said) for letter, said in zip("ABCD", SAID, strict=True)}


def pass_time(agent: Agent) -> None:
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(1)


def write(agent: Agent, content: str, **more: Any) -> str:
    pass_time(agent)
    return str(agent.call("memory_write", content=content, type="fact", **more)["id"])


def trusts(operator: Agent, memory_id: str, state: str = "verified") -> str:
    pass_time(operator)
    operator.call("memory_set_trust", id=memory_id, state=state, reason="looked it up")
    return memory_id


def step(ids: dict[str, str], act: str, memory: str, other: str = "", **more: Any) -> dict[str, Any]:
    return {"act": act, "id": ids[memory], **({"other_id": ids[other]} if other else {}), **more}


def propose(agent: Agent, *steps: dict[str, Any]) -> dict[str, Any]:
    return agent.call("review_propose", steps=list(steps), reason="because")


def decide(operator: Agent, review_id: str, decision: str, **more: str) -> dict[str, Any]:
    pass_time(operator)
    (shown,) = operator.call("review_list", review_id=review_id)["reviews"]
    named = {"review_id": review_id, "digest": shown["digest"], "decision": decision}
    found = operator.outcome("review_decide", named | more)
    return found.structured or json.loads(found.text)


def state(agent: Agent, memory_id: str) -> str:
    return str(agent.call("memory_get", id=memory_id).get("state", "current"))


def memory(agent: Agent, memory_id: str) -> dict[str, Any]:
    found: dict[str, Any] = agent.call("memory_get", id=memory_id)["memory"]
    return found


def asked_about_verified(agent: Agent, ids: dict[str, str], tool: str) -> str:
    """The id of the question that an agent's change of a verified memory becomes."""
    changes = {
        "memory_delete": {"id": ids["A"]},
        "memory_update": {"id": ids["A"], "title": "Owls"},
        "memory_import": {
            "data": json.dumps({"kind": "memory", "id": ids["A"], "type": "fact", "content": "Owls are grey"})
        },
        "review_propose": {
            "steps": [step(ids, "delete", "B"), step(ids, "link", "C", "A")],
            "reason": "tidying",
        },
        "curate_memory_apply": {"plan": {"delete": [ids["A"]]}},
    }
    agent.call(tool, **changes[tool])
    (review,) = agent.call("review_list", subject=ids["A"])["reviews"]
    return str(review["review_id"])


@pytest.mark.parametrize(
    "tool", ["memory_delete", "memory_update", "memory_import", "review_propose", "curate_memory_apply"]
)
def test_only_a_newcomer_is_withdrawn_or_buried(
    agent: Agent, operator: Agent, ids: dict[str, str], tool: str
) -> None:
    trusts(operator, ids["A"])
    review_id = asked_about_verified(agent, ids, tool)
    (review,) = agent.call("review_list", review_id=review_id)["reviews"]
    assert review["decisions"] == ["accept", "reject"]
    before = stored(agent.database)
    for decision in ("withdraw", "bury"):
        assert decide(operator, review_id, decision)["code"] == "invalid_argument"
    assert stored(agent.database) == before


def test_another_request_about_a_verified_memory_is_another_question(
    agent: Agent, operator: Agent, ids: dict[str, str]
) -> None:
    trusts(operator, ids["A"])
    said = "Owls are awake by day"
    changed = ({"content": said}, {"title": "Owls"}, {"valid_to": "2030-01-01"})
    asked = [agent.call("memory_delete", id=ids["A"])["review_id"]]
    asked += [agent.call("memory_update", id=ids["A"], **each)["review_id"] for each in changed]
    asked.append(agent.call("memory_supersede", old_id=ids["A"], content=said)["review_id"])
    asked += agent.call("curate_memory_apply", plan={"update": [{"id": ids["A"], "title": "O"}]})["proposals"]
    asked += agent.call("curate_memory_apply", plan={"delete_hard": [ids["A"]]})["proposals"]
    assert len(set(asked)) == 7
    assert agent.call("memory_delete", id=ids["A"])["review_id"] == asked[0]
    assert agent.call("review_list")["total"] == 7


WORDED = "Owls sleep until dusk"


@pytest.mark.parametrize("edited", ["", WORDED])
@pytest.mark.parametrize("verb", ["update", "supersede", "verify", "accept"])
def test_a_candidate_is_accepted_as_it_is_or_in_better_words(
    agent: Agent, operator: Agent, ids: dict[str, str], verb: str, edited: str
) -> None:
    said = "Owls are diurnal birds"
    trusts(operator, ids["A"])
    if verb == "update":
        review_id = agent.call("memory_update", id=ids["A"], content=said)["review_id"]
        won = ids["A"]
    elif verb == "supersede":
        answer = agent.call("memory_supersede", old_id=ids["A"], content=said)
        review_id, won = answer["review_id"], answer["id"]
    else:
        line = json.dumps({"kind": "memory", "type": "fact", "content": said})
        agent.call("memory_import", data=line)
        (candidate,) = agent.call("memory_list", trust_state="candidate")["memories"]
        won = candidate["id"]
        review_id = propose(agent, {"act": verb, "id": won})["review_id"]
    done = decide(operator, review_id, "accept", **({"content": edited} if edited else {}))
    assert done["status"] == "accepted", done
    found = memory(agent, won)
    assert found["content"] == (edited or said)
    assert found["trust_state"] == ("verified" if verb == "verify" else "accepted")
    assert agent.call("review_list")["total"] == 0
    pass_time(operator)
    operator.call("memory_undo", operation=done["operation_id"])
    assert memory(agent, ids["A"])["content"] == SAID[0]


ONCE: dict[str, list[tuple[Any, ...]]] = {
    "verified and changed": [("verify", "A"), ("update", "A", "", "x")],
    "changed and verified": [("update", "A", "", "x"), ("verify", "A")],
    "changed twice": [("update", "A", "", "x"), ("update", "A", "", "y")],
    "verified twice": [("verify", "A"), ("verify", "A")],
    "superseded twice": [("supersede", "A", "B"), ("supersede", "A", "C")],
    "each by the other": [("supersede", "A", "B"), ("supersede", "B", "A")],
    "changed after it won": [("supersede", "A", "B"), ("update", "B", "", "x")],
    "changed and deleted": [("update", "A", "", "x"), ("delete", "A")],
    "taken over twice": [("update", "A", "B"), ("update", "C", "B")],
    "linked once it is gone": [("delete", "A"), ("link", "A", "B")],
}
"""Steps that say two things of one memory: act, memory, other, and a title."""


def test_a_plan_changes_each_memory_once(agent: Agent, ids: dict[str, str]) -> None:
    before = stored(agent.database)
    for name, sent in ONCE.items():
        steps = [
            step(ids, act, first, *more[:1], **({"changes": {"title": more[1]}} if len(more) > 1 else {}))
            for act, first, *more in sent
        ]
        refused = agent.refusal("review_propose", steps=steps, reason="because")
        assert refused["code"] == "invalid_argument", (name, refused)
    assert stored(agent.database) == before


CURATIONS: tuple[dict[str, Any], ...] = (
    {"update": [{"id": "A", "title": "x"}], "delete": ["A"]},
    {"update": [{"id": "A", "title": "x"}, {"id": "A", "content": "Owls sing"}]},
    {"delete": ["A"], "delete_hard": ["A"]},
    {"update": [{"id": "A", "relationship_type": "related"}]},
    {"update": [{"id": "A", "content": "half \ud800"}]},
)


def test_a_curation_changes_each_memory_once_and_only_in_what_there_is(
    agent: Agent, ids: dict[str, str]
) -> None:
    before = stored(agent.database)
    for plan in CURATIONS:
        given = json.loads(json.dumps(plan).replace('"A"', f'"{ids["A"]}"'))
        refused = agent.refusal("curate_memory_apply", plan=given)
        assert refused["code"] in ("invalid_argument", "invalid_content"), (plan, refused)
    assert stored(agent.database) == before


def test_a_plan_may_trust_what_it_then_lets_win(agent: Agent, operator: Agent, ids: dict[str, str]) -> None:
    steps = step(ids, "verify", "A"), step(ids, "supersede", "B", "A"), step(ids, "supersede", "C", "A")
    done = decide(operator, propose(agent, *steps)["review_id"], "accept")
    assert done["status"] == "accepted", done
    assert [state(agent, ids[letter]) for letter in "ABC"] == ["current", "superseded", "superseded"]
    assert memory(agent, ids["A"])["trust_state"] == "verified"


NEVER: list[Any] = [
    {"importance": float("nan")},
    {"importance": 5},
    {"importance": -1},
    {"importance": "much"},
    {"importance": True},
    {"metadata": 5},
    {"metadata": {"trust": 1}},
    {"metadata": {"deep": json.loads("[" * 400 + "]" * 400)}},
    {"metadata": {"half": "\ud800"}},
    {"content": "a\x00b"},
    {"content": "a\ud800b"},
    {"content": "y" * 3_000_000},
    {"content": 5},
    {"title": "t" * 5000},
    {"valid_to": "soon"},
    {"valid_to": "2020-01-01"},
    {"relationship_type": "related"},
    {"content": "The ledger is kept in Bern"},
]


def test_what_an_update_or_a_link_would_refuse_is_not_proposed(agent: Agent, ids: dict[str, str]) -> None:
    relations = ("supersedes", "nonsense", 5, "distills_from")
    given = [step(ids, "update", "A", changes=changes) for changes in NEVER]
    given += [step(ids, "link", "A", "B", changes={"relationship_type": name}) for name in relations]
    for each in given:
        refused = agent.refusal("review_propose", steps=[each], reason="because")
        assert refused["code"] not in ("internal", "not_found"), (repr(each)[:200], refused)
    assert agent.call("review_list")["total"] == 0


def test_a_memory_takes_anothers_place_only_when_it_holds_and_only_once(
    agent: Agent, ids: dict[str, str]
) -> None:
    later = {**ids, "L": write(agent, "Doors of the hall are oak", valid_from="2027-01-01")}
    gap = [step(later, "supersede", "A", "L", at="2026-06-01")]
    assert agent.refusal("review_propose", steps=gap, reason="because")["code"] == "invalid_argument"
    agent.call("memory_supersede", old_id=ids["B"], content="The ledger is in Chur", valid_from="2027-01-01")
    twice = [step(ids, "supersede", "B", "C")]
    assert agent.refusal("review_propose", steps=twice, reason="because")["code"] == "not_current"
    assert propose(agent, step(later, "supersede", "A", "L"))["status"] == "asked"


def test_a_plan_that_expects_a_memory_of_another_learns_nothing(agent: Agent, ids: dict[str, str]) -> None:
    foreign = write(agent.who(user_id="eve"), "The vault is in Aarau")
    answers = [
        agent.refusal("curate_memory_apply", plan={"delete": [ids["A"]], "expects": {named: "1@x"}})
        for named in (foreign, "00000000-0000-7000-8000-000000000000")
    ]
    for answer, named in zip(answers, (foreign, "00000000-0000-7000-8000-000000000000"), strict=True):
        answer["message"] = answer["message"].replace(named, "ID")
    assert answers[0] == answers[1]
    assert (answers[0]["code"], state(agent, ids["A"])) == ("stale", "current")


BURIED = "The vault opens with nineteen turns"


def bury(operator: Agent, how: str) -> None:
    memory_id = write(operator, BURIED)
    if how == "rejected":
        trusts(operator, memory_id, "rejected")
        return
    preview = operator.call("gdpr_forget", ids=[memory_id])
    operator.call("gdpr_forget", ids=[memory_id], confirm=preview["confirm"])


@pytest.mark.parametrize("how", ["rejected", "erased"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"content": BURIED}, "because"), ({"title": BURIED}, "because"), ({"title": "x"}, BURIED)],
)
def test_what_was_rejected_or_erased_is_not_proposed(
    agent: Agent, operator: Agent, ids: dict[str, str], how: str, changes: dict[str, str], reason: str
) -> None:
    bury(operator, how)
    given = [step(ids, "update", "A", changes=changes)]
    assert agent.refusal("review_propose", steps=given, reason=reason)["code"] == "tombstoned"
    trusts(operator, ids["A"])
    if "content" not in changes and reason != BURIED:
        assert agent.refusal("memory_update", id=ids["A"], **changes)["code"] == "tombstoned"
    line = json.dumps({"kind": "memory", "id": ids["A"], "type": "fact", "content": BURIED})
    assert agent.call("memory_import", data=line)["for_review"] == 0
    assert BURIED not in json.dumps(agent.call("review_list"))
    assert len(propose(agent, step(ids, "update", "B", changes={"title": "y"}))["review_id"]) == 36


@pytest.mark.parametrize("where", ["content", "reason"])
def test_a_question_that_quotes_what_was_rejected_since_does_not_show_it(
    agent: Agent, operator: Agent, ids: dict[str, str], where: str
) -> None:
    content, reason = (BURIED, "because") if where == "content" else ("Owls hoot", BURIED)
    given = [step(ids, "update", "A", changes={"content": content})]
    review_id = agent.call("review_propose", steps=given, reason=reason)["review_id"]
    assert BURIED in json.dumps(agent.call("review_list"))
    bury(operator, "rejected")
    shown = agent.call("review_list", review_id=review_id)
    assert BURIED not in json.dumps(shown)
    assert "rejected or erased since" in json.dumps(shown)


@pytest.mark.parametrize("door", ["review_propose", "curate_memory_apply", "review_decide", "memory_update"])
def test_every_door_records_that_a_buried_value_was_said_again(
    agent: Agent, operator: Agent, ids: dict[str, str], door: str
) -> None:
    changes = {"content": BURIED}
    review_id = propose(agent, step(ids, "update", "B", changes={"content": "The ledger is in Chur"}))
    buried = trusts(operator, write(agent, BURIED), "rejected")
    if door == "review_decide":
        refused = decide(operator, review_id["review_id"], "accept", content=BURIED)
    elif door == "memory_update":
        refused = agent.refusal(door, id=trusts(operator, ids["A"]), title=BURIED)
    elif door == "review_propose":
        refused = agent.refusal(door, steps=[step(ids, "update", "A", changes=changes)], reason="because")
    else:
        refused = agent.refusal(door, plan={"update": [{"id": ids["A"], **changes}]})
    assert refused["code"] == "tombstoned"
    events = operator.call("memory_history", memory_id=buried)["events"]
    assert sum(event.get("reason") == "said again, and refused" for event in events) == 1


def test_a_list_of_questions_fits_into_one_answer(agent: Agent) -> None:
    letters = [write(agent, f"{word} {'x' * 40_000}") for word in ("one", "two", "three")]
    for memory_id in letters:
        for number in range(6):
            propose(agent, {"act": "update", "id": memory_id, "changes": {"title": f"title {number}"}})
    answer = agent.call("review_list", limit=50)
    assert answer["total"] == 18
    assert 1 <= len(answer["reviews"]) < 18
    assert len(json.dumps(answer)) < 450_000
    rest = agent.call("review_list", limit=50, offset=len(answer["reviews"]))
    assert rest["reviews"][0]["review_id"] not in {review["review_id"] for review in answer["reviews"]}
    long = [{"act": "update", "id": id_, "changes": {"content": f"{id_} {'y' * 45_000}"}} for id_ in letters]
    assert agent.refusal("review_propose", steps=long, reason="because")["code"] == "invalid_argument"


def test_what_changed_since_it_was_asked_is_shown_as_stale_and_does_not_wait(
    agent: Agent, ids: dict[str, str]
) -> None:
    propose(agent, step(ids, "delete", "A"))
    kept = propose(agent, step(ids, "delete", "B"))["review_id"]
    pass_time(agent)
    agent.call("memory_update", id=ids["A"], title="Owls")
    answer = agent.call("review_list")
    assert answer["total"] == 1
    assert {review["review_id"]: review["state"] for review in answer["reviews"]}[kept] == "open"
    (stale,) = (review for review in answer["reviews"] if review["state"] == "stale")
    assert stale["decisions"] == ["reject"]


def test_a_dispute_whose_other_side_ended_marks_nothing(database: Database, clock: ManualClock) -> None:
    agent = Agent(database, clock).who(project="atlas")
    said = [f"The gateway listens on port {port}" for port in (4000, 4100)]
    old, new = (write(agent, text, valid_from="2026-01-01") for text in said)
    assert memory(agent, old)["disputed_by"] == [new]
    pass_time(agent)
    agent.call("memory_supersede", old_id=new, content="The gateway was taken down for good")
    assert not memory(agent, old).get("disputed_by")
    assert agent.call("review_list")["total"] == 0


def test_what_is_surest_is_put_to_a_person_first(agent: Agent) -> None:
    starts, unchecked = {"valid_from": "2026-01-01"}, replace(agent, contradiction="off")
    said = "The payments team now uses Postgres for the ledger"
    for verb, name in (("stores", "MySQL"), ("keeps", "Oracle"), ("holds", "DB2"), ("files", "Redis")):
        write(unchecked, f"The payments team {verb} the ledger in {name}", embed_text=said, **starts)
    sure = write(unchecked, "The payments team uses Derby for the ledger", **starts)
    answer = agent.call("memory_write", content=said, type="fact", **starts)
    assert [each["reason"] for each in answer["conflicts"]][1:] == ["may_have_changed"] * 2
    assert answer["conflicts"][0]["id"] == sure
