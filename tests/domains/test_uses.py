"""Which memories answers showed is counted a little later, and stands in nobody's way."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing
from typing import Any

import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.kernel.clock import ManualClock
from m3_memory.launch import Launch
from m3_memory.storage.sql import sql
from m3_memory.surfaces.session import Session
from m3_memory.use_counter import THREAD
from tests.stored import stored


def opened(settings: Settings, clock: ManualClock) -> Session:
    return Session(Launch(agent="claude", project="atlas"), App(settings, clock, HostEnvironment()))


@pytest.fixture
def session(settings: Settings, clock: ManualClock) -> Generator[Session]:
    """One agent's connection, in a process that ends with the test."""
    with closing(opened(settings, clock)) as made:
        yield made


def answer(session: Session, tool: str, **arguments: object) -> dict[str, Any]:
    found = session.call(tool, arguments)
    assert found.structured is not None, (tool, arguments, found.text)
    return found.structured


def write(session: Session, content: str) -> str:
    return answer(session, "memory_write", content=content, type="fact")["id"]


def counts(session: Session) -> dict[str, int]:
    return {row["content"]: row.get("use_count", 0) for row in answer(session, "memory_list")["memories"]}


def test_a_memory_that_an_answer_shows_is_counted_and_dated(session: Session, clock: ManualClock) -> None:
    green, black = write(session, "tea is green"), write(session, "coffee is black")
    assert counts(session) == {"tea is green": 0, "coffee is black": 0}
    answer(session, "memory_search", query="tea", search_mode="keyword")
    clock.advance(60)
    answer(session, "memory_get", id=green)
    answer(session, "memory_get", id=black)
    clock.advance(60)
    answer(session, "memory_search_scored", query="tea", search_mode="keyword")
    shown_last = clock.now()
    clock.advance(60)
    session.app.uses.write_now()
    session.app.uses.write_now()
    assert counts(session) == {"tea is green": 3, "coffee is black": 1}
    (row,) = [row for row in answer(session, "memory_list")["memories"] if row["id"] == green]
    assert row["last_used_at"] == shown_last


def test_what_shows_no_memory_to_use_counts_nothing(session: Session) -> None:
    green = write(session, "tea is green")
    answer(session, "memory_suggest", query="tea")
    answer(session, "memory_list")
    answer(session, "memory_history", memory_id=green)
    answer(session, "memory_search", query="tea", type_filter="decision")
    session.call("m3_call", {"tool": "memory_get", "args": {"id": green}, "dry_run": True})
    session.app.uses.write_now()
    assert counts(session) == {"tea is green": 0}


def test_a_process_that_ends_counts_what_it_showed_last(settings: Settings, clock: ManualClock) -> None:
    with closing(opened(settings, clock)) as first:
        green = write(first, "tea is green")
        answer(first, "memory_get", id=green)
    with closing(opened(settings, clock)) as second:
        assert counts(second) == {"tea is green": 1}


def test_counts_move_nothing_else_that_a_store_holds(session: Session, clock: ManualClock) -> None:
    """No event, no store time of anybody, nothing a read starts from."""
    green = write(session, "tea is green")
    session.app.uses.write_now()
    database = session.app.database
    before = stored(database)
    clock.advance(3600)
    for _ in range(3):
        answer(session, "memory_get", id=green)
    session.app.uses.write_now()
    after = stored(database)
    assert counts(session) == {"tea is green": 3}
    owners = [{row for row in rows["owners"] if row[1] != ""} for rows in (before, after)]
    assert owners[0] == owners[1]
    assert {table for table in before if before[table] != after[table]} <= {"owners"}


@pytest.mark.case("B44")
def test_a_store_that_is_being_written_to_delays_no_answer_and_loses_no_count(
    session: Session, settings: Settings
) -> None:
    """Reads go on behind a lock, the counts wait, and are there once it is free."""
    green = write(session, "tea is green")
    database = session.app.database
    with database.write("") as writer:
        writer.rows(sql("SELECT 1"))
        assert answer(session, "memory_get", id=green)["status"] == "current"
        session.app.uses.write_now()
        assert counts(session) == {"tea is green": 0}
    session.app.uses.write_now()
    assert counts(session) == {"tea is green": 1}


def test_two_processes_add_up(settings: Settings, clock: ManualClock) -> None:
    with closing(opened(settings, clock)) as one, closing(opened(settings, clock)) as other:
        green = write(one, "tea is green")
        for session in (one, other, other):
            answer(session, "memory_get", id=green)
        one.app.uses.write_now()
        other.app.uses.write_now()
        assert counts(one) == {"tea is green": 3}


def test_counts_are_written_by_themselves(session: Session) -> None:
    """Without a word from us: after the answer, by a thread that the call started."""
    session.app.uses.pause_seconds = 0.0
    green = write(session, "tea is green")
    answer(session, "memory_get", id=green)
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(10)
    assert counts(session) == {"tea is green": 1}
