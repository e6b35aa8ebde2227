"""A store's file that is replaced or removed while others work, and beside what the old one left (SQLite)."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from m3_memory.errors import StoreUnreachable
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.backup import back_up
from m3_memory.storage.database import Database
from tests.storage.rows import remember, remembered


@pytest.fixture
def home_store(tmp_path: Path) -> Path:
    return tmp_path / "m3.db"


@pytest.fixture
def store_in_use(home_store: Path, clock: ManualClock) -> Generator[Database]:
    """A store some process has open, so that its log stays beside it."""
    opened = open_database(home_store, clock)
    yield opened
    opened.close()


def _write(database: Database, *ids: str) -> None:
    for memory_id in ids:
        with database.write("local") as writer:
            remember(writer, memory_id)


def _read(database: Database) -> list[str]:
    with database.read("local") as reader:
        return remembered(reader)


@pytest.mark.parametrize("by", ["copied over", "moved in"])
def test_a_backup_put_in_place_is_the_backup_whatever_log_the_old_store_left(
    store_in_use: Database, home_store: Path, clock: ManualClock, by: str
) -> None:
    """B84's kind: nothing of the old store's unfinished writes is replayed into the restored one."""
    _write(store_in_use, *(f"kept-{number}" for number in range(5)))
    backup = back_up(store_in_use, home_store.with_name("backups"))
    _write(store_in_use, *(f"later-{number}" for number in range(40)))
    log = home_store.with_name("m3.db-wal")
    assert log.stat().st_size
    left = home_store.with_name("left-by-a-killed-process")
    shutil.copy(log, left)
    store_in_use.close()
    if by == "copied over":
        shutil.copy(backup, home_store)
    else:
        backup.replace(home_store)
    left.replace(log)
    restored = open_database(home_store, clock)
    assert _read(restored) == [f"kept-{number}" for number in range(5)]
    _write(restored, "after")
    assert "after" in _read(restored)
    restored.close()
    assert list(home_store.parent.glob("m3.db-wal.of-another-store-*"))


def test_a_log_of_the_store_itself_is_read(
    store_in_use: Database, home_store: Path, clock: ManualClock
) -> None:
    _write(store_in_use, "first", "second")
    other = open_database(home_store, clock)
    assert _read(other) == ["first", "second"]
    other.close()
    assert not list(home_store.parent.glob("*of-another-store*"))


def test_a_store_removed_under_a_process_is_gone_for_it_and_not_made_anew(
    store_in_use: Database, home_store: Path
) -> None:
    _write(store_in_use, "first")
    for path in home_store.parent.glob("m3.db*"):
        path.unlink()
    with pytest.raises(StoreUnreachable):
        _read(store_in_use)
    with pytest.raises(StoreUnreachable):
        _write(store_in_use, "second")
    assert not home_store.exists()
