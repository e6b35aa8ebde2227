"""Named stores: declared in the settings, opened by whoever asks first, searched together on one scale."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.declared_stores import DeclaredStore
from m3_memory.errors import ReadOnlyCall, StoreReadOnly
from m3_memory.kernel.clock import ManualClock
from m3_memory.launch import Launch
from m3_memory.surfaces.session import Session
from m3_memory.surfaces.worker.loop import run_once, work_once
from tests.stores import Stores

TEXTS = (
    "the lighthouse keeper paints the railing in spring",
    "the lighthouse lamp is electric since 1931",
    "the ferry takes bicycles",
    "the harbour master has the keys of the lighthouse",
    "bicycles are repaired behind the market",
    "the market closes when the lamp of the harbour is lit",
)


@pytest.fixture
def declared(settings: Settings, stores: Stores) -> Settings:
    """Settings with two more stores of the same engine, work and old, which may only be read."""
    named = (DeclaredStore("old", stores.fresh(), read_only=True), DeclaredStore("work", stores.fresh()))
    return replace(settings, stores=named)


@pytest.fixture
def session(declared: Settings, clock: ManualClock) -> Generator[Session]:
    """One agent's connection to the main store and the named ones."""
    with closing(opened(declared, clock)) as made:
        yield made


def opened(settings: Settings, clock: ManualClock, store: str = "") -> Session:
    asked = Launch(agent="claude", project="atlas", store=store)
    return Session(asked, App(settings, clock, HostEnvironment(), asked.store))


def answer(session: Session, tool: str, **arguments: object) -> dict[str, Any]:
    found = session.call(tool, arguments)
    assert found.structured is not None, (tool, arguments, found.text)
    return found.structured


def refusal(session: Session, tool: str, **arguments: object) -> str:
    found = session.call(tool, arguments)
    assert found.error is not None, (tool, arguments, found.structured)
    assert found.error.hint
    return found.error.code


def write(session: Session, content: str, store: str = "") -> str:
    return answer(session, "memory_write", content=content, type="fact", store=store)["id"]


def found_in(session: Session, query: str, **arguments: object) -> list[str]:
    return [hit["content"] for hit in answer(session, "memory_search", query=query, **arguments)["hits"]]


def writable(settings: Settings) -> Settings:
    """The same stores, all of which may be written."""
    return replace(settings, stores=tuple(replace(store, read_only=False) for store in settings.stores))


def test_what_is_written_to_a_named_store_is_there_and_nowhere_else(session: Session) -> None:
    at_home, at_work = write(session, "tea is green"), write(session, "tea is black", "work")
    assert found_in(session, "tea") == ["tea is green"]
    assert found_in(session, "tea", store="main") == ["tea is green"]
    assert found_in(session, "tea", store="work") == ["tea is black"]
    assert refusal(session, "memory_get", id=at_work) == "not_found"
    assert refusal(session, "memory_get", id=at_home, store="work") == "not_found"
    assert answer(session, "memory_get", id=at_work, store="work")["memory"]["content"] == "tea is black"


def test_a_call_inside_a_call_is_at_the_outer_ones_store_unless_it_names_another(session: Session) -> None:
    write(session, "tea is green")
    write(session, "tea is black", "work")
    inner: dict[str, Any] = {"tool": "memory_search", "args": {"query": "tea"}}
    named = {"tool": "memory_search", "args": {"query": "tea", "store": "main"}}
    batch = answer(session, "m3_call", batch=[inner, named], store="work")["batch"]
    assert [entry["result"]["hits"][0]["content"] for entry in batch] == ["tea is black", "tea is green"]


@pytest.mark.parametrize("store", ["harbour", "Work", "work ", "../work", "*"])
def test_a_store_that_is_not_declared_is_unknown_and_those_there_are_are_named(
    session: Session, store: str
) -> None:
    found = session.call("memory_search", {"query": "tea", "store": store})
    assert found.error is not None
    assert (found.error.code, "main, old, work" in found.error.hint) == ("unknown_store", True)


