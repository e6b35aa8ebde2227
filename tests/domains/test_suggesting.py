"""Previews and rows: the parts of a score, what a search leaves out, and all that is stored of a hit."""

from __future__ import annotations

import pytest

from m3_memory.inference.source import NoEmbedder
from m3_memory.kernel.clock import ManualClock
from m3_memory.kernel.fusion import alone, calibrated
from m3_memory.storage.database import Database
from tests.callers import Agent


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """A caller at a fresh store; the test runs once per engine."""
    return Agent(database, clock)


def wrote(agent: Agent, content: str, **more: object) -> str:
    return agent.call("memory_write", **({"content": content, "type": "fact"} | more))["id"]


def ferries(agent: Agent) -> list[str]:
    texts = ("the ferry leaves at noon", "the ferry carries bicycles", "the night train stops in Vevey")
    return [wrote(agent, text) for text in texts]


def test_a_preview_gives_the_hits_of_the_search_and_the_parts_of_their_scores(agent: Agent) -> None:
    ferries(agent)
    preview = agent.call("memory_suggest", query="ferry at noon", k=2)
    found = agent.call("memory_search", query="ferry at noon", k=2)["hits"]
    assert [(hit["id"], hit["score"]) for hit in preview["hits"]] == [
        (hit["id"], hit["score"]) for hit in found
    ]
    for hit in preview["hits"]:
        assert hit["score"] == pytest.approx(calibrated(alone(hit["parts"])), abs=0.0005)
    assert [hit["rank"] for hit in preview["hits"]] == [1, 2]
    assert [hit["by_words"] for hit in preview["hits"]] == [1, 2]
    assert preview["hits"][0]["terms"] == ["ferri", "noon"]
    assert sum(term["weight"] for term in preview["terms"]) == pytest.approx(1, abs=0.001)
    assert {term["term"]: term["documents"] for term in preview["terms"]} == {"ferri": 2, "noon": 1}


def test_a_preview_says_where_one_memory_stands(agent: Agent) -> None:
    noon, bicycles, train = ferries(agent)
    about = agent.call("memory_suggest", query="ferry at noon", k=1, explain_id=bicycles)["about"]
    assert (about["found"]["id"], about["found"]["rank"], about["hidden_by"]) == (bicycles, 2, [])
    words = agent.call("memory_suggest", query="ferry", search_mode="keyword", explain_id=train)["about"]
    assert ("found" in words, words["hidden_by"], "neither a word" in words["because"]) == (False, [], True)
    filtered = agent.call("memory_suggest", query="ferry", type_filter="note", explain_id=noon)["about"]
    assert filtered["hidden_by"] == ["narrowing"]


def test_a_preview_says_what_hides_a_memory(agent: Agent, clock: ManualClock) -> None:
    noon, bicycles, train = ferries(agent)
    clock.advance(1)
    agent.call("memory_supersede", old_id=noon, content="the ferry leaves at one")
    agent.call("memory_delete", id=bicycles)
    tagged = wrote(agent, "the ferry of the trial", variant="trial")
    for memory_id, name in ((noon, "belief"), (bicycles, "belief"), (tagged, "variant")):
        about = agent.call("memory_suggest", query="ferry", explain_id=memory_id)["about"]
        assert (about["hidden_by"], bool(about["because"]), "found" in about) == ([name], True, False)
    stranger = agent.who(project="elsewhere")
    assert stranger.refusal("memory_suggest", query="ferry", explain_id=train)["code"] == "not_found"


def test_a_preview_counts_what_would_be_among_the_hits(agent: Agent, database: Database) -> None:
    """Candidates, and scratchpad memories, of the caller's own places alone."""
    ferries(agent)
    wrote(agent, "the ferry whistles", type="scratchpad")
    wrote(agent, "the tram whistles", type="scratchpad")
    wrote(agent.who(project="elsewhere"), "the ferry elsewhere whistles", type="scratchpad")
    arguments = {"query": "ferry whistles", "search_mode": "keyword"}
    assert agent.call("memory_suggest", **arguments)["hidden"] == [{"because": "scratchpad", "count": 2}]
    assert agent.call("memory_suggest", **arguments, include_scratchpad=True)["hidden"] == []


def test_a_preview_without_a_model_or_a_word_says_so(agent: Agent) -> None:
    ferries(agent)
    without = Agent(agent.database, agent.clock, agent.caller, NoEmbedder())
    preview = without.call("memory_suggest", query="ferry")
    assert (len(preview["hits"]), preview["matching"]) == (2, 2)
    assert any("by words only" in sentence for sentence in preview["degraded"])
    nothing = agent.call("memory_suggest", query="???")
    assert (nothing["hits"], nothing["empty_because"]) == ([], "the query holds no word to search for")


def test_rows_have_all_that_is_stored_and_the_order_of_the_search(agent: Agent) -> None:
    wrote(agent, "the ferry leaves at noon", title="Noon", metadata={"quay": 4}, importance=0.9)
    ferries(agent)
    rows = agent.call("memory_search_scored", query="ferry noon")["hits"]
    found = agent.call("memory_search", query="ferry noon")["hits"]
    assert [(row["memory"]["id"], row["score"], row["why"]) for row in rows] == [
        (hit["id"], hit["score"], hit["why"]) for hit in found
    ]
    memory = rows[0]["memory"]
    assert (memory["metadata"], memory["importance"], memory["title"]) == ({"quay": 4}, 0.9, "Noon")


def test_rows_without_a_query_are_the_newest_within_the_filters(agent: Agent, clock: ManualClock) -> None:
    for number in range(4):
        clock.advance(1)
        wrote(agent, f"harbour {number}", type="note" if number % 2 else "fact")
    rows = agent.call("memory_search_scored", k=2, type_filter="note")["hits"]
    assert [(row["memory"]["content"], row["score"]) for row in rows] == [("harbour 3", 0), ("harbour 1", 0)]
    assert "no memory" in agent.call("memory_search_scored", type_filter="task")["empty_because"]


def test_a_long_text_comes_whole_as_a_row(agent: Agent) -> None:
    long = "ferry " * 2_000 + "end"
    wrote(agent, long)
    (row,) = agent.call("memory_search_scored", query="ferry")["hits"]
    assert (row["memory"]["content"], "cut_from" in row["memory"]) == (long, False)
