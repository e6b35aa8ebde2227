"""Questions for a person: who sees them, what deciding does, and what stands in its way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.correction.model import Decision
from m3_memory.domains.correction.service.reviews import elicited, lapse, overdue
from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, Question, ReviewKind
from m3_memory.domains.memories.service.operations import operation
from m3_memory.domains.memories.service.reviews import LAPSE_SECONDS, ask_all, believed, standing_as
from m3_memory.errors import NeedsOperator, NotFound, PlanStale
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from tests.callers import Agent, embedder_named
from tests.stored import stored

OLD, NEW = "The gateway listens on port 4000", "The gateway listens on port 4100"


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project, without a model: what contradicts is asked by the tests themselves."""
    return Agent(database, clock, embedder=embedder_named("off")).who(project="atlas")


@pytest.fixture
def operator(agent: Agent) -> Agent:
    """The person, standing in no project."""
    return Agent(agent.database, agent.clock, agent.who(project="").caller.as_operator(), agent.embedder)


@pytest.fixture
def old(agent: Agent) -> str:
    return write(agent, OLD)


@pytest.fixture
def new(agent: Agent, old: str) -> str:
    return write(agent, NEW)


@pytest.fixture
def conflict(agent: Agent, old: str, new: str) -> str:
    """The id of an open conflict of the two."""
    return asked(agent, (old, new))


def pass_time(agent: Agent, seconds: float = 1) -> None:
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(seconds)


def write(agent: Agent, content: str) -> str:
    pass_time(agent, 1)
    return str(agent.call("memory_write", content=content, type="fact")["id"])


def context(agent: Agent) -> Context:
    settings = Settings(home=Path("unused"))
    return Context(agent.caller, agent.database, agent.embedder, agent.clock, settings)


def asked(agent: Agent, memories: tuple[str, str], steps: tuple[PlanStep, ...] = ()) -> str:
    """Asks whether the second takes the place of the first, or about these steps; the question's id."""
    ctx = context(agent)
    with ctx.write() as writer:
        op = operation(ctx, writer)
        old, new = (believed(writer, memories)[memory_id].belief for memory_id in memories)
        marks = {memory_id: mark for memory_id, (mark, _) in standing_as(writer, memories).items()}
        steps = steps or (PlanStep(Act.SUPERSEDE, memories[0], memories[1], new.valid_from),)
        question = Question(
            ReviewKind.CONFLICT, old.audience, memories, {"reason": "value_changed"}, Plan(steps, marks)
        )
        return ask_all(op, [question])[0].review_id


def shown(asker: Agent, review_id: str) -> dict[str, Any]:
    (found,) = asker.call("review_list", review_id=review_id)["reviews"]
    return found


def decision(review: dict[str, Any], verb: str, **more: str) -> dict[str, Any]:
    named = {name: review[name] for name in ("review_id", "digest")}
    return {**named, "decision": verb, **more}


def decide(operator: Agent, review_id: str, verb: str, **more: str) -> dict[str, Any]:
    pass_time(operator, 1)
    return operator.call("review_decide", **decision(shown(operator, review_id), verb, **more))


def state(agent: Agent, memory_id: str) -> str:
    return str(agent.call("memory_get", id=memory_id).get("state", "current"))


def test_a_question_shows_both_texts_the_plan_and_when_it_lapses(agent: Agent, conflict: str) -> None:
    answer = agent.call("review_list")
    assert answer["total"] == 1
    (review,) = answer["reviews"]
    assert [memory["content"] for memory in review["memories"]] == [OLD, NEW]
    assert review["reason"] == "value_changed"
    assert "takes the place of" in review["plan"][0]
    assert review["opened_at"] < review["lapses_at"]
    assert answer["when_lapsed"]
    assert review["review_id"] == conflict


@pytest.mark.parametrize("elsewhere", [{"project": "other"}, {"user_id": "bob"}, {"circle": "apart"}])
def test_a_question_of_another_place_does_not_show(
    agent: Agent, conflict: str, elsewhere: dict[str, str]
) -> None:
    other = agent.who(**elsewhere)
    assert other.call("review_list")["reviews"] == []
    assert other.refusal("review_list", review_id=conflict)["code"] == "not_found"
    assert agent.call("review_list")["total"] == 1


