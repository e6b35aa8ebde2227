"""Searching through dispatch, on both engines, with a model and without."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.candidates import SMALL
from m3_memory.storage.database import Database
from m3_memory.surfaces.worker.loop import run_once
from tests.callers import Agent, embedder_named


@pytest.fixture(params=["on", "off"])
def agent(request: pytest.FixtureRequest, database: Database, clock: ManualClock) -> Agent:
    """One agent at a fresh store; the test runs once per engine, with a model and without."""
    return Agent(database, clock, embedder=embedder_named(request.param))


@pytest.fixture
def wordy(database: Database, clock: ManualClock) -> Agent:
    """One agent at a fresh store, without a model."""
    return Agent(database, clock, embedder=embedder_named("off"))


@pytest.fixture
def minded(database: Database, clock: ManualClock) -> Agent:
    """One agent at a fresh store, with a model."""
    return Agent(database, clock, embedder=embedder_named("on"))


def _write(agent: Agent, content: str, **arguments: object) -> str:
    given: dict[str, object] = {"type": "fact", "content": content, **arguments}
    return agent.call("memory_write", **given)["id"]


def _hits(agent: Agent, query: str, **arguments: object) -> list[dict[str, Any]]:
    return agent.call("memory_search", query=query, **arguments)["hits"]


def _found(agent: Agent, query: str, **arguments: object) -> list[str]:
    return [hit["id"] for hit in _hits(agent, query, **arguments)]


# What is typed is words, never syntax


ROW = "the ask-codex step reads src/main.py at 12:30 (GB/s), don't skip `foo::bar`, 40% of col:val_x"


@pytest.mark.case("B01")
@pytest.mark.parametrize(
    "query",
    ["ask-codex", "src/main.py", "don't", "GB/s", "foo::bar", "12:30", "main.py AND", "NEAR(codex)",
     "codex OR", "a OR codex", "col:val_x", '"ask-codex"', "codex*", "^codex", "-codex", "{codex}"],
)  # fmt: skip
def test_the_words_between_punctuation_find_the_memory(agent: Agent, query: str) -> None:
    written = _write(agent, ROW)
    _write(agent, "nothing of the kind stands here")
    assert _found(agent, query)[0] == written


@pytest.mark.case("B01")
@pytest.mark.parametrize("query", [*"\"*()^`'%_\\&|!?~", "{}", "[]", "--", "::", "''"])
def test_punctuation_alone_finds_nothing_and_says_why(agent: Agent, query: str) -> None:
    _write(agent, ROW)
    assert _found(agent, "ask-codex")
    answer = agent.call("memory_search", query=query)
    assert answer["hits"] == []
    assert "no word" in answer["empty_because"]


@pytest.mark.case("B01")
@pytest.mark.parametrize("query", ["AND", "NEAR", "a OR", "-x", "col:value", "x OR *"])
def test_what_an_index_would_take_for_an_operator_is_no_error(agent: Agent, query: str) -> None:
    _write(agent, ROW)
    assert agent.outcome("memory_search", {"query": query}).structured is not None


@pytest.mark.case("B03")
@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("日本語メモを書いた", "日本"),
        ("日本語メモを書いた", "メモ"),
        ("仓库接口每次两百行", "接口"),
        ("배포 전에 확인하세요", "확인"),
        ("ģimene dzīvo Rīgā", "ĢIMENE"),
        ("ģimene dzīvo Rīgā", "riga"),
        ("Привет, мир", "привет"),
        ("\u202bمرحبا بالعالم\u202c", "مرحبا"),
        ("cafe\u0301 au lait", "caf\u00e9"),
        ("caf\u00e9 au lait", "cafe\u0301"),
        ("zero\u200dwidth joiner", "zerowidth"),
        ("a family 👩‍👩‍👧‍👦 came", "👩‍👩‍👧‍👦"),
    ],
)
def test_text_of_any_script_is_found_by_its_words(agent: Agent, content: str, query: str) -> None:
    written = _write(agent, content)
    _write(agent, "something in plain English")
    hits = _hits(agent, query)
    assert hits[0]["id"] == written
    assert hits[0]["content"] == content


# Filters


@pytest.mark.case("B38")
@pytest.mark.parametrize(
    ("narrowing", "expected"),
    [
        ({}, {"plain", "decision", "elsewhere", "other"}),
        ({"type_filter": "decision"}, {"decision"}),
        ({"agent_filter": "codex"}, {"other"}),
        ({"conversation_id": "talk"}, {"elsewhere"}),
        ({"scope": "user"}, {"plain"}),
        ({"as_of": "2025-06-01"}, {"decision"}),
    ],
)
def test_filters_hold_with_a_model_and_without(
    agent: Agent, narrowing: dict[str, object], expected: set[str]
) -> None:
    named = {
        _write(agent, "release plain", scope="user"): "plain",
        _write(agent, "release of a decision", type="decision", valid_from="2025-01-01"): "decision",
        _write(agent, "release elsewhere", conversation_id="talk"): "elsewhere",
        _write(agent.who(agent_id="codex"), "release by another"): "other",
        _write(agent, "release that is over", valid_from="2024-01-01", valid_to="2024-02-01"): "over",
    }
    assert {named[found] for found in _found(agent, "release", **narrowing)} == expected


@pytest.mark.case("B38")
def test_without_a_model_the_answer_says_so_and_scores_differ(wordy: Agent) -> None:
    _write(wordy, "release release release train")
    _write(wordy, "the release of the annual report to the board of the foundation")
    answer = wordy.call("memory_search", query="release train")
    assert any("by words only" in said for said in answer["degraded"])
    first, second = (hit["score"] for hit in answer["hits"])
    assert 1 > first > second > 0


def _bulk(agent: Agent, contents: list[str], **arguments: object) -> None:
    items = [{"type": "fact", "content": content, **arguments} for content in contents]
    told = agent.call("memory_write_bulk", items=items)
    assert (told["created"], told.get("degraded", [])) == (len(items), []), told


@pytest.mark.case("B81")
def test_the_few_inside_a_filter_are_found_among_a_thousand_better_outside(agent: Agent) -> None:
    _bulk(agent, [f"deploy the billing service, number {number}" for number in range(1000)])
    inside = {"type": "decision", "conversation_id": "here", "valid_from": "2025-01-01"}
    weak = {_write(agent, f"a long note {n} that only in passing says deploy", **inside) for n in (1, 2, 3)}
    asked = "deploy the billing service"
    for narrowing in ({"type_filter": "decision"}, {"conversation_id": "here"}, {"as_of": "2025-06-01"}):
        assert set(_found(agent, asked, k=5, **narrowing)) == weak
    assert not weak & set(_found(agent, asked, k=5))


# Large stores choose candidates before they score


def test_above_the_small_size_the_best_are_still_found(agent: Agent) -> None:
    _bulk(
        agent, [f"service {number} restarts every night at {number % 24} o'clock" for number in range(SMALL)]
    )
    wanted = _write(agent, "the gizmo-router restarts when the certificate changes")
    assert _found(agent, "gizmo-router restarts", k=3)[0] == wanted
    assert _found(agent, "when does the gizmo router restart", k=3)[0] == wanted
    assert len(_found(agent, "restarts at night", k=100)) == 100


def test_an_old_memory_is_not_a_candidate_in_a_large_store(agent: Agent) -> None:
    _bulk(agent, [f"service {number} restarts every night" for number in range(SMALL)])
    old = _write(agent, "the quorum is five")
    new = agent.call("memory_supersede", old_id=old, content="the quorum is seven")["id"]
    assert new in _found(agent, "quorum")
    assert old not in _found(agent, "quorum")


# Long texts


def _long(last: str) -> str:
    filler = "The nightly job copies every table to the archive and checks the sums of all its columns. "
    return (filler * 600)[: 50_000 - len(last)] + last


def test_the_last_sentence_of_a_long_text_is_found_by_its_words(agent: Agent) -> None:
    written = _write(agent, _long("Ask Zebulon about the marzipan key."))
    _write(agent, "The archive of the nightly job is checked by another table.")
    hits = _hits(agent, "who has the marzipan key")
    assert hits[0]["id"] == written
    assert hits[0]["content"].endswith("marzipan key.")


def test_the_last_sentence_of_a_long_text_is_found_by_meaning_after_the_job(app: App) -> None:
    agent = Agent(app.database, app.clock)
    written = agent.call("memory_write", type="fact", content=_long("zebulon keeps marzipan " * 40))
    assert written["vector"] == "pending"
    _write(agent, "zebulon likes tea")
    asked: dict[str, object] = {"search_mode": "vector"}
    assert written["id"] not in _found(agent, "keeps marzipan", **asked)
    assert run_once(app)["waiting"] == 0
    assert _found(agent, "keeps marzipan", **asked)[0] == written["id"]


# Ways of searching


def test_by_meaning_alone_only_what_is_near_is_found(minded: Agent) -> None:
    near = _write(minded, "alpha beta gamma")
    _write(minded, "alpha delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau")
    (first, *_) = _hits(minded, "alpha beta gamma", search_mode="vector")
    assert first["id"] == near
    assert "meaning 1.00" in first["why"]
    assert _found(minded, "alpha beta gamma", search_mode="semantic")[0] == near


def test_by_words_alone_what_is_only_near_is_not_found(minded: Agent) -> None:
    written = _write(minded, "alpha", embed_text="omega psi chi")
    assert _found(minded, "omega psi", search_mode="vector") == [written]
    assert _found(minded, "omega psi", search_mode="hybrid") == [written]
    assert _found(minded, "omega psi", search_mode="keyword") == []


def test_a_memory_without_a_vector_is_found_by_its_words(minded: Agent) -> None:
    unembedded = _write(minded, "alpha beta", embed=False)
    _write(minded, "alpha beta gamma delta")
    assert unembedded in _found(minded, "alpha beta")
    assert unembedded not in _found(minded, "alpha beta", search_mode="vector")


def test_by_meaning_without_any_vector_falls_back_to_words_and_says_so(minded: Agent) -> None:
    written = _write(minded, "alpha beta", embed=False)
    answer = minded.call("memory_search", query="alpha", search_mode="vector")
    assert [hit["id"] for hit in answer["hits"]] == [written]
    assert any("by words only" in said for said in answer["degraded"])


def test_the_past_is_searched_by_meaning_too(minded: Agent, clock: ManualClock) -> None:
    old = _write(minded, "the quorum is five", valid_from="2025-01-01")
    before = clock.now()
    clock.advance(60)
    new = minded.call("memory_supersede", old_id=old, content="the quorum is seven", valid_from="2025-06-01")[
        "id"
    ]
    for mode in ("vector", "keyword", "hybrid"):
        assert _found(minded, "quorum", search_mode=mode) == [new]
        assert _found(minded, "quorum", search_mode=mode, as_of="2025-03-01") == [old]
        assert _found(minded, "quorum", search_mode=mode, known_at=before) == [old]


# Scores and order


def test_scores_run_from_one_to_nothing_best_first(agent: Agent) -> None:
    _bulk(
        agent, ["alpha beta", "alpha beta gamma delta", "alpha with many other words around it", "beta gamma"]
    )
    for mode in ("hybrid", "keyword", "vector"):
        scores = [hit["score"] for hit in _hits(agent, "alpha beta", search_mode=mode)]
        assert len(scores) > 2
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
        assert len(set(scores)) > 1


def test_of_two_that_fit_the_same_the_newer_comes_first(agent: Agent) -> None:
    first, second, third = (_write(agent, "alpha beta", type=kind) for kind in ("fact", "decision", "note"))
    assert _found(agent, "alpha") == [third, second, first]


def test_what_others_hold_changes_nothing_for_a_small_store(agent: Agent) -> None:
    _bulk(agent, ["alpha beta", "alpha gamma", "beta gamma delta"])
    before = _hits(agent, "alpha beta")
    _bulk(agent.who(project="elsewhere"), [f"alpha of another {number}" for number in range(20)])
    assert _hits(agent, "alpha beta") == before


def test_a_hit_says_why_it_was_found(minded: Agent) -> None:
    _write(minded, "deploy the billing service")
    (hit,) = _hits(minded, "billing deploys")
    assert "words" in hit["why"]
    assert "bill" in hit["why"]
    assert "meaning" in hit["why"]


def test_an_empty_answer_tells_the_filters_from_the_store(agent: Agent) -> None:
    assert "no memory in this scope" in agent.call("memory_search", query="alpha")["empty_because"]
    _write(agent, "alpha")
    answer = agent.call("memory_search", query="alpha", type_filter="decision")
    assert "filters" in answer["empty_because"]
    elsewhere = replace(agent, embedder=embedder_named("off"))
    assert "near the query" in elsewhere.call("memory_search", query="omega")["empty_because"]


# Two sides of a conflict


def test_the_newer_of_two_that_contradict_each_other_stands_before_the_older(
    minded: Agent, clock: ManualClock
) -> None:
    """Until a person decides; also where the words of the older are nearer to the question."""
    asked = replace(minded, contradiction="propose")
    old = _write(asked, "The gateway listens on port 8080.")
    _write(asked, "The printer stands in the cellar.")
    clock.advance(60)
    newer = asked.call("memory_write", type="fact", content="The gateway listens on port 9090.")
    assert newer["status"] == "disputed"
    query = "The gateway listens on port 8080."
    first, second, *_ = _hits(asked, query)
    assert ([first["id"], second["id"]], first["score"]) == ([newer["id"], old], second["score"])
    assert (first["disputed_by"], second["disputed_by"]) == ([old], [newer["id"]])
    for count in range(1, 4):
        assert _found(asked, query, k=count) == _found(asked, query, k=3)[:count]


def test_of_two_that_stand_beside_each_other_the_better_stands_first(
    minded: Agent, clock: ManualClock
) -> None:
    """The control: without a conflict age decides nothing."""
    off = replace(minded, contradiction="off")
    old = _write(off, "The gateway listens on port 8080.")
    clock.advance(60)
    _write(off, "The gateway listens on port 9090.")
    assert _found(off, "The gateway listens on port 8080.")[0] == old


# What stands around a turn


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_a_turn_is_shown_for_its_neighbour_and_not_for_standing_in_a_conversation(
    minded: Agent, mode: str
) -> None:
    turns = [
        _write(minded, said, type="conversation", conversation_id="talk")
        for said in ("alpha beta gamma", "delta epsilon", "zeta eta", "theta iota")
    ]
    assert set(_found(minded, "alpha beta gamma", search_mode=mode)) == set(turns[:2])
    assert _found(minded, "omega psi", search_mode=mode) == []