def test_a_launch_names_the_store_of_calls_that_name_none(declared: Settings, clock: ManualClock) -> None:
    with closing(opened(declared, clock, store="work")) as at_work:
        write(at_work, "tea is black")
        assert found_in(at_work, "tea", store="main") == []
        assert found_in(at_work, "tea") == ["tea is black"]
    with closing(opened(declared, clock)) as at_home:
        assert found_in(at_home, "tea", store="work") == ["tea is black"]


def test_a_read_only_store_answers_reads_and_refuses_writes(declared: Settings, clock: ManualClock) -> None:
    with closing(opened(writable(declared), clock)) as before:
        memory_id = write(before, "tea is white", "old")
    with closing(opened(declared, clock)) as session:
        assert found_in(session, "tea", store="old") == ["tea is white"]
        assert refusal(session, "memory_write", content="a", type="fact", store="old") == "store_read_only"
        assert refusal(session, "memory_delete", id=memory_id, store="old") == "store_read_only"
        assert answer(session, "memory_get", id=memory_id, store="old")["status"] == "current"
        with pytest.raises(StoreReadOnly):
            run_once(session.app, store="old")


def test_a_read_only_store_that_is_not_there_is_not_made(
    settings: Settings, clock: ManualClock, stores: Stores
) -> None:
    place = stores.unmade()
    named = replace(settings, stores=(DeclaredStore("old", place, read_only=True),))
    with closing(opened(named, clock)) as session:
        assert refusal(session, "memory_search", query="tea", store="old") == "no_store"
        assert found_in(session, "tea") == []
    assert place.startswith("postgresql://") or not Path(place).exists()


def test_what_waits_in_a_named_store_is_worked_off(declared: Settings, clock: ManualClock) -> None:
    late = replace(declared, embedder="off")
    with closing(opened(late, clock)) as without:
        write(without, "tea is black", "work")
        write(without, "tea is green")
    with closing(opened(declared, clock)) as session:
        told = work_once(session.app)
        assert (told["done"], told["stores"]["work"]["done"], "old" in told["stores"]) == (1, 1, False)
        assert work_once(session.app)["stores"]["work"]["waiting"] == 0
        arguments = {"query": "tea is black", "search_mode": "vector", "store": "work"}
        assert found_in(session, **arguments) == ["tea is black"]


def scores(answered: dict[str, Any]) -> list[tuple[str, float]]:
    return [(hit["content"], hit["score"]) for hit in answered["hits"]]


@pytest.mark.parametrize("embedder", ["hashing", "off"])
@pytest.mark.parametrize("query", ["lighthouse lamp", "who repairs bicycles", "keys of the market"])
def test_stores_searched_together_score_as_if_they_were_one(
    declared: Settings, clock: ManualClock, stores: Stores, query: str, embedder: Any
) -> None:
    """A rare word of one store is no rarer for that; one store with all of it gives the very same scores."""
    apart = replace(writable(declared), embedder=embedder)
    engine = (
        {"database_url": stores.fresh()}
        if stores.engine == "postgres"
        else {"home": Path(stores.fresh()).parent}
    )
    whole = replace(Settings(declared.home), embedder=embedder, **engine)
    with closing(opened(apart, clock)) as several, closing(opened(whole, clock)) as one:
        for number, content in enumerate(TEXTS):
            write(several, content, ("main", "old", "work")[number % 3])
            write(one, content)
        together = answer(several, "memory_search_multi_db", query=query, k=10)
        assert sorted(scores(together)) == sorted(scores(answer(one, "memory_search", query=query, k=10)))
        assert len({hit["store"] for hit in together["hits"]}) > 1
        ranked = [hit["score"] for hit in together["hits"]]
        assert ranked == sorted(ranked, reverse=True)
        for hit in together["hits"]:
            assert answer(several, "memory_get", id=hit["id"], store=hit["store"])["status"] == "current"