def test_a_person_sees_the_questions_of_every_place_and_decides_them(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str
) -> None:
    assert operator.call("review_list")["total"] == 1
    done = decide(operator, conflict, "accept")
    assert (done["status"], done["changed"]) == ("accepted", [old])
    assert (state(agent, old), state(agent, new)) == ("superseded", "current")
    assert agent.call("memory_get", id=old)["successor"] == new
    assert agent.call("review_list")["total"] == 0


def test_an_agent_decides_nothing(agent: Agent, conflict: str) -> None:
    before = stored(agent.database)
    review = shown(agent, conflict)
    assert agent.refusal("review_decide", **decision(review, "accept"))["code"] == "needs_operator"
    through = {"tool": "review_decide", "args": decision(review, "accept")}
    assert "needs_operator" in agent.outcome("m3_call", through).text
    assert stored(agent.database) == before


def test_rejecting_leaves_both_and_the_conflict_is_over(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str
) -> None:
    decide(operator, conflict, "reject")
    assert (state(agent, old), state(agent, new)) == ("current", "current")
    assert shown(agent, conflict)["state"] == "rejected"
    assert agent.call("review_list")["total"] == 0


def test_withdrawing_deletes_the_newer_one(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str
) -> None:
    decide(operator, conflict, "withdraw")
    assert (state(agent, old), state(agent, new)) == ("current", "deleted")


def test_burying_rejects_the_newer_one_for_good(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str
) -> None:
    decide(operator, conflict, "bury")
    assert (state(agent, old), state(agent, new)) == ("current", "rejected")
    refused = agent.refusal("memory_write", content=NEW, type="fact")
    assert refused["code"] == "tombstoned"
    memories = {memory["id"]: memory for memory in shown(agent, conflict)["memories"]}
    assert "content" not in memories[new]
    assert memories[old]["content"] == OLD


def test_a_decision_is_about_what_was_shown(operator: Agent, conflict: str) -> None:
    review = shown(operator, conflict) | {"digest": "0" * 16}
    assert operator.refusal("review_decide", **decision(review, "accept"))["code"] == "stale"
    assert shown(operator, conflict)["state"] == "open"


def test_a_plan_whose_world_changed_does_nothing_and_is_closed(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str
) -> None:
    review = shown(operator, conflict)
    pass_time(agent, 1)
    agent.call("memory_update", id=new, content=f"{NEW}, by TLS")
    assert shown(operator, conflict)["state"] == "stale"
    assert operator.refusal("review_decide", **decision(review, "accept"))["code"] == "stale"
    assert (state(agent, old), state(agent, new)) == ("current", "current")
    assert len(agent.call("memory_history", memory_id=old)["events"]) == 3
    assert operator.call("review_list")["total"] == 0
    assert shown(operator, conflict)["decided_by"] == "operator"


def test_a_question_is_decided_once(operator: Agent, conflict: str) -> None:
    review = shown(operator, conflict)
    decide(operator, conflict, "reject")
    assert operator.refusal("review_decide", **decision(review, "accept"))["code"] == "stale"


def test_a_memory_that_is_gone_takes_its_questions_along(agent: Agent, conflict: str, new: str) -> None:
    pass_time(agent, 1)
    agent.call("memory_delete", id=new)
    assert agent.call("review_list")["total"] == 0
    assert shown(agent, conflict)["state"] == "stale"


def test_a_question_lapses_and_everything_stays(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str
) -> None:
    review = shown(operator, conflict)
    pass_time(agent, LAPSE_SECONDS + 1)
    assert agent.call("review_list")["total"] == 0
    assert shown(agent, conflict)["state"] == "lapsed"
    assert operator.refusal("review_decide", **decision(review, "accept"))["code"] == "stale"
    ctx = context(agent)
    with ctx.write() as writer:
        assert writer.rows(overdue(writer)) == [(conflict,)]
        lapse(operation(ctx, writer), [conflict])
        assert writer.rows(overdue(writer)) == []
    assert (state(agent, old), state(agent, new)) == ("current", "current")
    assert "lapsed" in agent.call("memory_history", memory_id=old)["events"][0]["reason"]


