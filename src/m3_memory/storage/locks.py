"""Locks between processes, as files: an open one is gone with the process that held it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, wait: bool) -> None:
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def file_lock(path: Path, *, wait: bool) -> Generator[bool]:
    """Yields whether the lock of this file is ours for the block; threads exclude each other as processes do.

    False when `wait` is false and somebody holds it, and where the file can't be made or locked.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield False
        return
    try:
        yield _locked(file, wait)
    finally:
        os.close(file)


def _locked(file: int, wait: bool) -> bool:
    try:
        _lock(file, wait)
    except OSError:
        return False
    return True