def test_only_the_stores_that_are_named_are_searched(session: Session) -> None:
    write(session, "tea is green")
    write(session, "tea is black", "work")
    told = answer(session, "memory_search_multi_db", query="tea", stores=" work, work")
    assert (told["stores"], [hit["store"] for hit in told["hits"]]) == (["work"], ["work"])
    told = answer(session, "memory_search_multi_db", query="tea", databases="main")
    assert (told["stores"], [hit["store"] for hit in told["hits"]]) == (["main"], ["main"])
    told = answer(session, "memory_search_multi_db", query="tea")
    assert (told["stores"], told["unreached"]) == (["main", "old", "work"], [])
    assert sorted(hit["store"] for hit in told["hits"]) == ["main", "work"]
    assert refusal(session, "memory_search_multi_db", query="tea", databases="/etc/passwd") == "unknown_store"
    assert (
        refusal(session, "memory_search_multi_db", query="tea", stores="work", databases="main")
        == "invalid_argument"
    )


def test_a_store_that_cannot_be_reached_is_said_and_the_others_answer(
    declared: Settings, clock: ManualClock, tmp_path: Path
) -> None:
    lost = DeclaredStore("lost", str(tmp_path / "gone" / "m3.db"))
    nowhere = DeclaredStore("nowhere", "postgresql://127.0.0.1:1/none")
    settings = replace(declared, stores=(*declared.stores, lost, nowhere))
    with closing(opened(settings, clock)) as session:
        write(session, "tea is green")
        found = session.call("memory_search_multi_db", {"query": "tea"})
        told = found.structured
        assert told is not None
        assert [hit["content"] for hit in told["hits"]] == ["tea is green"]
        assert {each["store"]: each["code"] for each in told["unreached"]} == {
            "lost": "store_unreachable",
            "nowhere": "store_unreachable",
        }
        assert "no answer from lost, nowhere" in found.text
        assert refusal(session, "memory_search_multi_db", query="tea", stores="lost") == "store_unreachable"
        assert not (tmp_path / "gone").exists()


def test_nothing_found_anywhere_is_told_with_its_reason(session: Session) -> None:
    because = answer(session, "memory_search_multi_db", query="tea")["empty_because"]
    assert because == "there is no memory in this scope yet"
    write(session, "coffee is brown", "work")
    because = answer(session, "memory_search_multi_db", query="tea", search_mode="keyword")["empty_because"]
    assert because == "no memory holds a word or meaning near the query"
    told = answer(session, "memory_search_multi_db", query="???")
    assert (told["hits"], told["empty_because"]) == ([], "the query holds no word to search for")


def test_the_stores_are_told_to_who_asks_for_help(session: Session) -> None:
    assert "main, old, work" in answer(session, "m3_help_capabilities", query="search")["text"]


def test_places_are_kept_apart_in_every_store(declared: Settings, clock: ManualClock) -> None:
    """Case B32: what another project wrote to a named store is found from there, and by nobody else."""
    app = App(declared, clock, HostEnvironment())
    with closing(app):
        here, there = (Session(Launch(agent="claude", project=name), app) for name in ("atlas", "harbour"))
        memory_id = write(there, "tea is black", "work")
        assert answer(here, "memory_search_multi_db", query="tea")["hits"] == []
        assert answer(here, "memory_list", store="work")["total"] == 0
        assert refusal(here, "memory_get", id=memory_id, store="work") == "not_found"
        (hit,) = answer(there, "memory_search_multi_db", query="tea")["hits"]
        assert (hit["id"], hit["store"]) == (memory_id, "work")


def test_a_reading_call_writes_to_no_store(declared: Settings, clock: ManualClock) -> None:
    with closing(App(declared, clock, HostEnvironment())) as app:
        caller, _ = app.caller_for(Launch(agent="claude"))
        reading = app.context(caller).reading()
        for name in app.stores.names:
            with pytest.raises(ReadOnlyCall), reading.at(name).write():
                pass
        with app.context(caller).at("work").write() as writer:
            assert writer.owner
