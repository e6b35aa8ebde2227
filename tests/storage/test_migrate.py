"""Stores are made, brought up to date, and refused; what was in them stays."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import apsw
import psycopg
import pytest

from m3_memory.errors import RestartNeeded, StoreDamaged, StoreTooNew
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from tests.storage.holder import ROOT, holder
from tests.storage.rows import remember, remembered
from tests.storage.schemas import LATER, SHIPPED, later, opened, shipped
from tests.stores import PostgresStores, SqliteStores, Stores


def _ids(database: Database) -> list[str]:
    with database.read("local") as reader:
        return remembered(reader)


def _write(database: Database, name: str) -> None:
    with database.write("local") as writer:
        remember(writer, name)


def _version(database: Database) -> tuple[object, ...] | None:
    with database.read("local") as reader:
        return reader.row(sql("SELECT schema_version, (SELECT max(number) FROM migrations) FROM stores"))


def test_a_new_store_is_made_and_opened_again(stores: Stores, clock: ManualClock) -> None:
    location = stores.unmade()
    database = open_database(location, clock)
    assert database.migrated == tuple(migration.name for migration in shipped(stores.engine).migrations)
    assert database.backup_path is None
    _write(database, "first")
    database.close()
    again = open_database(location, clock)
    assert again.migrated == ()
    assert _ids(again) == ["first"]
    again.close()


def test_two_stores_have_an_origin_and_a_key_of_their_own(stores: Stores, clock: ManualClock) -> None:
    found: list[tuple[str, bytes]] = []
    for _ in range(2):
        database = open_database(stores.unmade(), clock)
        with database.write("local") as writer:
            found.append((writer.origin, writer.secret_key))
        database.close()
    (one, one_key), (other, other_key) = found
    assert one != other
    assert one_key != other_key


def test_an_older_store_is_brought_up_to_date_with_all_it_holds(stores: Stores, clock: ManualClock) -> None:
    location = stores.fresh()
    database = open_database(location, clock)
    _write(database, "before")
    database.close()
    migrated = opened(location, clock, later(stores.engine))
    assert migrated.migrated == ("later",)
    assert _version(migrated) == (SHIPPED + 1, SHIPPED + 1)
    _write(migrated, "after")
    assert _ids(migrated) == ["before", "after"]
    migrated.close()


def test_a_sqlite_store_is_copied_before_it_is_migrated(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    location = sqlite_stores.fresh()
    database = open_database(location, clock)
    _write(database, "before")
    migrated = opened(location, clock, later("sqlite"))  # another process still has it open
    assert migrated.backup_path is not None
    assert migrated.backup_path.stat().st_mode & 0o077 == 0
    copy = opened(str(migrated.backup_path), clock, shipped("sqlite"))
    assert _version(copy) == (SHIPPED, SHIPPED)
    assert _ids(copy) == ["before"]
    for each in (database, migrated, copy):
        each.close()
    sqlite_stores.discard()


def test_an_old_process_is_told_to_restart_once_another_migrated(stores: Stores, clock: ManualClock) -> None:
    location = stores.fresh()
    old = open_database(location, clock)
    _write(old, "before")
    new = opened(location, clock, later(stores.engine))
    with pytest.raises(RestartNeeded) as refused, old.write("local") as writer:
        remember(writer, "refused")
    assert "restart" in refused.value.hint
    with pytest.raises(RestartNeeded), old.read("local") as reader:
        remembered(reader)
    assert _ids(new) == ["before"]
    for each in (old, new):
        each.close()


def test_older_code_that_may_still_open_a_newer_store_works_on_it(stores: Stores, clock: ManualClock) -> None:
    location = stores.fresh()
    opened(location, clock, later(stores.engine)).close()
    older = open_database(location, clock)
    assert older.migrated == ()
    _write(older, "first")
    assert _ids(older) == ["first"]
    assert _version(older) == (SHIPPED + 1, SHIPPED + 1)
    older.close()


@pytest.mark.case("B83")
def test_a_store_that_is_too_new_is_refused_and_left_alone(stores: Stores, clock: ManualClock) -> None:
    location = stores.fresh()
    newer = opened(location, clock, later(stores.engine, oldest_code_version=SHIPPED + 1))
    _write(newer, "first")
    newer.close()
    folder = Path(location).parent
    before = {path.name: path.read_bytes() for path in folder.iterdir()} if stores.engine == "sqlite" else {}
    with pytest.raises(StoreTooNew) as refused:
        open_database(location, clock)
    assert "upgrade" in refused.value.hint
    assert before == (
        {path.name: path.read_bytes() for path in folder.iterdir()} if stores.engine == "sqlite" else {}
    )
    again = opened(location, clock, later(stores.engine, oldest_code_version=SHIPPED + 1))
    assert _ids(again) == ["first"]
    again.close()


def test_a_copy_that_is_too_new_and_in_another_journal_mode_is_left_alone(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    newer = opened(sqlite_stores.fresh(), clock, later("sqlite", oldest_code_version=SHIPPED + 1))
    path = Path(sqlite_stores.unmade())
    newer.dialect.copy_to(path)
    newer.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew):
        open_database(path, clock)
    assert path.read_bytes() == before
    sqlite_stores.discard()


def test_a_migration_that_was_applied_in_another_form_is_noticed(stores: Stores, clock: ManualClock) -> None:
    location = stores.fresh()
    schema = shipped(stores.engine)
    first, *rest = schema.migrations
    other = replace(schema, migrations=(replace(first, script=first.script + "\n-- changed"), *rest))
    with pytest.raises(StoreDamaged, match="core"):
        opened(location, clock, other)
    opened(location, clock, schema).close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(stores: Stores, clock: ManualClock) -> None:
    location = stores.fresh()
    schema = later(stores.engine)
    broken = replace(LATER, number=SHIPPED + 2, script="CREATE TABLE memory_items (x WHOLE)")
    with pytest.raises(Exception, match="memory_items"):
        opened(location, clock, replace(schema, migrations=(*schema.migrations, broken)))
    database = open_database(location, clock)
    assert _version(database) == (SHIPPED, SHIPPED)
    _write(database, "first")
    assert _ids(database) == ["first"]
    database.close()


def test_another_programs_database_is_left_alone(stores: Stores, clock: ManualClock) -> None:
    location = stores.unmade()
    if stores.engine == "sqlite":
        theirs = apsw.Connection(location)
        theirs.execute("CREATE TABLE jobs (title TEXT)")
        theirs.close()
    else:
        with psycopg.connect(location) as connection:
            connection.execute("CREATE TABLE jobs (title text)")
    with pytest.raises(StoreDamaged, match="did not make"):
        open_database(location, clock)


def test_processes_that_open_a_new_store_at_once_all_find_it_made(stores: Stores, clock: ManualClock) -> None:
    location = stores.unmade()
    with ExitStack() as stack:
        started = [stack.enter_context(holder("stay", location)) for _ in range(4)]
        assert [each.says() for each in started] == ["open"] * 4
    database = open_database(location, clock)
    with database.read("local") as reader:
        counted = reader.row(sql("SELECT count(*), (SELECT count(*) FROM migrations) FROM stores"))
        assert counted == (1, SHIPPED)
    database.close()


@pytest.mark.case("B83")
def test_a_process_killed_while_migrating_leaves_the_old_store_or_the_new_one(
    sqlite_stores: SqliteStores, clock: ManualClock, tmp_path: Path
) -> None:
    old = sqlite_stores.fresh()
    database = open_database(old, clock)
    _write(database, "before")
    database.close()
    versions: list[object] = []
    operation, status = 1, -signal.SIGKILL
    while status == -signal.SIGKILL:
        path = tmp_path / str(operation) / "m3.db"
        path.parent.mkdir()
        shutil.copy(old, path)
        command = [sys.executable, "-m", "tests.storage.schemas", str(path), str(operation)]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        database = open_database(path, clock)
        versions.append(_version(database))
        _write(database, "after")
        assert _ids(database) == ["before", "after"]
        database.close()
        migrated = opened(str(path), clock, later("sqlite"))
        assert _version(migrated) == (SHIPPED + 1, SHIPPED + 1)
        assert _ids(migrated) == ["before", "after"]
        migrated.close()
        operation += 1 + operation // 3
    assert status == 0
    assert versions[0] == (SHIPPED, SHIPPED)
    assert versions[-1] == (SHIPPED + 1, SHIPPED + 1)
    sqlite_stores.discard()


def test_a_process_killed_while_migrating_postgresql_leaves_the_old_store(
    postgres_stores: PostgresStores, clock: ManualClock
) -> None:
    location = postgres_stores.fresh()
    database = open_database(location, clock)
    _write(database, "before")
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'memory_items'::regclass"
    with psycopg.connect(location) as connection:
        connection.execute("LOCK TABLE memory_items IN SHARE MODE")
        command = [sys.executable, "-m", "tests.storage.schemas", location]
        with subprocess.Popen(command, cwd=ROOT) as process:
            while connection.execute(waits).fetchone() != (1,):
                assert process.poll() is None
            process.kill()
    _write(database, "after")
    assert _version(database) == (SHIPPED, SHIPPED)
    assert _ids(database) == ["before", "after"]
    migrated = opened(location, clock, later("postgres"))
    assert _version(migrated) == (SHIPPED + 1, SHIPPED + 1)
    for each in (database, migrated):
        each.close()
    postgres_stores.discard()
