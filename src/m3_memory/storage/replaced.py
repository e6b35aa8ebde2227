"""A store's file that was put in another's place: what still lies beside it belongs to the old one."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from m3_memory.storage.locks import file_lock

if TYPE_CHECKING:
    from pathlib import Path

_JOURNAL_VERSION_AT = 18
_ROLLBACK_JOURNAL = 1
_WAIT_SECONDS = 5.0


def set_aside_stray_log(path: Path) -> None:
    """Moves a write-ahead log away from a file that can't have written it.

    A store in use says in its header that it has such a log, a backup says that it has none (file format,
    "Database header", offset 18), and SQLite would replay the log all the same. Done under a lock, because
    another process may be switching the file over at this moment. Nothing is deleted: the log of the store
    that stood here before is kept as `…-wal.of-another-store-TIME`.
    """
    log = path.with_name(f"{path.name}-wal")
    if not _is_stray(path, log):
        return
    with suppress(OSError), file_lock(path.with_name(f"{path.name}.replaced.lock"), _WAIT_SECONDS) as alone:
        if alone and _is_stray(path, log):
            log.rename(f"{log}.of-another-store-{time.time_ns()}")
            path.with_name(f"{path.name}-shm").unlink(missing_ok=True)


def _is_stray(path: Path, log: Path) -> bool:
    try:
        if not log.stat().st_size:
            return False
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        header = os.pread(file, _JOURNAL_VERSION_AT + 1, 0)
    finally:
        os.close(file)
    return len(header) > _JOURNAL_VERSION_AT and header[_JOURNAL_VERSION_AT] == _ROLLBACK_JOURNAL
