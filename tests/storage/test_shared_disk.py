"""A store on a file system that machines share keeps off memory of one machine, and says so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import apsw
import pytest

from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.system.service import examine
from m3_memory.errors import UnsafeFolder
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.filesystem import LOCAL, Disk, FileSystem
from m3_memory.storage.journal import keep_off_shared_memory
from m3_memory.storage.sqlite import SqliteDatabase
from tests.callers import Agent
from tests.stores import SqliteStores

SHARED = FileSystem("nfs4", "/mnt/nas")
Opener = Callable[..., SqliteDatabase]


@pytest.fixture
def path(sqlite_stores: SqliteStores) -> Path:
    """A fresh store with a write-ahead log, as a local disk has it."""
    return Path(sqlite_stores.fresh())


@pytest.fixture
def opened(path: Path, clock: ManualClock) -> Generator[Opener]:
    """Opens the store as it is on a file system; on a shared one by default."""
    databases: list[SqliteDatabase] = []

    def open_it(file_system: FileSystem = SHARED, **disk: Any) -> SqliteDatabase:
        databases.append(SqliteDatabase(path, clock, disk=Disk(file_system, **disk)))
        return databases[-1]

    yield open_it
    for database in databases:
        database.close()


def beside(path: Path) -> set[str]:
    """What lies beside the store and is shared memory, or stands for some."""
    names = {file.name.removeprefix(path.name) for file in path.parent.iterdir()}
    return {name for name in names if name in ("-wal", "-shm") or name.startswith(".vectors")}


def journal_version(path: Path) -> int:
    return path.read_bytes()[18]


def write(database: SqliteDatabase, clock: ManualClock, content: str) -> str:
    return Agent(database, clock).call("memory_write", content=content, type="fact")["id"]


def found(database: SqliteDatabase, clock: ManualClock, query: str) -> list[str]:
    hits = Agent(database, clock).call("memory_search", query=query)["hits"]
    return [hit["content"] for hit in hits]


def test_nothing_of_a_shared_store_is_in_shared_memory(
    opened: Opener, path: Path, clock: ManualClock
) -> None:
    database = opened()
    write(database, clock, "tea is at four")
    assert found(database, clock, "tea") == ["tea is at four"]
    assert beside(path) == set()
    assert journal_version(path) == 1


def test_on_a_disk_of_its_own_the_same_store_has_both(opened: Opener, path: Path, clock: ManualClock) -> None:
    database = opened(LOCAL)
    write(database, clock, "tea is at four")
    assert found(database, clock, "tea") == ["tea is at four"]
    assert beside(path) > {"-wal", "-shm"}


def test_a_store_that_was_moved_there_with_its_log_loses_nothing(
    opened: Opener, path: Path, clock: ManualClock, tmp_path: Path
) -> None:
    local = opened(LOCAL)
    write(local, clock, "tea is at four")
    moved = tmp_path / "m3.db"
    for name in ("", "-wal"):
        moved.with_name(f"m3.db{name}").write_bytes(path.with_name(f"{path.name}{name}").read_bytes())
    assert moved.with_name("m3.db-wal").stat().st_size > 0
    database = SqliteDatabase(moved, clock, disk=Disk(SHARED))
    assert found(database, clock, "tea") == ["tea is at four"]
    assert beside(moved) == set()
    database.close()


def test_a_store_that_comes_back_has_its_log_again(opened: Opener, path: Path, clock: ManualClock) -> None:
    shared = opened()
    write(shared, clock, "tea is at four")
    shared.close()
    local = opened(LOCAL)
    write(local, clock, "tea is green")
    assert sorted(found(local, clock, "tea")) == ["tea is at four", "tea is green"]
    assert journal_version(path) == 2


def test_a_log_that_another_process_still_uses_is_not_taken_away(path: Path, clock: ManualClock) -> None:
    other = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import apsw, sys\n"
            "connection = apsw.Connection(sys.argv[1])\n"
            "connection.execute('BEGIN; SELECT * FROM stores').fetchall()\n"
            "print('reading', flush=True)\n"
            "sys.stdin.read()\n",
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "reading\n"
        connection = apsw.Connection(str(path))
        with pytest.raises(apsw.BusyError):
            keep_off_shared_memory(connection, 0)
        connection.close()
        assert journal_version(path) == 2
    finally:
        other.communicate("")
    SqliteDatabase(path, clock, disk=Disk(SHARED)).close()
    assert journal_version(path) == 1


def test_several_who_have_it_open_see_each_others_writes(
    opened: Opener, path: Path, clock: ManualClock
) -> None:
    one, other = opened(), opened()
    write(one, clock, "tea is at four")
    write(other, clock, "tea is green")
    write(one, clock, "tea is hot")
    for database in (one, other):
        assert sorted(found(database, clock, "tea")) == ["tea is at four", "tea is green", "tea is hot"]
    assert beside(path) == set()


def test_that_a_store_is_shared_is_said_by_the_first_answer_and_the_doctor(
    opened: Opener, clock: ManualClock
) -> None:
    agent = Agent(opened(), clock)
    first = agent.call("memory_write", content="tea is at four", type="fact")
    assert any("nfs4" in said for said in first["notices"])
    settings = Settings(home=Path("unused"))
    examined = examine(Context(agent.caller, agent.database, agent.embedder, clock, settings))
    assert "nfs4" in examined.engine
    assert any("M3_HOME" in note for note in examined.notes)
    local = Agent(opened(LOCAL), clock)
    assert "notices" not in local.call("memory_write", content="tea is green", type="fact")


def test_a_folder_that_a_service_copies_is_refused_by_its_marks(tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / ".stfolder").mkdir()
    with pytest.raises(UnsafeFolder, match="stfolder"):
        open_database(tmp_path / "m3.db", clock)
    assert [file.name for file in tmp_path.iterdir()] == [".stfolder"]
    open_database(tmp_path.parent / f"{tmp_path.name}.db", clock).close()


def test_a_disk_that_cannot_lock_files_is_refused(path: Path, clock: ManualClock) -> None:
    disk = LocklessDisk("lockless", "")
    try:
        with pytest.raises(UnsafeFolder, match="locked"):
            SqliteDatabase(path, clock, disk=Disk(SHARED, "lockless"))
    finally:
        disk.unregister()


class LocklessDisk(apsw.VFS):
    """As some network file systems are: whoever asks for a lock is told that there are none."""

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _LocklessFile("", name, flags)


class _LocklessFile(apsw.VFSFile):
    def xLock(self, level: int) -> None:  # noqa: N802
        error = apsw.IOError()
        error.extendedresult = apsw.SQLITE_IOERR_LOCK
        raise error
