"""A store kept in order as time passes: nothing fades away, nothing is lost, and a person decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.domains.memories import queries
from m3_memory.kernel.clock import ManualClock
from m3_memory.kernel.decay import DAY_SECONDS
from m3_memory.storage import embeddings, history
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from m3_memory.surfaces.worker.loop import work_once
from tests.callers import Agent
from tests.domains.test_memories import verify
from tests.stored import stored

TIDIED = ("expired", "retention", "lapsed", "orphan_vectors", "search_changes")


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


@pytest.fixture
def operator(agent: Agent) -> Agent:
    return agent.who(agent_id="operator", is_operator=True)


def days(agent: Agent, count: float) -> None:
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(count * DAY_SECONDS)


def write(agent: Agent, content: str, **given: object) -> str:
    memory_id = agent.call("memory_write", **{"content": content, "type": "fact", **given})["id"]
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(1)
    return memory_id


def tidied(agent: Agent, **given: object) -> dict[str, int]:
    """What maintenance told that it did, without what it did not."""
    answer = agent.call("memory_maintenance", **given)
    return {name: answer[name] for name in TIDIED if answer[name]}


def state(agent: Agent, memory_id: str) -> str:
    answer = agent.call("memory_get", id=memory_id)
    return answer.get("state") or answer["status"]


def effective(agent: Agent, query: str) -> dict[str, tuple[float, float]]:
    hits = agent.call("memory_suggest", query=query, k=50)["hits"]
    return {hit["id"]: (hit["importance"], hit["effective_importance"]) for hit in hits}


def shown(agent: Agent, query: str) -> list[str]:
    return [hit["id"] for hit in agent.call("memory_search", query=query, search_mode="keyword")["hits"]]


def use(agent: Agent, memory_id: str, times: int) -> None:
    with agent.database.write("local") as writer:
        writer.execute(
            sql(
                "INSERT INTO memory_access (memory_id, last_used_at, use_count) VALUES (?, ?, ?)",
                *(memory_id, agent.clock.now(), times),
            )
        )


# Importance.


def test_importance_fades_by_the_time_that_passed_and_not_by_what_ran(agent: Agent) -> None:
    """One pass or a thousand, the same number; what is stored and shown stays."""
    quay = write(agent, "The quay is made of oak", importance=0.8)
    before = effective(agent, "quay")[quay]
    days(agent, 138)
    once = effective(agent, "quay")[quay]
    for _ in range(20):
        agent.call("memory_maintenance")
    assert effective(agent, "quay")[quay] == once == (0.8, pytest.approx(0.44, abs=0.001))
    assert before == (0.8, 0.8)
    assert agent.call("memory_get", id=quay)["memory"]["importance"] == 0.8


def test_what_nobody_used_for_a_lifetime_is_found_still(agent: Agent) -> None:
    quay = write(agent, "The quay is made of oak", importance=0.2)
    days(agent, 40_000)
    agent.call("memory_maintenance")
    assert shown(agent, "quay oak") == [quay]
    assert effective(agent, "quay")[quay][1] == pytest.approx(0.02)


def test_of_equal_hits_the_one_that_counts_more_comes_first(agent: Agent) -> None:
    """A use, a pin or a new importance keeps a memory from fading; without them the newer comes first."""
    used, pinned, rated, plain = (
        write(agent, f"The quay of {name} is made of oak") for name in ("Oslo", "Riga", "Turku", "Gdansk")
    )
    assert shown(agent, "quay made of oak") == [plain, rated, pinned, used]
    agent.call("memory_pin", id=pinned)
    days(agent, 300)
    use(agent, used, 5)
    days(agent, 30)
    agent.call("memory_update", id=rated, importance=0.49)
    counts = {memory_id: left for memory_id, (_, left) in effective(agent, "quay made of oak").items()}
    assert counts[pinned] == 0.5
    assert counts[rated] == 0.49
    assert counts[plain] < counts[used] < 0.5
    assert shown(agent, "quay made of oak") == [pinned, rated, used, plain]


# Expiry.


def test_what_has_expired_shows_in_no_read_before_maintenance_and_is_closed_by_it(agent: Agent) -> None:
    note = write(agent, "The key lies under the mat", scope="session")
    kept = write(agent, "The key opens the cellar")
    assert tidied(agent) == {}
    days(agent, 1.1)
    assert shown(agent, "key") == [kept]
    assert tidied(agent, dry_run=True) == {"expired": 1}
    assert agent.call("memory_history", memory_id=note)["events"][0]["kind"] == "create"
    assert tidied(agent) == {"expired": 1}
    assert state(agent, note) == "expired"
    newest = agent.call("memory_history", memory_id=note)["events"][0]
    assert (newest["kind"], newest["reason"]) == ("expire", "expired")
    assert tidied(agent) == {}


def test_no_machine_ends_what_is_pinned_or_verified_though_its_time_is_over(agent: Agent) -> None:
    verified, pinned, plain = (
        write(agent, f"The key lies under the {what}", scope="session") for what in ("mat", "pot", "stone")
    )
    verify(agent, verified)
    agent.call("memory_pin", id=pinned)
    days(agent, 2)
    assert shown(agent, "key") == []
    assert tidied(agent) == {"expired": 1}
    newest = [
        agent.call("memory_history", memory_id=m)["events"][0]["kind"] for m in (verified, pinned, plain)
    ]
    assert newest == ["create", "pin", "expire"]


def test_a_question_that_nobody_answered_lapses(agent: Agent, operator: Agent) -> None:
    quay = write(agent, "The quay is made of oak")
    agent.call("review_propose", steps=[{"act": "delete", "id": quay}], reason="it burnt down")
    assert tidied(operator) == {}
    days(agent, 31)
    assert tidied(agent) == {}
    assert tidied(operator, dry_run=True) == tidied(operator) == {"lapsed": 1}
    assert tidied(operator) == {}
    assert state(agent, quay) == "current"


def test_maintenance_may_be_told_to_leave_what_has_expired(agent: Agent) -> None:
    write(agent, "The key lies under the mat", scope="session")
    days(agent, 2)
    assert tidied(agent, purge_expired=False) == {}
    assert tidied(agent) == {"expired": 1}


def test_an_agent_tidies_its_own_places_and_the_operator_all_of_the_users(
    agent: Agent, operator: Agent
) -> None:
    write(agent.who(conversation_id="tuesday"), "The key lies under the mat", scope="session")
    days(agent, 2)
    answer = agent.call("memory_maintenance")
    assert (answer["expired"], bool(answer["skipped"])) == (0, True)
    answer = operator.call("memory_maintenance")
    assert (answer["expired"], answer["skipped"]) == (1, [])
    assert tidied(operator.who(user_id="bob")) == {}


def test_many_are_closed_and_purged_in_transactions_of_five_hundred(agent: Agent, operator: Agent) -> None:
    """Each as one operation, whose number the dry run told."""
    items: Sequence[Any] = [
        {"content": f"Crate {number} stands on the quay", "type": "log", "scope": "session"}
        for number in range(501)
    ]
    agent.call("memory_write_bulk", items=items)
    days(agent, 2)
    assert tidied(agent, dry_run=True) == {"expired": 501}
    calls = [agent.call("memory_maintenance")]
    days(agent, 31)
    told = operator.call("memory_maintenance", purge_closed_days=30, dry_run=True)
    calls.append(operator.call("memory_maintenance", purge_closed_days=30))
    assert [calls[0]["expired"], calls[1]["purged"], told["purged"]] == [501, 501, 501]
    with agent.database.read("local") as reader:
        for call, kind in zip(calls, ("expire", "purge"), strict=True):
            acts = sql(
                "SELECT kind, count(DISTINCT store_time), count(*) FROM memory_history"
                " WHERE operation_id = ? GROUP BY kind",
                call["operation_id"],
            )
            assert reader.rows(acts) == [(kind, 2, 501)]
        assert history.verify(reader, 1) is None


# Retention.


def test_retention_is_the_operators_to_set_and_an_event(agent: Agent, operator: Agent) -> None:
    refused = agent.refusal("memory_set_retention", agent_id="claude", max_memories=1)
    assert refused["code"] == "needs_operator"
    answer = operator.call("memory_set_retention", agent_id="claude", max_memories=1)
    assert (answer["status"], answer["would_close"]) == ("set", 0)
    again = operator.call("memory_set_retention", agent_id="claude", max_memories=1)
    assert again["status"] == "unchanged"
    removed = operator.call("memory_set_retention", agent_id="claude", max_memories=0)
    assert removed["status"] == "removed"
    with agent.database.read("local") as reader:
        told = [row[0] for row in reader.rows(sql("SELECT reason FROM memory_history WHERE kind = 'grant'"))]
    assert told == ["retention of claude: at most 1 memory", "retention of claude: no limit any more"]
    assert operator.refusal("memory_set_retention", agent_id="  ")["code"] == "invalid_argument"


def test_over_the_cap_the_least_important_least_used_oldest_go_and_come_back(
    agent: Agent, operator: Agent
) -> None:
    least = write(agent, "The mole is short", importance=0.1)
    unused = write(agent, "The pier is green")
    used = write(agent, "The crane is wet")
    newer = write(agent, "The lamp is old")
    other = write(agent.who(agent_id="codex"), "The dock is new", importance=0.0)
    use(agent, used, 1)
    answer = operator.call("memory_set_retention", agent_id="claude", max_memories=2)
    assert answer["would_close"] == 2
    assert tidied(agent) == {}
    assert tidied(operator, dry_run=True) == tidied(operator) == {"retention": 2}
    assert [state(agent, m) for m in (least, unused, used, newer, other)] == [
        *("expired", "expired"),
        *("current", "current", "current"),
    ]
    assert tidied(operator) == {}
    assert operator.call("memory_restore", id=least)["status"] == "restored"
    assert state(agent, least) == "current"


def test_verified_and_pinned_memories_stand_against_retention(agent: Agent, operator: Agent) -> None:
    verified = write(agent, "The mole is short", importance=0.0)
    pinned = write(agent, "The pier is green", importance=0.0)
    plain = write(agent, "The crane is wet", importance=1.0)
    verify(agent, verified)
    agent.call("memory_pin", id=pinned)
    operator.call("memory_set_retention", agent_id="claude", max_memories=1, ttl_days=10)
    days(agent, 11)
    assert tidied(operator) == {"retention": 1}
    assert [state(agent, m) for m in (verified, pinned, plain)] == ["current", "current", "expired"]


def test_an_age_limit_goes_by_the_time_since_the_last_change(agent: Agent, operator: Agent) -> None:
    old = write(agent, "The mole is short")
    changed = write(agent, "The pier is green")
    operator.call("memory_set_retention", agent_id="claude", max_memories=0, ttl_days=10)
    days(agent, 9)
    agent.call("memory_update", id=changed, title="Mole")
    assert tidied(operator) == {}
    days(agent, 2)
    assert tidied(operator) == {"retention": 1}
    assert [state(agent, m) for m in (old, changed)] == ["expired", "current"]


def test_the_worker_enforces_policies_one_process_at_a_time(app: App, clock: ManualClock) -> None:
    agent = Agent(app.database, clock).who(project="atlas")
    least, other = write(agent, "The mole is short", importance=0.1), write(agent, "The pier is green")
    operator = agent.who(agent_id="operator", is_operator=True)
    operator.call("memory_set_retention", agent_id="claude", max_memories=1)
    with app.database.exclusive("maintenance") as alone:
        assert alone
        assert "maintenance" not in work_once(app)
    assert work_once(app)["maintenance"] == {"retention": 1}
    assert "maintenance" not in work_once(app)
    assert [state(agent, m) for m in (least, other)] == ["expired", "current"]
    assert agent.call("memory_restore", id=least)["status"] == "restored"


# What is left behind.


def test_vectors_of_nothing_and_changes_that_nobody_needs_go(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    quay = write(agent, "The quay is made of oak")
    with agent.database.write("local") as writer:
        space = embeddings.newest_space(writer)
        assert space is not None
        (vector,) = embeddings.first_vectors(writer, space, [1]).values()
        embeddings.insert_vectors(writer, 4711, space, [vector, vector])
    monkeypatch.setattr("m3_memory.domains.lifecycle.queries.KEPT_CHANGES", 2)
    for number in range(5):
        write(agent, f"The crane {number} is blue")
    assert tidied(agent, prune_orphan_embeddings=False, dry_run=True) == {"search_changes": 10}
    assert tidied(agent, dry_run=True) == {"search_changes": 10, "orphan_vectors": 1}
    assert tidied(agent) == {"search_changes": 10, "orphan_vectors": 1}
    assert tidied(agent) == {}
    assert agent.call("memory_search", query="quay oak", search_mode="vector", k=1)["hits"][0]["id"] == quay


def test_a_store_where_nothing_is_due_is_not_written(agent: Agent, operator: Agent) -> None:
    write(agent, "The quay is made of oak")
    operator.call("memory_set_retention", agent_id="claude", max_memories=5)
    at_rest = stored(agent.database)
    for each in (agent, operator):
        assert each.call("memory_maintenance")["status"] == "done"
    assert stored(agent.database) == at_rest


# What to look at again, and what happened.


def test_the_refresh_queue_lists_what_is_due_the_longest_due_first(agent: Agent) -> None:
    later = write(agent, "The licence runs out", refresh_on="2026-03-01")
    due = write(agent, "The cable is checked", refresh_on="2026-02-01", refresh_reason="every year")
    write(agent.who(project="elsewhere"), "The pump is checked", refresh_on="2026-01-02")
    write(agent, "The lamp is lit")
    days(agent, 40)
    answer = agent.call("memory_refresh_queue")
    assert [row["id"] for row in answer["memories"]] == [due]
    assert answer["memories"][0]["refresh_reason"] == "every year"
    ahead = agent.call("memory_refresh_queue", include_future=True, limit=1)
    assert ([row["id"] for row in ahead["memories"]], ahead["total"]) == ([due], 2)
    both = agent.call("memory_refresh_queue", include_future=True)["memories"]
    assert [(row["id"], row["due"]) for row in both] == [(due, True), (later, False)]
    assert agent.call("memory_maintenance")["refresh_due"] == 1
    assert agent.refusal("memory_refresh_queue", agent_id="codex")["code"] == "wider_identity"


def test_the_summary_counts_what_happened_lately_where_the_caller_stands(agent: Agent) -> None:
    old = write(agent, "The tram stops at the quay")
    days(agent, 30)
    tea = write(agent, "Tea is served at four", title="Tea")
    agent.call("memory_update", id=tea, content="Tea is served at five")
    agent.call("memory_feedback", memory_id=tea, feedback="misleading")
    gone = write(agent, "Coffee is served at ten")
    agent.call("memory_update", id=gone, content="Coffee is served at two", title="Coffee")
    agent.call("memory_delete", id=gone)
    write(agent.who(project="elsewhere"), "Soup is served at noon")
    answer = agent.call("memory_lifecycle_summary")
    assert answer["events"] == {"create": 2, "update": 2, "corroborate": 1, "delete": 1}
    assert answer["corroboration"] == {"corroborated": 0, "contradicted": 1}
    assert answer["top_contradicted"] == [{"id": tea, "count": 1, "title": "Tea"}]
    assert sorted(answer["most_revised"], key=lambda row: "title" in row) == [
        {"id": gone, "count": 1},
        {"id": tea, "count": 1, "title": "Tea"},
    ]
    assert agent.call("memory_lifecycle_summary", top_n=0)["most_revised"] == []
    assert agent.call("memory_lifecycle_summary", window_days=60)["events"]["create"] == 3
    assert old not in str(answer)


# Near-duplicates.


def test_duplicates_are_put_to_a_person_once_and_nothing_is_ended(agent: Agent) -> None:
    first = write(agent, "The harbour office opens at 8:00", embed=True)
    with_title = planted(agent, first, "The harbour office opens at 8:00.", title="")
    assert agent.call("memory_dedup", threshold=0.9)["applied"] == 0
    answer = agent.call("memory_dedup", threshold=0.9, dry_run=False)
    (pair,) = answer["groups"]
    assert (pair["verdict"], answer["applied"], {pair["a"], pair["b"]}) == (
        "duplicate",
        1,
        {first, with_title},
    )
    again = agent.call("memory_dedup", threshold=0.9, dry_run=False)
    assert (again["applied"], again["groups"][0]["review_id"]) == (0, pair["review_id"])
    assert [state(agent, m) for m in (first, with_title)] == ["current", "current"]


def planted(agent: Agent, like: str, content: str, **given: object) -> str:
    """A memory that no write would have let in beside another: from an older store, say."""
    memory_id = write(agent.who(project="elsewhere"), content, **given)
    with agent.database.write("local") as writer:
        beliefs = queries.open_beliefs_of(writer, [like, memory_id])
        event = history.append(writer, history.Event("trust", memory_id, 1, 1, "test", "planted"))
        assert queries.close_belief(writer, beliefs[memory_id], event)
        here = replace(beliefs[memory_id], audience=beliefs[like].audience, opened_by=event)
        queries.open_belief(writer, here)
    return memory_id


def test_only_memories_of_one_place_type_and_variant_are_near(agent: Agent) -> None:
    quay = write(agent, "The quay is made of oak")
    planted(agent, quay, "The quay is made of oak", type="decision")
    planted(agent, quay, "The quay is made of oak", variant="trial")
    write(agent.who(project="elsewhere"), "The quay is made of oak")
    write(agent, "The quay is made of oak", scope="user")
    assert agent.call("memory_dedup")["groups"] == []
    twin = planted(agent, quay, "The quay is  made of OAK")
    (pair,) = agent.call("memory_dedup")["groups"]
    assert {pair["a"], pair["b"]} == {quay, twin}


def test_near_memories_that_say_different_things_are_listed_and_not_proposed(agent: Agent) -> None:
    for number in (4411, 4412):
        write(agent, f"The lock service of the harbour listens on port {number}", type="log")
        write(agent.who(agent_id=f"a{number}"), f"The lock service of pier {number} listens on its port")
    answer = agent.call("memory_dedup", threshold=0.5, dry_run=False)
    assert [pair["verdict"] for pair in answer["groups"]] != []
    assert "duplicate" not in {pair["verdict"] for pair in answer["groups"]}
    assert answer["applied"] == 0


def test_what_is_verified_or_pinned_is_the_one_that_stays(agent: Agent) -> None:
    rich = write(agent, "The  quay of the harbour  is made  of  oak")
    verified = planted(agent, rich, "The quay of the harbour is made of oak")
    verify(agent, verified)
    (pair,) = agent.call("memory_dedup", dry_run=False)["groups"]
    assert (pair["a"], pair["b"], "review_id" in pair) == (verified, rich, True)
    agent.call("memory_pin", id=rich)
    (pair,) = agent.call("memory_dedup", dry_run=False)["groups"]
    assert (pair["a"], "review_id" in pair) == (verified, False)


def test_a_purge_removes_what_was_closed_long_ago_and_nothing_else(
    database: Database, clock: ManualClock
) -> None:
    agent = Agent(database, clock)
    operator = replace(agent, caller=agent.caller.as_operator())

    def write(content: str) -> str:
        found: str = agent.call("memory_write", content=content, type="fact")["id"]
        return found

    gone, pinned, rejected, stays = map(write, ("zqold note", "zqpinned note", "zqwrong note", "zqkept note"))
    agent.call("memory_pin", id=pinned)
    operator.call("memory_set_trust", id=rejected, state="rejected")
    for id_ in (gone, pinned):
        agent.call("memory_delete", id=id_)
    clock.advance(40 * 86_400)
    late = write("deleted lately")
    agent.call("memory_delete", id=late)
    assert agent.refusal("memory_maintenance", purge_closed_days=30)["code"] == "needs_operator"
    assert "purged" not in agent.call("memory_maintenance") or agent.call("memory_maintenance")["purged"] == 0
    told = operator.call("memory_maintenance", purge_closed_days=30, dry_run=True)["purged"]
    assert operator.call("memory_maintenance", purge_closed_days=30)["purged"] == told == 1
    assert agent.refusal("memory_get", id=gone)["code"] == "not_found"
    assert agent.refusal("memory_restore", id=gone)["code"] == "not_found"
    for id_ in (pinned, late):
        assert agent.call("memory_restore", id=id_)["status"] == "restored"
    assert agent.call("memory_get", id=stays)["status"] == "current"
    assert agent.refusal("memory_write", content="zqwrong note", type="fact")["code"] == "tombstoned"
    assert agent.call("memory_write", content="zqold note", type="fact")["status"] == "created"
