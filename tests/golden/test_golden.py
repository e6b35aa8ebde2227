"""Two hundred coding memories and sixty questions, without a model: the same answers on both engines.

`memories.tsv` holds a key, a type and a text a line; `queries.tsv` a query and the key of the memory that
must come first: none is named where several would do, and `-` where nothing may be found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from tests.callers import Agent, embedder_named
from tests.stores import PostgresStores, SqliteStores, Stores

HERE = Path(__file__).parent


def _table(name: str) -> list[list[str]]:
    _, *lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


MEMORIES = _table("memories.tsv")
QUERIES = {line[0]: line[1] for line in _table("queries.tsv")}


@dataclass(frozen=True)
class Answer:
    """What a search gave: keys of memories with their scores, best first, and why if there are none."""

    hits: list[tuple[str, float]]
    empty_because: str


def _answers(stores: Stores) -> dict[str, Answer]:
    clock = ManualClock()
    database = open_database(stores.fresh(), clock)
    try:
        agent = Agent(database, clock, embedder=embedder_named("off"))
        keys = {
            agent.call("memory_write", content=said, type=kind)["id"]: key for key, kind, said in MEMORIES
        }
        assert len(keys) == len(MEMORIES)
        found = {query: agent.call("memory_search", query=query, k=20) for query in QUERIES}
        return {
            query: Answer(
                [(keys[hit["id"]], hit["score"]) for hit in answer["hits"]], answer.get("empty_because", "")
            )
            for query, answer in found.items()
        }
    finally:
        database.close()
        stores.discard()


@pytest.fixture(scope="module")
def answers(sqlite_stores: SqliteStores, postgres_stores: PostgresStores) -> Mapping[str, dict[str, Answer]]:
    """The answers of both engines, by the engine's name."""
    return {stores.engine: _answers(stores) for stores in (sqlite_stores, postgres_stores)}


def test_the_golden_set_has_its_size() -> None:
    assert len(MEMORIES) == len({key for key, _, _ in MEMORIES}) == 200
    assert len(QUERIES) == 60
    assert set(QUERIES.values()) <= {"", "-", *(key for key, _, _ in MEMORIES)}


def test_both_engines_give_the_same_memories_in_the_same_order(
    answers: Mapping[str, dict[str, Answer]],
) -> None:
    differing = [query for query in QUERIES if answers["sqlite"][query] != answers["postgres"][query]]
    assert differing == []


@pytest.mark.parametrize("query", [query for query, top in QUERIES.items() if top not in ("", "-")])
def test_the_memory_that_answers_comes_first(answers: Mapping[str, dict[str, Answer]], query: str) -> None:
    assert [key for key, _ in answers["sqlite"][query].hits[:1]] == [QUERIES[query]]


@pytest.mark.parametrize("query", [query for query, top in QUERIES.items() if top == "-"])
def test_where_nothing_is_alike_nothing_is_found(
    answers: Mapping[str, dict[str, Answer]], query: str
) -> None:
    assert answers["sqlite"][query].hits == []
    assert answers["sqlite"][query].empty_because
