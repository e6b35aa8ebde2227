"""Locks between processes, as files: an open one is gone with the process that held it."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_PAUSE_SECONDS = 0.001

if sys.platform == "win32":
    import msvcrt

    def lock(file: int) -> None:
        """Takes the lock of an open file until it is closed. Raises BlockingIOError where somebody has it."""
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error

else:
    import fcntl

    def lock(file: int) -> None:
        """Takes the lock of an open file until it is closed. Raises BlockingIOError where somebody has it."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def file_lock(path: Path, wait_seconds: float = 0.0) -> Generator[bool]:
    """Yields whether the lock of this file is ours for the block; threads exclude each other as processes do.

    False when somebody held it all the time we waited. Raises OSError where the file can't be made or locked.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield _taken(file, time.monotonic() + wait_seconds)
    finally:
        os.close(file)


def _taken(file: int, until: float) -> bool:
    while True:
        try:
            lock(file)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True
