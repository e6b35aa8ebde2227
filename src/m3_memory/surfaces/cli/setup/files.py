"""Files of others, read whole and replaced whole: links are followed, and a change in between is noticed."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from m3_memory.atomic_file import replacing
from m3_memory.errors import FileUnavailable

if TYPE_CHECKING:
    from collections.abc import Generator

LARGEST_BYTES = 64 * 1024 * 1024
_OWN = 0o600


class FileChanged(Exception):
    """Somebody else wrote the file since it was read; nothing was written."""


class Snapshot(NamedTuple):
    """A file as it was read. `path` is where links lead to; `content` is None where there is no file."""

    path: Path
    content: bytes | None

    @property
    def present(self) -> bytes:
        return self.content or b""


def take(path: Path) -> Snapshot:
    """Reads a file that may not be there. Raises FileUnavailable, also for what is no file."""
    with told(path, "read"):
        real = path.resolve()
        return Snapshot(real, _content(real))


def replace(snapshot: Snapshot, content: bytes, mode: int = 0) -> None:
    """Puts other content in the place of what was read, in one step that a crash can't halve.

    The file keeps its owner, and its mode if none is given; a new one is its user's alone, in folders made
    where they lack. Raises FileUnavailable, also for a file that its owner made read-only, and FileChanged.
    """
    path = snapshot.path
    with told(path, "written"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = path.stat() if snapshot.content is not None else None
        if before and not before.st_mode & stat.S_IWUSR:
            raise FileUnavailable(f"{path} is read-only", "make it writable, or add the entry yourself")
        with replacing(path) as beside:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # now, so that little time is left after the last look
            if before and os.name != "nt" and (before.st_uid, before.st_gid) != (os.getuid(), os.getgid()):
                os.chown(beside, before.st_uid, before.st_gid)
            beside.chmod(mode or (stat.S_IMODE(before.st_mode) if before else _OWN))
            _check(snapshot)


def remove(snapshot: Snapshot) -> None:
    """Deletes the file that was read. Raises FileUnavailable and FileChanged."""
    with told(snapshot.path, "removed"):
        _check(snapshot)
        snapshot.path.unlink(missing_ok=True)


def _check(snapshot: Snapshot) -> None:
    if _content(snapshot.path) != snapshot.content:
        raise FileChanged


def _content(path: Path) -> bytes | None:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise FileUnavailable(f"{path} is no file", "move it away, then run m3 setup again")
    if found.st_size > LARGEST_BYTES:
        raise FileUnavailable(f"{path} has more than {LARGEST_BYTES >> 20} MB", "add the entry yourself")
    return path.read_bytes()


@contextmanager
def told(path: Path, verb: str) -> Generator[None]:
    """Raises FileUnavailable for what the system refuses in the block."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError in Python 3.11 and 3.12
        reason = error.strerror if isinstance(error, OSError) else error
        raise FileUnavailable(f"{path} can't be {verb}: {reason}", "make it so, then try again") from error
