"""What an answer must say besides its result, and corrections that must not bypass the check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from m3_memory.inference.embedder import Embedder
from m3_memory.inference.hashing import HashingEmbedder
from m3_memory.kernel.clock import ManualClock
from m3_memory.kernel.fingerprint import Fingerprint
from m3_memory.storage.database import Database
from tests.callers import Agent, Hashing, embedder_named

HOUR = 3600


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """An agent in a project; the test runs once per engine."""
    return Agent(database, clock).who(project="atlas")


def write(agent: Agent, content: str, **more: object) -> str:
    """The id of a fact written now; an hour passes after it."""
    memory_id = agent.call("memory_write", **{"content": content, "type": "fact", **more})["id"]
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(HOUR)
    return memory_id


def supersede(agent: Agent, old_id: str, content: str, **more: object) -> str:
    memory_id = agent.call("memory_supersede", old_id=old_id, content=content, **more)["id"]
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(HOUR)
    return memory_id


def found(agent: Agent, query: str) -> list[str]:
    return [hit["content"] for hit in agent.call("memory_search", query=query)["hits"]]


def test_a_chain_of_successors_is_followed_to_the_one_that_is_current(agent: Agent) -> None:
    first = write(agent, "the store is Mango")
    second = supersede(agent, first, "the store is Plum")
    third = supersede(agent, second, "the store is Kiwi")
    assert agent.call("memory_get", id=first)["successor"] == third
    refused = agent.refusal("memory_write", content="the store is Mango", type="fact")
    assert refused["code"] == "superseded_value"
    assert third in refused["message"]
    again = agent.refusal("memory_supersede", old_id=first, content="the store is Fig")
    assert again["code"] == "not_current"
    assert third in again["hint"]
    assert found(agent, "the store is") == ["the store is Kiwi"]


def test_a_restored_memory_is_told_of_another_that_took_the_same_place(agent: Agent) -> None:
    first = write(agent, "the store is Mango")
    second = supersede(agent, first, "the store is Plum")
    agent.call("memory_delete", id=second)
    third = supersede(agent, first, "the store is Kiwi")
    restored = agent.call("memory_restore", id=second)
    assert any(third in said for said in restored["warnings"])
    agent.call("memory_delete", id=third)
    agent.call("memory_delete", id=second)
    assert agent.call("memory_restore", id=second)["warnings"] == []


def test_a_superseded_memory_is_not_made_current_again_by_a_longer_interval(agent: Agent) -> None:
    old = write(agent, "the store is Mango")
    new = supersede(agent, old, "the store is Plum")
    refused = agent.refusal("memory_update", id=old, valid_to="clear")
    assert refused["code"] == "not_current"
    assert new in refused["hint"]
    assert found(agent, "the store is") == ["the store is Plum"]
    agent.call("memory_delete", id=new)
    assert agent.call("memory_update", id=old, valid_to="clear")["changed"] == ["valid_to"]
    assert found(agent, "the store is") == ["the store is Mango"]


def test_a_longer_interval_may_not_make_two_memories_of_one_statement(agent: Agent) -> None:
    ended = write(agent, "tea is at four", valid_from="2020-01-01", valid_to="2021-01-01")
    standing = write(agent, "tea is at four", valid_from="2024-01-01")
    refused = agent.refusal("memory_update", id=ended, valid_to="clear")
    assert refused["code"] == "duplicate_value"
    assert standing in refused["message"]
    assert agent.call("memory_update", id=ended, valid_to="2022-01-01")["changed"] == ["valid_to"]


def test_a_repeated_statement_tells_of_everything_it_brought_that_was_not_taken_over(agent: Agent) -> None:
    memory_id = write(agent, "tea is at four")
    brought = {
        "title": "Tea",
        "metadata": {"room": 2},
        "conversation_id": "planning",
        "valid_from": "2020-01-01",
        "valid_to": "2050-01-01",
        "importance": 0.9,
        "refresh_on": "2030-01-01",
        "refresh_reason": "habits change",
        "source": "minutes",
        "model_id": "m-1",
        "embed_text": "afternoon break",
    }
    said = agent.call("memory_write", content="Tea is at four. ", type="fact", **brought)
    assert (said["id"], said["status"]) == (memory_id, "duplicate")
    assert {sentence.split()[0] for sentence in said["warnings"]} == {*brought, "wording"}
    silent = agent.call("memory_write", content="tea is at four", type="fact")
    assert silent["warnings"] == []


def test_superseding_since_before_the_old_one_began_says_that_it_holds_at_no_time(agent: Agent) -> None:
    old = write(agent, "standup is at nine")
    backdated = agent.call(
        "memory_supersede", old_id=old, content="standup is at ten", valid_from="2025-03-01"
    )
    assert any("holds at no time" in sentence for sentence in backdated["warnings"])
    later = agent.call("memory_supersede", old_id=backdated["id"], content="standup is at noon")
    assert not any("holds at no time" in sentence for sentence in later["warnings"])


def test_a_write_that_reads_do_not_show_yet_says_so(agent: Agent) -> None:
    ahead = agent.call("memory_write", content="tea moves to five", type="fact", valid_from="2090-01-01")
    assert any("2090-01-01" in sentence for sentence in ahead["warnings"])
    assert found(agent, "tea moves") == []


def test_a_start_at_the_end_of_time_is_refused(agent: Agent) -> None:
    never = "9999-12-31T23:59:59.999999Z"
    assert (
        agent.refusal("memory_write", content="x y z", type="fact", valid_from=never)["code"]
        == "invalid_time"
    )


def test_an_empty_answer_tells_a_moment_without_memories_from_a_scope_without_any(agent: Agent) -> None:
    assert "yet" in agent.call("memory_search", query="tea")["empty_because"]
    write(agent, "tea is at four")
    assert "at that moment" in agent.call("memory_search", query="tea", as_of="2020-01-01")["empty_because"]
    assert "filters" in agent.call("memory_search", query="tea", type_filter="plan")["empty_because"]
    assert agent.call("memory_search", query="tea")["hits"]


def test_memories_that_wait_for_their_vector_are_told_of_where_they_are_seen(agent: Agent) -> None:
    write(agent, "tea is at four")
    write(replace(agent, embedder=embedder_named("off")), "coffee is at ten")
    assert any(
        "wait for their vector" in said for said in agent.call("memory_search", query="tea")["degraded"]
    )
    elsewhere = agent.who(project="borealis")
    write(elsewhere, "tea is at six")
    assert elsewhere.call("memory_search", query="tea")["degraded"] == []


def test_asking_for_new_vectors_without_a_model_is_refused(agent: Agent) -> None:
    memory_id = write(agent, "tea is at four")
    without = replace(agent, embedder=embedder_named("off"))
    assert without.refusal("memory_update", id=memory_id, reembed=True)["code"] == "embedder_unavailable"
    assert agent.call("memory_update", id=memory_id, reembed=True)["changed"] == ["vector"]


def test_hits_that_do_not_fit_into_one_answer_are_counted_and_the_rest_are_whole(agent: Agent) -> None:
    for number in range(12):
        write(agent, f"note {number}: " + "tea " * 11_000, embed=False)
    answer = agent.call("memory_search", query="tea", k=12)
    shown = len(answer["hits"])
    assert 1 <= shown < 12
    assert any(said.startswith(f"{12 - shown} more hits") for said in answer["degraded"])
    assert all(len(hit["content"]) > 40_000 for hit in answer["hits"])
    assert not any("more hits" in said for said in agent.call("memory_search", query="tea", k=2)["degraded"])


def test_memories_of_another_model_are_said_to_be_found_by_words_only(agent: Agent) -> None:
    write(agent, "tea is at four")
    other = replace(agent, embedder=Other())
    answer = other.call("memory_search", query="tea")
    assert [hit["content"] for hit in answer["hits"]] == ["tea is at four"]
    assert any("another model" in said for said in answer["degraded"])
    assert agent.call("memory_search", query="tea")["degraded"] == []


class Other(Hashing):
    """The same stub under another name: another embedding space."""

    def get(self, wait_seconds: float = 1.5) -> Embedder:
        return Renamed()


class Renamed(HashingEmbedder):
    @property
    def fingerprint(self) -> Fingerprint:
        return super().fingerprint._replace(name="renamed")


class Meanwhile(Hashing):
    """The stub, at whose first use another writer is faster."""

    def __init__(self, rival: Agent, arguments: dict[str, object]) -> None:
        super().__init__()
        self._rival = rival
        self._arguments = arguments

    def get(self, wait_seconds: float = 1.5) -> Embedder:
        if self._arguments:
            arguments, self._arguments = self._arguments, {}
            self._rival.call("memory_update", **arguments)
        return super().get(wait_seconds)


def test_a_successor_inherits_what_another_writer_changed_at_the_last_moment(agent: Agent) -> None:
    old = write(agent, "tea is at four", title="Tea")
    slow = replace(agent, embedder=Meanwhile(agent, {"id": old, "title": "Tea time"}))
    new = slow.call("memory_supersede", old_id=old, content="tea is at five")["id"]
    assert agent.call("memory_get", id=new)["memory"]["title"] == "Tea time"


def test_a_successor_that_does_not_hold_yet_says_so(agent: Agent) -> None:
    old = write(agent, "tea is at four")
    said = agent.call("memory_supersede", old_id=old, content="tea is at five", valid_from="2090-01-01")
    assert any("2090-01-01" in sentence for sentence in said["warnings"])
    assert found(agent, "tea is at") == ["tea is at four"]
