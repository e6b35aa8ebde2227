"""What a Database promises, on both engines."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest

from m3_memory.errors import DeadlinePassed, NotFound, StoreBusy, StoreReadOnly
from m3_memory.kernel.clock import FOREVER, ManualClock, SystemClock, later
from m3_memory.storage import open_database
from m3_memory.storage.database import Database
from m3_memory.storage.sql import Sql, sql
from tests.storage.holder import holder
from tests.storage.rows import remember, remembered, store_times
from tests.stores import PostgresStores, SqliteStores, Stores

_REFUSED = (apsw.ConstraintError, psycopg.errors.InsufficientPrivilege, psycopg.errors.RaiseException)


def _ids(database: Database) -> list[str]:
    with database.read("local") as reader:
        return remembered(reader)


def test_a_reader_keeps_its_moment_while_a_writer_commits(database: Database) -> None:
    with database.write("local") as writer:
        remember(writer, "first")
    with database.read("local") as reader:
        assert remembered(reader) == ["first"]
        with database.write("local") as writer:
            remember(writer, "second")
        assert remembered(reader) == ["first"]
    assert _ids(database) == ["first", "second"]


def test_nobody_reads_what_is_not_committed(database: Database) -> None:
    with database.write("local") as writer:
        remember(writer, "first")
        assert remembered(writer) == ["first"]
        assert _ids(database) == []


def test_an_error_leaves_nothing_of_its_transaction(database: Database) -> None:
    def change_its_mind() -> None:
        with database.write("local") as writer:
            remember(writer, "first")
            raise NotFound("no such memory")

    with pytest.raises(NotFound):
        change_its_mind()
    with database.write("local") as writer:
        remember(writer, "second")
    with database.read("local") as reader:
        assert remembered(reader) == ["second"]
        assert reader.rows(sql("SELECT sequence FROM memory_history")) == [(1,)]


def test_a_refused_statement_leaves_nothing_of_its_transaction(database: Database) -> None:
    def write_twice() -> None:
        with database.write("local") as writer:
            remember(writer, "first")
            remember(writer, "first")

    with pytest.raises((apsw.ConstraintError, psycopg.errors.UniqueViolation)):
        write_twice()
    assert _ids(database) == []
    with database.write("local") as writer:
        remember(writer, "first")
    assert _ids(database) == ["first"]


def test_store_times_rise_under_a_clock_that_stands_and_jumps_back(
    database: Database, clock: ManualClock
) -> None:
    start = clock.now()
    for number, moment in enumerate([start, start, later(start, -3_600_000_000), later(start, 10), start]):
        clock.set(moment)
        with database.write("local") as writer:
            remember(writer, f"memory {number}")
    with database.read("local") as reader:
        assert store_times(reader) == [
            start,
            *(later(start, microseconds) for microseconds in (1, 2, 10, 11)),
        ]
        assert reader.now == later(start, 11)


def test_store_times_rise_from_process_to_process(database: Database, store: str, clock: ManualClock) -> None:
    clock.set("2031-01-01T00:00:00.000000Z")
    with database.write("local") as writer:
        remember(writer, "first")
    with holder("stay", store) as other:  # its clock stands in 2026
        assert other.says() == "open"
        other.go_on()
        assert other.says() == "written"
    reopened = open_database(store, ManualClock())
    with reopened.write("local") as writer:
        remember(writer, "last")
    with reopened.read("local") as reader:
        assert store_times(reader) == [later(clock.now(), microseconds) for microseconds in (0, 1, 2)]
    reopened.close()


def test_one_owners_store_time_is_not_anothers(database: Database, clock: ManualClock) -> None:
    clock.set("2031-01-01T00:00:00.000000Z")
    with database.write("ada") as writer:
        remember(writer, "first")
    clock.set("2026-01-01T00:00:00.000000Z")
    with database.write("bob") as writer:
        assert writer.store_time == clock.now()
    with database.read("ada") as reader:
        assert reader.now == "2031-01-01T00:00:00.000000Z"


def test_the_systems_clock_gives_whole_store_times(store: str) -> None:
    database = open_database(store, SystemClock())
    before = SystemClock().now()
    with database.write("local") as writer:
        assert len(writer.store_time) == len(FOREVER)
        assert before <= writer.store_time <= SystemClock().now()
    database.close()


@pytest.mark.case("B44")
def test_a_lock_that_stays_taken_is_reported_and_readers_go_on(store: str, clock: ManualClock) -> None:
    with holder("hold", store) as other:
        assert other.says() == "held"
        database = open_database(store, clock)
        with pytest.raises(StoreBusy) as refused, database.write("local", timeout_seconds=0.05) as writer:
            remember(writer, "refused")
        assert refused.value.hint
        assert _ids(database) == []
        other.go_on()
        assert other.says() == "committed"
        with database.write("local", timeout_seconds=5) as writer:
            remember(writer, "accepted")
    assert _ids(database) == ["held", "accepted"]
    database.close()


def test_a_writer_waits_for_the_writer_before_it(database: Database) -> None:
    order: list[str] = []

    def second() -> None:
        with database.write("local") as writer:
            order.append("second")
            remember(writer, "second")

    with database.write("local") as writer:
        remember(writer, "first")
        thread = threading.Thread(target=second)
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    with database.read("local") as reader:
        assert reader.rows(sql("SELECT sequence FROM memory_history ORDER BY event")) == [(1,), (2,)]


def test_many_threads_lose_no_write(database: Database) -> None:
    def write(name: str) -> None:
        for number in range(10):
            with database.write("local") as writer:
                remember(writer, f"{name} {number}")

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(_ids(database))) == 40
    with database.read("local") as reader:
        assert store_times(reader) == sorted(set(store_times(reader)))


def test_two_owners_write_side_by_side_on_postgresql(
    postgres_stores: PostgresStores, clock: ManualClock
) -> None:
    location = postgres_stores.fresh()
    database = open_database(location, clock)
    with holder("hold", location, "ada") as other:
        assert other.says() == "held"
        with database.write("bob", timeout_seconds=5) as writer:
            remember(writer, "bob's")
        with pytest.raises(StoreBusy), database.write("ada", timeout_seconds=0.05) as writer:
            remember(writer, "ada's")
    assert _ids(database) == ["bob's"]
    database.close()
    postgres_stores.discard()


def test_a_writer_that_was_killed_holds_nothing_up(store: str, clock: ManualClock) -> None:
    database = open_database(store, clock)
    with holder("hold", store) as other:
        assert other.says() == "held"
        other.kill()
        with database.write("local") as writer:
            remember(writer, "next")
    assert _ids(database) == ["next"]
    database.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memory_items SET content = 'other'",
        "DELETE FROM memory_items",
        "UPDATE memory_history SET reason = 'other'",
        "DELETE FROM memory_history",
        "UPDATE memory_validity SET valid_from = '2000-01-01T00:00:00.000000Z'",
        "UPDATE memory_validity SET recorded_to = '2030-01-01T00:00:00.000000Z', closed_by = 1, type = 'x'",
        "DELETE FROM memory_validity",
    ],
)
def test_what_was_said_and_what_happened_is_not_changed_by_us(database: Database, change: str) -> None:
    with database.write("local") as writer:
        remember(writer, "first", "as it was said")
    with pytest.raises(_REFUSED), database.write("local") as writer:
        writer.execute(Sql(change))
    with database.read("local") as reader:
        assert reader.rows(sql("SELECT content FROM memory_items")) == [("as it was said",)]
        assert reader.rows(sql("SELECT type, recorded_to FROM memory_validity")) == [("note", FOREVER)]
        assert reader.rows(sql("SELECT reason FROM memory_history")) == [("",)]


def test_a_belief_is_closed_once(database: Database) -> None:
    with database.write("local") as writer:
        belief = remember(writer, "first")
        close = sql(
            "UPDATE memory_validity SET recorded_to = ?, closed_by = 1 WHERE belief = ?",
            later(writer.store_time),
            belief,
        )
    with database.write("local") as writer:
        assert writer.execute(close) == 1
    with pytest.raises(_REFUSED), database.write("local") as writer:
        writer.execute(close)
    with pytest.raises(_REFUSED), database.write("local") as writer:
        writer.execute(sql("UPDATE memory_validity SET recorded_to = ?, closed_by = NULL", FOREVER))


def _gets_to_drain(database: Database) -> bool:
    with database.exclusive("drain") as mine:
        return mine


def test_only_one_process_at_a_time_does_what_is_exclusive(store: str, clock: ManualClock) -> None:
    database = open_database(store, clock)
    with holder("exclude", store) as other:
        assert other.says() == "True"
        with database.exclusive("drain") as mine:
            assert not mine
        with database.exclusive("something else") as mine:
            assert mine
        other.kill()
        # A server learns of the death a moment later.
        assert any(_gets_to_drain(database) for _ in range(10_000))
    with database.exclusive("drain") as mine, database.exclusive("drain") as again:
        assert (mine, again) == (True, False)
    with database.exclusive("drain") as mine:
        assert mine
    database.close()


def test_a_lock_that_cannot_be_made_is_told_from_one_that_is_taken(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    store = Path(sqlite_stores.fresh())
    store.with_name(f"{store.name}.drain.lock").mkdir()
    with closing(open_database(store, clock)) as database:
        with pytest.raises(StoreReadOnly) as refused:
            _gets_to_drain(database)
        assert "drain.lock" in refused.value.message
        assert _ids(database) == []
    sqlite_stores.discard()


def test_a_read_is_stopped_when_nobody_waits_for_it_any_more(database: Database) -> None:
    left = iter([*[5.0] * 3, *[0.0] * 1_000_000])  # it is given up while its statement runs
    endless = sql(
        "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x > 0) SELECT count(*) FROM n"
    )
    with pytest.raises(DeadlinePassed) as stopped, database.read("local", lambda: min(next(left), 0.1)) as it:
        it.rows(endless)
    assert stopped.value.hint
    with database.read("local") as reader:
        assert reader.rows(sql("SELECT 1")) == [(1,)]
    with database.write("local") as writer:
        remember(writer, "after")
    assert _ids(database) == ["after"]


def test_values_come_back_as_they_went(database: Database) -> None:
    text = "naïve 日本語 👩‍👩‍👧‍👦 \u2028 \x1b %s ? 'quoted' \\"
    with database.write("local") as writer:
        remember(writer, "first", text)
        assert writer.secret_key == writer.rows(sql("SELECT secret_key FROM stores"))[0][0]
        assert len(writer.secret_key) == 32
        writer.execute(sql("INSERT INTO memory_state VALUES (?, ?, ?, ?, ?)", "first", 0.1, True, "", text))
    with database.read("local") as reader:
        assert reader.rows(sql("SELECT content FROM memory_items WHERE content = ?", text)) == [(text,)]
        assert reader.rows(sql("SELECT importance, pinned FROM memory_state")) == [(0.1, 1)]
        assert reader.row(sql("SELECT closed_by FROM memory_validity")) == (None,)
        assert reader.row(sql("SELECT '?', '100%', sum(version), avg(version) FROM memory_items")) == (
            "?",
            "100%",
            1,
            1.0,
        )


def test_a_store_describes_its_engine(
    stores: Stores, sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    database = open_database(stores.fresh(), clock)
    expected = "SQLite 3." if stores is sqlite_stores else "PostgreSQL 1"
    assert database.dialect.describe().startswith(expected)
    with database.read("local") as reader:
        assert database.dialect.damage(reader) == []
    database.close()
