"""The chain of a history: whatever was done to it from outside is found."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import apsw
import psycopg
import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import history, open_database
from m3_memory.storage.database import Database
from m3_memory.storage.locks import file_lock
from m3_memory.storage.sql import sql
from tests.storage.rows import owner_number, remember
from tests.stores import PostgresStores, SqliteStores

Meddle = Callable[[str], None]


@pytest.fixture
def meddle(store: str) -> Meddle:
    """Changes the store as its owner could, past our guards."""

    def on_sqlite(statement: str) -> None:
        connection = apsw.Connection(store)
        guards = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in guards:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        connection.close()

    def on_postgres(statement: str) -> None:
        with psycopg.connect(store) as connection:
            connection.execute(statement.encode())

    return on_postgres if store.startswith("postgresql://") else on_sqlite


def _write(database: Database, *memories: str, user_id: str = "local") -> None:
    for memory in memories:
        with database.write(user_id) as writer:
            remember(writer, memory, f"what {memory} says")


def _broken(database: Database, known_head: tuple[int, str] | None = None) -> history.Break | None:
    with database.read("local") as reader:
        return history.verify(reader, owner_number(reader, "local"), known_head)


@pytest.fixture
def chain(database: Database) -> Database:
    """A store with two owners' histories, interleaved."""
    _write(database, "a", "b")
    _write(database, "bob's", user_id="bob")
    _write(database, "c", "d")
    assert _broken(database) is None
    return database


@pytest.mark.parametrize(
    "column", ["kind", "memory_id", "store_time", "reason", "digest_after", "operation_id"]
)
def test_a_changed_event_is_found(chain: Database, meddle: Meddle, column: str) -> None:
    meddle(f"UPDATE memory_history SET {column} = 'other' WHERE memory_id = 'b'")
    assert _broken(chain) == history.Break(2, "an event was changed after it was written")


def test_an_event_that_was_taken_out_is_found(chain: Database, meddle: Meddle) -> None:
    meddle("DELETE FROM memory_history WHERE memory_id = 'c'")
    assert _broken(chain) == history.Break(3, "an event is missing")


def test_an_event_taken_out_with_the_others_renumbered_is_found(chain: Database, meddle: Meddle) -> None:
    meddle("DELETE FROM memory_history WHERE memory_id = 'c'")
    meddle("UPDATE memory_history SET sequence = 3 WHERE memory_id = 'd'")
    assert _broken(chain) == history.Break(3, "an event was changed after it was written")


def test_a_history_that_was_cut_is_found(chain: Database, meddle: Meddle) -> None:
    meddle("DELETE FROM memory_history WHERE memory_id = 'd'")
    broken = _broken(chain)
    assert broken is not None
    assert broken.sequence == 4


def test_a_history_cut_with_its_record_is_found_by_the_head_beside_the_store(
    store: str, meddle: Meddle, clock: ManualClock, tmp_path: Path
) -> None:
    database = open_database(store, clock, heads=tmp_path / "heads")
    _write(database, "a", "b")
    ((name, head),) = database.heads.read().items()
    assert name.endswith("/local")
    assert head[0] == 2
    assert _broken(database, head) is None
    meddle("DELETE FROM memory_history WHERE memory_id = 'b'")
    meddle("UPDATE owners SET last_sequence = 1, last_hash = (SELECT hash FROM memory_history)")
    assert _broken(database) is None
    assert _broken(database, head) == history.Break(
        2, "the head noted beside the store is not in its history"
    )
    _write(database, "another b")
    assert database.heads.read()[name] == head  # forward only
    assert _broken(database, head) is not None
    database.close()


def test_writing_on_after_a_rollback_does_not_hide_it(
    store: str, meddle: Meddle, clock: ManualClock, tmp_path: Path
) -> None:
    """However many writes come after; taking the file of heads away is what accepts the older store."""
    database = open_database(store, clock, heads=tmp_path / "heads")
    _write(database, "a", "b")
    ((name, head),) = database.heads.read().items()
    meddle("DELETE FROM memory_history WHERE memory_id = 'b'")
    meddle("UPDATE owners SET last_sequence = 1, last_hash = (SELECT hash FROM memory_history)")
    _write(database, "c", "d", "e")
    assert database.heads.read()[name] == head
    assert _broken(database, database.heads.read()[name]) is not None
    (tmp_path / "heads").unlink()
    _write(database, "f")
    assert database.heads.read()[name][0] == 5
    assert _broken(database, database.heads.read()[name]) is None
    database.close()


def test_a_history_of_another_with_equal_events_is_found_by_the_head(database: Database) -> None:
    _write(database, "a")
    assert _broken(database, (1, "0" * 64)) is not None


def test_a_long_history_is_walked_to_its_end(database: Database, meddle: Meddle) -> None:
    with database.write("local") as writer:
        for number in range(2_500):
            history.append(writer, history.Event("create", f"memory {number}", 1, 1, "test", "operation"))
    assert _broken(database) is None
    meddle("UPDATE memory_history SET reason = 'other' WHERE sequence = 2400")
    assert _broken(database) == history.Break(2400, "an event was changed after it was written")


def test_an_event_keeps_no_text_of_the_memory(database: Database) -> None:
    with database.write("local") as writer:
        remember(writer, "a", "a passphrase about plums")
    with database.read("local") as reader:
        (event,) = reader.rows(sql("SELECT * FROM memory_history"))
        (item,) = reader.rows(sql("SELECT * FROM memory_items"))
    assert any("plums" in str(value) for value in item)
    assert not any("plums" in str(value) for value in event)


@contextmanager
def _reopened(location: str, clock: ManualClock) -> Generator[Database]:
    database = open_database(location, clock)
    try:
        yield database
    finally:
        database.close()


def test_a_sqlite_store_notes_its_heads_beside_itself(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    location = sqlite_stores.fresh()
    with _reopened(location, clock) as database:
        _write(database, "a")
        _write(database, "bob's", user_id="bob")
    with _reopened(location, clock) as database:
        heads = database.heads.read()
        assert sorted(name.rpartition("/")[2] for name in heads) == ["bob", "local"]
    Path(f"{location}.head").write_text("not what it was")
    with _reopened(location, clock) as database:
        assert database.heads.read() == {}
        _write(database, "b")
        assert [head[0] for head in database.heads.read().values()] == [2]
    sqlite_stores.discard()


def test_a_postgresql_store_notes_no_head_unless_told_where(
    postgres_stores: PostgresStores, clock: ManualClock
) -> None:
    with _reopened(postgres_stores.fresh(), clock) as database:
        _write(database, "a")
        assert database.heads.read() == {}
    postgres_stores.discard()


def test_a_commit_waits_for_the_heads_but_not_for_ever(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    location = sqlite_stores.fresh()
    with _reopened(location, clock) as database:
        _write(database, "a")
        with file_lock(Path(f"{location}.head.lock")) as held:
            assert held
            _write(database, "b")
            assert [head[0] for head in database.heads.read().values()] == [1]
        _write(database, "c")
        assert [head[0] for head in database.heads.read().values()] == [3]
    sqlite_stores.discard()
