"""Backups on a schedule: made by one process at a time when one is due, with room made for newer ones."""

from __future__ import annotations

import json
import shutil
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from m3_memory.errors import M3Error, Refused, StoreFull
from m3_memory.kernel.clock import SystemClock, seconds_between
from m3_memory.storage import open_database
from m3_memory.storage.backup import SCHEDULED, Backup, back_up, backups_in
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import text

if TYPE_CHECKING:
    from m3_memory.config import Settings
    from m3_memory.storage.database import Database, Reader, Store
    from m3_memory.storage.sql import Row

LOCK = "backup"
RETRY_SECONDS = 3600.0
"""How long a server waits after an attempt that failed."""

LEFT_FREE_BYTES = 32 * 2**20
"""What a scheduled copy leaves free on its disk: the store goes on being written meanwhile."""

_HOUR_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Every `hours` a copy of the SQLite file `store` into `folder`, of which `keep` stay; 0: never."""

    store: Path
    folder: Path
    hours: float
    keep: int

    @property
    def scheduled(self) -> list[Backup]:
        """The copies this made and kept, the newest first."""
        return [backup for backup in backups_in(self.folder) if backup.is_scheduled]

    @property
    def _note(self) -> Path:
        return self.store.with_name(f"{self.store.name}.backup-failed")

    def failure(self) -> tuple[str, str]:
        """When the last attempt failed and why; both empty where it did not."""
        try:
            noted = json.loads(self._note.read_text(encoding="utf-8"))
            at, why = str(noted["at"]), str(noted["why"])
            seconds_between(at, at)
            return at, why
        except (OSError, ValueError, TypeError, KeyError):
            return "", ""

    def note(self, at: str, error: M3Error | None) -> None:
        """Notes how an attempt ended, as far as anything can be written."""
        with suppress(OSError):
            if error is None:
                self._note.unlink(missing_ok=True)
            else:
                self._note.write_text(json.dumps({"at": at, "why": error.message}), encoding="utf-8")


def schedule_of(settings: Settings) -> Schedule:
    """What the settings say of the main store; of one on PostgreSQL, whose own tools do this, never."""
    hours = 0.0 if settings.database_url else settings.backup_hours
    return Schedule(Path(settings.store), settings.backup_folder, hours, int(settings.backup_keep))


def back_up_when_due(database: Database, schedule: Schedule, pause_seconds: float = 0.0) -> Path | None:
    """Makes a copy if one is due and the store has changed since the last; returns it, else None.

    Only one process at a time does; the oldest scheduled copies of this store go once the new one is whole
    and checked. Those of another that stood in its place stay: they may be all that is left of it.
    Within `pause_seconds` of an attempt that failed nothing is tried. A failure is noted for `failure`, and
    raised as by `back_up`.
    """
    if not _is_due(database, schedule, pause_seconds):
        return None
    with database.exclusive(LOCK) as alone:
        if not alone or not _is_due(database, schedule, pause_seconds):
            return None
        with database.read("") as reader:
            now = reader.now
        try:
            made = _made(database, schedule)
        except M3Error as error:
            schedule.note(now, error)
            raise
        schedule.note(now, None)
        return made


def renew_copies(database: Store, folder: Path, since: str = "") -> tuple[list[Path], list[Path]]:
    """Replaces the copies of this store in the folder, of those made since then, by one made now.

    Returns those that went, and those that stay because it can't be told whose they are, or because no new
    one is made here: a store on PostgreSQL has tools of its own. Those of other stores stay. None goes where
    there is none to replace. Raises what `back_up` raises, when none went, and OSError.
    """
    with database.exclusive(LOCK), database.read("") as reader:
        copies = (backup.path for backup in backups_in(folder) if backup.made_at >= since)
        found = {path: _mark_of(path) for path in copies}
        ours = [path for path, mark in found.items() if mark and mark[0] == reader.origin]
        unknown = [path for path, mark in found.items() if mark is None]
        try:
            if ours:
                back_up(database, folder)
        except Refused:
            return [], [*ours, *unknown]
        for path in ours:
            path.unlink(missing_ok=True)
        return ours, unknown


def overdue_seconds(reader: Reader, schedule: Schedule) -> float | None:
    """For how long a copy has been due; None where none is, or nothing has changed since the last."""
    last = next(iter(schedule.scheduled), None)
    wait = schedule.hours * _HOUR_SECONDS
    try:
        waited = seconds_between(last.made_at if last else _made_at(reader), reader.now)
    except ValueError:  # a time in the store is no time: the doctor tells, and its copy would be no better
        return None
    late = waited - wait if waited >= 0 else wait  # a copy from the future tells nothing: the clock was wrong
    return late if schedule.hours and late >= 0 and _has_changed(reader, last) else None


def missed(reader: Reader, schedule: Schedule) -> list[str]:
    """What stands in the way of copies, once an attempt failed or one is late by a whole interval."""
    late_seconds = overdue_seconds(reader, schedule)
    if late_seconds is None:
        return []
    at, why = schedule.failure()
    if why:
        return [f"the scheduled backup failed at {at}: {why}"]
    if late_seconds < schedule.hours * _HOUR_SECONDS:
        return []
    hours = late_seconds / _HOUR_SECONDS
    return [f"a backup is {hours:,.0f} hours late: a server makes it after a call, or m3 worker --once"]


def _is_due(database: Database, schedule: Schedule, pause_seconds: float) -> bool:
    with database.read("") as reader:
        if overdue_seconds(reader, schedule) is None:
            return False
        failed_at, _ = schedule.failure()
        return not failed_at or not 0 <= seconds_between(failed_at, reader.now) < pause_seconds


def _made(database: Database, schedule: Schedule) -> Path:
    for left in schedule.folder.glob(f"{SCHEDULED}-*.db.*unfinished*"):
        left.unlink(missing_ok=True)
    _ensure_room(schedule)
    made = back_up(database, schedule.folder, SCHEDULED)
    others = [backup.path for backup in schedule.scheduled if backup.path != made]
    with database.read("") as reader:
        origin = reader.origin
    for old in others[max(0, schedule.keep - 1) :]:
        mark = _mark_of(old)
        if mark is None or mark[0] == origin:
            with suppress(OSError):
                old.unlink()
    return made


def _ensure_room(schedule: Schedule) -> None:
    with suppress(OSError):  # what can't be asked is found out by writing
        disk = schedule.folder if schedule.folder.exists() else schedule.store.parent
        needed = schedule.store.stat().st_size + LEFT_FREE_BYTES
        if shutil.disk_usage(disk).free < needed:
            raise StoreFull(
                f"the disk that holds {schedule.folder} has no room for a backup of {needed // 2**20} MB",
                "free some space, or lower backup_keep",
            )


def _made_at(reader: Reader) -> str:
    row = reader.row(sql("SELECT created_at FROM stores"))
    assert row is not None
    return text(row[0])


def _has_changed(reader: Reader, last: Backup | None) -> bool:
    """Whether the store holds what the last copy does not; one that can't be read counts as none."""
    now = _mark(reader)
    return now[-1] is not None if last is None else _mark_of(last.path) != now


def _mark_of(copy: Path) -> Row | None:
    """The mark of a copy; None for one that can't be read."""
    try:
        with closing(open_database(copy, SystemClock(), as_it_is=True)) as opened, opened.read("") as reader:
            return _mark(reader)
    except M3Error:
        return None


def _mark(reader: Reader) -> Row:
    """What changes whenever a memory, its history or its vectors do."""
    row = reader.row(
        sql(
            "SELECT s.origin, s.schema_version, (SELECT max(sequence) FROM search_changes),"
            " (SELECT h.hash FROM memory_history AS h ORDER BY h.event DESC LIMIT 1) FROM stores AS s"
        )
    )
    assert row is not None
    return row
