"""Backups: whole, checked copies of a store in one file each, named by the time they were made.

Those that a schedule makes are named apart; only they make room for newer ones.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.errors import M3Error, StoreDamaged, StoreFull, StoreReadOnly, StoreUnreachable

if TYPE_CHECKING:
    from pathlib import Path

    from m3_memory.storage.database import Store

MANUAL, SCHEDULED = "m3", "m3-scheduled"
_NAMED = re.compile(
    rf"({MANUAL}|{SCHEDULED})-(\d{{4}}-\d\d-\d\dT)(\d\d)(\d\d)(\d\d)-(\d{{6}}Z)(?:-(\d+))?\.db"
)


@dataclass(frozen=True, slots=True)
class Backup:
    """One copy; its name tells `made_at`, in store form, and the how manieth of that moment it is."""

    path: Path
    made_at: str
    number: int
    is_scheduled: bool


def backups_in(folder: Path) -> list[Backup]:
    """The copies in a folder that have the names this product gives them, the newest first."""
    named = ((path, _NAMED.fullmatch(path.name)) for path in (folder.iterdir() if folder.is_dir() else ()))
    found = [
        Backup(path, f"{m[2]}{m[3]}:{m[4]}:{m[5]}.{m[6]}", int(m[7] or 1), m[1] == SCHEDULED)
        for path, m in named
        if m
    ]
    return sorted(found, key=lambda backup: (backup.made_at, backup.number), reverse=True)


def back_up(database: Store, folder: Path, name: str = MANUAL) -> Path:
    """Copies the store into the folder, made if need be, while others read and write; returns the new file.

    The copy is readable by its user alone and opens like any store. Raises Refused for PostgreSQL, whose own
    tools do this better, StoreFull, StoreUnreachable for a folder that can't be written, and StoreDamaged for
    a copy that fails its check.
    """
    with database.read("") as reader:
        now = reader.now
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = new_path(folder, name, now)
        database.dialect.copy_to(path)
    except (OSError, StoreFull, StoreReadOnly, StoreUnreachable, StoreDamaged) as error:
        raise _named(error, folder) from error
    return path


def _named(error: Exception, folder: Path) -> M3Error:
    """The failure of a copy, told by its folder, which the store's own errors don't know."""
    match error:
        case StoreFull() | OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return StoreFull(
                f"the disk that holds {folder} is full; there is no backup",
                "free some space or name another folder",
            )
        case StoreDamaged():
            return StoreDamaged(
                f"the disk failed, or the copy its check, in a backup to {folder}",
                "check both disks, then run m3 doctor",
            )
        case OSError(strerror=str(reason)):
            pass
        case _:
            reason = "the database can't make the file"
    return StoreUnreachable(
        f"the backup can't be written to {folder}: {reason}", "name a folder that this user may write to"
    )


def new_path(folder: Path, name: str, now: str) -> Path:
    """Where to put a copy made now; two of one moment are told apart by a number."""
    stem = f"{name}-{now.replace(':', '').replace('.', '-')}"
    path, count = folder / f"{stem}.db", 1
    while path.exists():
        count += 1
        path = folder / f"{stem}-{count}.db"
    return path
