"""Backups that nobody asks for: one when it is due, room for newer ones, and never a call that fails."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.errors import StoreDamaged, StoreFull, StoreUnreachable
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.backup import back_up, backups_in
from m3_memory.storage.database import Database
from m3_memory.storage.scheduled_backup import Schedule, back_up_when_due, schedule_of
from m3_memory.surfaces.worker.loop import BackgroundWork, work_once
from tests.callers import Agent
from tests.storage.rows import remember, remembered

HOUR = 3600


@pytest.fixture
def database(tmp_path: Path, clock: ManualClock) -> Generator[Database]:
    """A SQLite store with one memory, made just now."""
    opened = open_database(tmp_path / "m3.db", clock)
    _write(opened, "first")
    yield opened
    opened.close()


@pytest.fixture
def schedule(tmp_path: Path) -> Schedule:
    """A copy a day, of which three are kept."""
    return Schedule(tmp_path / "m3.db", tmp_path / "backups", 24.0, 3)


def _write(database: Database, name: str) -> None:
    with database.write("local") as writer:
        remember(writer, name)


def _held(backup: Path, clock: ManualClock) -> list[str]:
    copy = open_database(backup, clock, as_it_is=True)
    with copy.read("local") as reader:
        found = remembered(reader)
    copy.close()
    return found


def test_a_copy_is_made_once_the_interval_is_over_and_something_changed(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    clock.advance(23 * HOUR)
    assert back_up_when_due(database, schedule) is None
    clock.advance(2 * HOUR)
    made = back_up_when_due(database, schedule)
    assert made is not None
    assert _held(made, clock) == ["first"]
    clock.advance(48 * HOUR)
    assert back_up_when_due(database, schedule) is None
    _write(database, "second")
    newer = back_up_when_due(database, schedule)
    assert newer is not None
    assert _held(newer, clock) == ["first", "second"]
    assert [backup.path for backup in schedule.scheduled] == [newer, made]


def test_an_empty_store_and_a_schedule_of_no_hours_make_no_copy(
    tmp_path: Path, database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    empty = open_database(tmp_path / "empty.db", clock)
    clock.advance(1000 * HOUR)
    assert back_up_when_due(empty, replace(schedule, store=tmp_path / "empty.db")) is None
    assert back_up_when_due(database, replace(schedule, hours=0.0)) is None
    assert back_up_when_due(database, schedule) is not None
    empty.close()


def test_the_oldest_scheduled_copies_make_room_and_no_other_file_does(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    asked_for = back_up(database, schedule.folder)
    foreign = schedule.folder / "m3-scheduled-notes.db"
    foreign.write_text("somebody else's")
    made: list[Path] = []
    for day in range(5):
        clock.advance(24 * HOUR)
        _write(database, f"day {day}")
        copy = back_up_when_due(database, schedule)
        assert copy is not None
        made.append(copy)
    assert [backup.path for backup in schedule.scheduled] == made[:1:-1]
    assert sorted(schedule.folder.iterdir()) == sorted([asked_for, foreign, *made[2:]])
    assert _held(made[-1], clock)[-1] == "day 4"


def test_copies_of_a_store_that_was_lost_make_no_room_for_those_of_its_successor(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    clock.advance(24 * HOUR)
    lost = back_up_when_due(database, schedule)
    assert lost is not None
    database.close()
    for file in schedule.store.parent.glob("m3.db*"):
        file.unlink()
    successor = open_database(schedule.store, clock)
    made: list[Path | None] = []
    for day in range(5):
        clock.advance(24 * HOUR)
        _write(successor, f"day {day}")
        made.append(back_up_when_due(successor, schedule))
    successor.close()
    assert [backup.path for backup in schedule.scheduled] == [*made[:1:-1], lost]
    assert _held(lost, clock) == ["first"]


def test_a_copy_that_fails_its_check_costs_no_older_one(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    schedule = replace(schedule, keep=1)
    clock.advance(24 * HOUR)
    good = back_up_when_due(database, schedule)
    _write(database, "a memory of many pages")
    database.close()
    with schedule.store.open("r+b") as file:
        file.seek(-4096, 2)
        file.write(b"\xff" * 4096)
    damaged = open_database(schedule.store, clock)
    clock.advance(24 * HOUR)
    with pytest.raises(StoreDamaged):
        back_up_when_due(damaged, schedule)
    assert [backup.path for backup in schedule.scheduled] == [good]
    assert schedule.failure()[1]
    damaged.close()


def test_a_copy_that_cannot_be_written_costs_no_older_one(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    schedule = replace(schedule, keep=1)
    clock.advance(24 * HOUR)
    good = back_up_when_due(database, schedule)
    assert good is not None
    schedule.folder.rename(schedule.folder.with_name("away"))
    schedule.folder.write_text("a file where the folder was")
    clock.advance(24 * HOUR)
    _write(database, "second")
    with pytest.raises(StoreUnreachable):
        back_up_when_due(database, schedule)
    schedule.folder.unlink()
    schedule.folder.with_name("away").rename(schedule.folder)
    assert [backup.path for backup in schedule.scheduled] == [good]
    assert _held(good, clock) == ["first"]
    assert str(schedule.folder) in schedule.failure()[1]
    newer = back_up_when_due(database, schedule)
    assert [backup.path for backup in schedule.scheduled] == [newer]
    assert schedule.failure() == ("", "")


def test_after_a_failure_nothing_is_tried_for_as_long_as_was_asked(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    schedule.folder.write_text("a file where the folder should be")
    clock.advance(25 * HOUR)
    with pytest.raises(StoreUnreachable):
        back_up_when_due(database, schedule, pause_seconds=HOUR)
    clock.advance(HOUR / 2)
    assert back_up_when_due(database, schedule, pause_seconds=HOUR) is None
    clock.advance(HOUR)
    with pytest.raises(StoreUnreachable):
        back_up_when_due(database, schedule, pause_seconds=HOUR)


@pytest.mark.parametrize("note", ["", "half {", "[]", '{"at": "soon", "why": "no"}', '{"at": 1}'])
def test_a_spoiled_note_of_a_failure_stands_in_no_ones_way(
    database: Database, schedule: Schedule, clock: ManualClock, note: str
) -> None:
    schedule.store.with_name("m3.db.backup-failed").write_text(note)
    clock.advance(25 * HOUR)
    assert schedule.failure() == ("", "")
    assert back_up_when_due(database, schedule, pause_seconds=HOUR) is not None


def test_a_disk_without_room_for_a_copy_is_left_to_the_store(
    database: Database, schedule: Schedule, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("m3_memory.storage.scheduled_backup.LEFT_FREE_BYTES", 2**60)
    clock.advance(25 * HOUR)
    with pytest.raises(StoreFull, match="no room"):
        back_up_when_due(database, schedule)
    assert not schedule.folder.exists()
    _write(database, "second")


def test_what_a_killed_process_left_half_made_is_removed(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    schedule.folder.mkdir()
    for left in ("m3-scheduled-2026.db.unfinished", "m3-scheduled-2026.db.unfinished-journal"):
        (schedule.folder / left).write_text("half")
    clock.advance(25 * HOUR)
    made = back_up_when_due(database, schedule)
    assert list(schedule.folder.iterdir()) == [made]


def test_a_copy_from_a_clock_that_was_ahead_delays_nothing_and_is_not_the_last(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    now = clock.now()
    clock.set("2031-01-01T00:00:00Z")
    ahead = back_up_when_due(database, schedule)
    assert ahead is not None
    clock.set(now)
    _write(database, "second")
    made = back_up_when_due(database, replace(schedule, keep=1))
    assert made is not None
    assert [backup.path for backup in schedule.scheduled] == [made]


def test_a_last_copy_that_is_damaged_counts_as_none(
    database: Database, schedule: Schedule, clock: ManualClock
) -> None:
    clock.advance(25 * HOUR)
    made = back_up_when_due(database, schedule)
    assert made is not None
    made.write_bytes(b"no database")
    clock.advance(25 * HOUR)
    newer = back_up_when_due(database, schedule)
    assert newer is not None
    assert _held(newer, clock) == ["first"]


def test_a_store_that_was_put_back_and_written_to_is_another_than_its_last_copy(
    database: Database, schedule: Schedule, clock: ManualClock, tmp_path: Path
) -> None:
    """As many events as the last copy has, and not the same ones."""
    before = back_up(database, tmp_path / "kept")
    _write(database, "second")
    clock.advance(25 * HOUR)
    assert back_up_when_due(database, schedule) is not None
    clock.advance(25 * HOUR)
    other = open_database(before, clock)
    _write(other, "another second")
    made = back_up_when_due(other, replace(schedule, store=before))
    assert made is not None
    assert _held(made, clock) == ["first", "another second"]
    other.close()


def test_eight_servers_make_one_copy(tmp_path: Path, clock: ManualClock) -> None:
    settings = Settings(home=tmp_path, embedder="off")
    with ExitStack() as stack:
        apps = [App(settings, clock, HostEnvironment()) for _ in range(8)]
        for app in apps:
            stack.callback(app.close)
        Agent(apps[0].database, clock).call("memory_write", content="Tea is at four", type="fact")
        clock.advance(25 * HOUR)
        start = threading.Barrier(len(apps))

        def serve(app: App) -> None:
            assert app.database.dialect
            start.wait()
            work_once(app)

        threads = [threading.Thread(target=serve, args=(app,)) for app in apps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(backups_in(settings.backup_folder)) == 1


def test_a_server_makes_the_copy_after_a_call_and_opens_no_store_for_it(
    tmp_path: Path, clock: ManualClock
) -> None:
    settings = Settings(home=tmp_path / "home", embedder="off")
    app, work = App(settings, clock, HostEnvironment()), BackgroundWork()

    def after_call() -> None:
        work.after_call(app)
        for thread in threading.enumerate():
            if thread.name == "m3-worker":
                thread.join()

    after_call()
    assert not settings.home.exists()
    Agent(app.database, clock).call("memory_write", content="Tea is at four", type="fact")
    clock.advance(25 * HOUR)
    after_call()
    (made,) = backups_in(settings.backup_folder)
    copy = apsw.Connection(str(made.path))
    assert copy.execute("SELECT content FROM memory_items").fetchall() == [("Tea is at four",)]
    copy.close()
    made.path.rename(tmp_path / "taken away.db")
    settings.backup_folder.rmdir()
    settings.backup_folder.write_text("a file where the folder was")
    Agent(app.database, clock).call("memory_write", content="Tea is at five", type="fact")
    clock.advance(25 * HOUR)
    after_call()
    assert schedule_of(settings).failure()[1]
    Agent(app.database, clock).call("memory_write", content="Tea is at six", type="fact")
    app.close()


def test_the_worker_tells_of_the_copy_and_of_what_stood_in_its_way(
    tmp_path: Path, clock: ManualClock
) -> None:
    settings = Settings(home=tmp_path, embedder="off", backup_hours=1.0)
    app = App(settings, clock, HostEnvironment())
    Agent(app.database, clock).call("memory_write", content="Tea is at four", type="fact")
    assert "backup" not in work_once(app)
    clock.advance(2 * HOUR)
    (told,) = [work_once(app)["backup"]]
    assert [str(backup.path) for backup in backups_in(settings.backup_folder)] == [told]
    Path(told).unlink()
    settings.backup_folder.rmdir()
    settings.backup_folder.write_text("a file where the folder was")
    assert str(settings.backup_folder) in work_once(app)["backup_failed"]
    app.close()


def test_a_postgresql_store_has_no_schedule(tmp_path: Path) -> None:
    assert schedule_of(Settings(home=tmp_path, database_url="postgresql://host/name")).hours == 0
    assert schedule_of(Settings(home=tmp_path)).hours == 24