@pytest.mark.parametrize("verb", ["accept", "reject", "withdraw", "bury"])
def test_undoing_a_decision_opens_the_question_again(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str, verb: str
) -> None:
    done = decide(operator, conflict, verb)
    assert agent.refusal("memory_undo", operation=done["operation_id"])["code"] in (
        "needs_operator",
        "undo_blocked",
    )
    pass_time(operator, 1)
    operator.call("memory_undo", operation=done["operation_id"])
    assert (state(agent, old), state(agent, new)) == ("current", "current")
    review = shown(agent, conflict)
    assert (review["state"], "decision" in review) == ("open", False)
    assert decide(operator, conflict, "accept")["status"] == "accepted"


def test_undoing_the_write_that_asked_withdraws_the_question(agent: Agent, old: str) -> None:
    ctx = context(agent)
    new = write(agent, NEW)
    first = agent.call("memory_history", memory_id=new)["events"][0]["operation_id"]
    with ctx.write() as writer:
        op = operation(ctx, writer, first)
        belief = believed(writer, [new])[new].belief
        asked_ = ask_all(op, [Question(ReviewKind.CONFLICT, belief.audience, (old, new), {"reason": "x"})])
    pass_time(agent, 1)
    agent.call("memory_undo", operation=first)
    review = shown(agent, asked_[0].review_id)
    assert (review["state"], review["decision"]) == ("stale", "withdrawn")


def test_an_agent_proposes_and_a_person_accepts_whole(agent: Agent, operator: Agent, old: str) -> None:
    other = write(agent, "The gateway is written in Go")
    steps = [{"act": "delete", "id": old}, {"act": "verify", "id": other}]
    proposed = agent.call("review_propose", steps=steps, reason="the gateway was replaced")
    assert (proposed["status"], proposed["steps"]) == ("asked", {"delete": 1, "verify": 1})
    assert state(agent, old) == "current"
    again = agent.call("review_propose", steps=steps, reason="the gateway was replaced")
    assert (again["review_id"], again["status"]) == (proposed["review_id"], "open")
    decide(operator, proposed["review_id"], "accept")
    assert state(agent, old) == "deleted"
    assert agent.call("memory_get", id=other)["memory"]["trust_state"] == "verified"


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([{"act": "erase", "id": "$old"}], "invalid_argument"),
        ([{"act": "merge", "id": "$old"}], "invalid_argument"),
        ([{"act": "update", "id": "$old", "changes": {"trust_state": "verified"}}], "invalid_argument"),
        ([{"act": "update", "id": "$old"}], "invalid_argument"),
        ([{"act": "delete", "id": "$old"}, {"act": "accept", "id": "$old"}], "invalid_argument"),
        ([{"act": "delete", "id": "$old", "sql": "1"}], "invalid_argument"),
        ([{"act": "delete", "id": "00000000-0000-7000-8000-000000000000"}], "not_found"),
        ([{"act": "supersede", "id": "$old", "other_id": "$old", "at": "soon"}], "invalid_time"),
        ([], "invalid_argument"),
    ],
)
def test_a_plan_that_could_never_be_carried_out_is_refused(
    agent: Agent, old: str, steps: list[dict[str, Any]], code: str
) -> None:
    given = [{name: old if value == "$old" else value for name, value in step.items()} for step in steps]
    assert agent.refusal("review_propose", steps=given, reason="because")["code"] == code
    assert agent.call("review_list")["total"] == 0


def test_a_plan_is_proposed_only_about_what_the_agent_holds(agent: Agent, old: str) -> None:
    steps = [{"act": "delete", "id": old}]
    refused = agent.who(project="other").refusal("review_propose", steps=steps, reason="mine")
    assert refused["code"] == "not_found"


def test_merging_closes_the_duplicate(agent: Agent, operator: Agent, old: str, new: str) -> None:
    review_id = asked(agent, (old, new), (PlanStep(Act.MERGE, new, old),))
    decide(operator, review_id, "accept")
    assert (state(agent, old), state(agent, new)) == ("current", "withdrawn")
    assert agent.call("memory_history", memory_id=new)["events"][0]["kind"] == "merge"


def test_linking_sets_the_edge(agent: Agent, old: str, new: str) -> None:
    there = Agent(agent.database, agent.clock, agent.caller.as_operator(), agent.embedder)
    step = PlanStep(Act.LINK, old, new, changes={"relationship_type": "references"})
    decide(there, asked(agent, (old, new), (step,)), "accept")
    assert agent.call("memory_graph", memory_id=old)["edges"][0]["relationship_type"] == "references"


