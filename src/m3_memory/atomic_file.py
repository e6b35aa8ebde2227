"""Files that are replaced whole: after a crash the old one is there or the new one, and never a half."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_UNFLUSHED = (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP)
"""Windows opens no folder, nor does one that may be written but not read; some file systems flush none."""


@contextmanager
def replacing(path: Path, *, flush: bool = True) -> Generator[Path]:
    """Makes a new file beside `path`, its user's alone, which takes its place when the block ends well.

    The block writes to it by name. With `flush` it is on the disk before it has its name, and the name when
    this returns. Processes do not meet in it; threads of one must not write the same path at a time. Raises
    OSError.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    beside.unlink(missing_ok=True)
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield beside
        if flush:
            with beside.open("rb+") as file:
                os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    if flush:
        _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    try:
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as error:
        if error.errno not in _UNFLUSHED:
            raise
