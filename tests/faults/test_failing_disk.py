"""A disk that fails or fills up at any moment costs the write under way, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from m3_memory.errors import StoreDamaged, StoreFull, StoreReadOnly, StoreUnreachable
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.database import Database
from tests.faults.vfs import FaultyDisk, broken_disk, full_disk
from tests.storage.rows import remember, remembered
from tests.stores import SqliteStores

_FAULTS = [
    pytest.param(full_disk, False, StoreFull, id="full for a moment"),
    pytest.param(full_disk, True, StoreFull, id="full for good"),
    pytest.param(broken_disk, False, StoreDamaged, id="failing once"),
    pytest.param(broken_disk, True, StoreDamaged, id="failing for good"),
]


def _write(database: Database, name: str) -> None:
    with database.write("local") as writer:
        remember(writer, name, name * 1_000)


def _read(database: Database) -> list[str]:
    with database.read("local") as reader:
        return remembered(reader)


def _verdict(path: str) -> object:
    connection = apsw.Connection(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall()
    finally:
        connection.close()


@pytest.mark.case("B47")
@pytest.mark.parametrize(("strike", "lasting", "expected"), _FAULTS)
def test_a_write_that_the_disk_refuses_leaves_the_store_whole(
    sqlite_stores: SqliteStores,
    clock: ManualClock,
    strike: Callable[[], None],
    lasting: bool,
    expected: type[Exception],
) -> None:
    disk = FaultyDisk()
    at, failures = 0, 0
    struck = True
    while struck:
        at += 1
        path = sqlite_stores.fresh()
        database = open_database(path, clock, vfs=disk.name)
        _write(database, "before")
        try:
            with disk.failing(at, strike, lasting=lasting):
                _write(database, "during")
        except expected:
            failures += 1
            known = ["before"]
        else:
            known = ["before", "during"]
        struck = disk.struck
        assert _read(database) == known
        _write(database, "after")
        assert _read(database) == [*known, "after"]
        database.close()
        assert _verdict(path) == [("ok",)]
    assert failures >= 3
    sqlite_stores.discard()


@pytest.mark.parametrize(("strike", "lasting", "expected"), _FAULTS)
def test_a_store_whose_making_failed_is_made_the_next_time(
    tmp_path: Path,
    clock: ManualClock,
    strike: Callable[[], None],
    lasting: bool,
    expected: type[Exception],
) -> None:
    disk = FaultyDisk()
    at, failures, struck = 0, 0, True
    while struck:
        at += 1 + at // 10  # every one of the first, then fewer: making a store is a few hundred writes
        path = tmp_path / f"{at}.db"
        try:
            with disk.failing(at, strike, lasting=lasting):
                open_database(path, clock, vfs=disk.name).close()
        except (expected, StoreUnreachable, StoreReadOnly):
            failures += 1
        struck = disk.struck
        database = open_database(path, clock, vfs=disk.name)
        _write(database, "after")
        assert _read(database) == ["after"]
        database.close()
        assert _verdict(str(path)) == [("ok",)]
    assert failures >= 3