def test_what_is_accepted_in_better_words_is_said_so(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str
) -> None:
    decide(operator, conflict, "accept", content=f"{NEW} since May")
    assert state(agent, old) == "superseded"
    assert agent.call("memory_get", id=new)["memory"]["content"] == f"{NEW} since May"


def test_a_secret_in_better_words_is_not_stored(
    agent: Agent, operator: Agent, conflict: str, new: str
) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    decide(operator, conflict, "accept", content=f"{NEW}, token {secret}")
    assert secret not in repr(stored(agent.database))
    assert "[secret:" in agent.call("memory_get", id=new)["memory"]["content"]


def test_an_update_takes_over_the_text_of_the_candidate_and_retires_it(
    agent: Agent, operator: Agent, old: str, new: str
) -> None:
    decide(operator, asked(agent, (old, new), (PlanStep(Act.UPDATE, old, new),)), "accept")
    assert agent.call("memory_get", id=old)["memory"]["content"] == NEW
    assert state(agent, new) == "deleted"


def test_better_words_go_with_accepting_alone(operator: Agent, conflict: str) -> None:
    review = shown(operator, conflict)
    refused = operator.refusal("review_decide", **decision(review, "reject", content="a"))
    assert refused["code"] == "invalid_argument"
    assert shown(operator, conflict)["state"] == "open"


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("accept", ("superseded", "current")),
        ("reject", ("current",) * 2),
        ("withdraw", ("current", "deleted")),
    ],
)
def test_a_hosts_prompt_decides_a_conflict_as_the_agent_whose_act_it_is(
    agent: Agent, conflict: str, old: str, new: str, answer: str, left: tuple[str, str]
) -> None:
    pass_time(agent, 1)
    done = elicited(context(agent), conflict, Decision(answer))
    assert (state(agent, old), state(agent, new)) == left
    assert shown(agent, conflict)["decided_by"] == "elicited"
    event = next(e for e in agent.call("memory_history", memory_id=old)["events"] if e["kind"] == "review")
    assert (event["agent_id"], event["reason"].split(":")[0]) == ("claude", "elicited")
    pass_time(agent, 1)
    agent.call("memory_undo", operation=done.operation_id)
    assert (state(agent, old), state(agent, new)) == ("current", "current")


def test_a_hosts_prompt_decides_nothing_verified_rejected_or_elsewhere(
    agent: Agent, operator: Agent, conflict: str, old: str, new: str
) -> None:
    with pytest.raises(NeedsOperator):
        elicited(context(agent), conflict, Decision.BURY)
    with pytest.raises(NotFound):
        elicited(context(agent.who(project="other")), conflict, Decision.ACCEPT)
    pass_time(operator, 1)
    there = Agent(agent.database, agent.clock, agent.caller.as_operator(), agent.embedder)
    there.call("memory_set_trust", id=old, state="verified", reason="seen")
    with pytest.raises(NeedsOperator):
        elicited(context(agent), conflict, Decision.ACCEPT)
    deletion = asked(agent, (new, old), (PlanStep(Act.DELETE, new),))
    with pytest.raises(NeedsOperator):
        elicited(context(agent), deletion, Decision.ACCEPT)
    assert (state(agent, old), state(agent, new)) == ("current", "current")


@pytest.mark.parametrize("pinned", ["old", "new"])
def test_a_hosts_prompt_decides_nothing_of_what_is_pinned(
    agent: Agent, conflict: str, old: str, new: str, pinned: str
) -> None:
    agent.call("memory_pin", id={"old": old, "new": new}[pinned])
    with pytest.raises(NeedsOperator):
        elicited(context(agent), conflict, Decision.ACCEPT)
    agent.call("memory_unpin", id={"old": old, "new": new}[pinned])
    assert elicited(context(agent), conflict, Decision.ACCEPT).changed == [old]


def test_a_hosts_prompt_answered_late_is_stale(agent: Agent, operator: Agent, conflict: str) -> None:
    decide(operator, conflict, "reject")
    with pytest.raises(PlanStale):
        elicited(context(agent), conflict, Decision.ACCEPT)
