"""Backups of a store that is in use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import apsw
import pytest

from m3_memory.errors import Refused, StoreUnreachable, Unavailable
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.backup import back_up
from m3_memory.storage.database import Database
from m3_memory.storage.sql import Row
from tests.storage.rows import remember, remembered
from tests.stores import PostgresStores, SqliteStores


def _dump(path: Path) -> list[Row]:
    connection = apsw.Connection(str(path))
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'search_vocabulary' ORDER BY name"
    ).fetchall()
    rows: list[Row] = [
        (name, *row) for (name,) in tables for row in connection.execute(f"SELECT * FROM {name}")
    ]
    connection.close()
    return rows


@pytest.fixture
def path(sqlite_stores: SqliteStores) -> Path:
    return Path(sqlite_stores.fresh())


@pytest.fixture
def used(path: Path, clock: ManualClock) -> Database:
    """A store in use: open, its last writes not yet in its main file."""
    database = open_database(path, clock)
    with database.write("local") as writer:
        remember(writer, "first", "what was said")
    return database


def test_a_backup_holds_what_the_store_holds(
    used: Database, path: Path, tmp_path: Path, clock: ManualClock
) -> None:
    copy = back_up(used, tmp_path / "backups")
    assert copy.parent == tmp_path / "backups"
    assert list(copy.parent.iterdir()) == [copy]
    assert "2026-01-01" in copy.name
    assert _dump(copy) == _dump(path)
    opened = open_database(copy, clock)
    with opened.read("local") as reader:
        assert remembered(reader) == ["first"]
    with opened.write("local") as writer:
        remember(writer, "second")
    opened.close()
    used.close()


def test_a_backup_is_made_while_somebody_writes(used: Database, tmp_path: Path, clock: ManualClock) -> None:
    with used.write("local") as writer:
        remember(writer, "second")
        copy = back_up(used, tmp_path)
    opened = open_database(copy, clock)
    with opened.read("local") as reader:
        assert remembered(reader) == ["first"]
    opened.close()
    used.close()


def test_backups_of_one_moment_are_two(used: Database, tmp_path: Path) -> None:
    one, other = back_up(used, tmp_path), back_up(used, tmp_path)
    assert one != other
    assert _dump(one) == _dump(other)
    used.close()


def test_a_backup_is_for_its_user_alone(used: Database, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        copy = back_up(used, tmp_path / "backups")
    finally:
        os.umask(before)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.parent.stat().st_mode & 0o777 == 0o700
    used.close()


def test_a_backup_never_replaces_a_file(used: Database, tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"
    kept.write_text("kept")
    with pytest.raises(FileExistsError):
        used.dialect.copy_to(kept)
    assert kept.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [kept]
    used.close()


def test_a_folder_that_cannot_be_made_is_said_to_be_so(used: Database, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnreachable, match="file"):
        back_up(used, tmp_path / "file" / "backups")
    used.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of files' sizes")
def test_a_disk_that_takes_no_backup_is_named_and_not_the_stores(
    used: Database, path: Path, tmp_path: Path
) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(Unavailable) as failed:
            back_up(used, tmp_path / "backups")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(tmp_path / "backups") in failed.value.message
    assert str(path) not in failed.value.message
    assert list((tmp_path / "backups").iterdir()) == []
    used.close()


def test_a_postgresql_store_is_left_to_its_own_tools(
    postgres_stores: PostgresStores, tmp_path: Path, clock: ManualClock
) -> None:
    database = open_database(postgres_stores.fresh(), clock)
    with pytest.raises(Refused) as refused:
        back_up(database, tmp_path)
    assert "pg_dump" in refused.value.hint
    assert list(tmp_path.iterdir()) == []
    database.close()
    postgres_stores.discard()
