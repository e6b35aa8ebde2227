"""A disk that fails when told to: an apsw virtual file system that counts what changes files.

The nth of these operations fails, or the nth and all after it, or something else happens there (a SIGKILL).
Everything else goes to the real file system. Name it in `open_database(path, clock, vfs=disk.name)`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from uuid import uuid4

import apsw

_PREFIX = "faulty-"
_CHECKPOINT_PAGES = 1000


class FaultyDisk(apsw.VFS):
    """Counts operations while armed; `struck` says whether the fault has happened.

    `syncs` is how often the disk was asked to keep what it has been given.
    """

    def __init__(self) -> None:
        self.name = f"{_PREFIX}{uuid4().hex}"
        super().__init__(self.name, "")
        self.count = 0
        self.syncs = 0
        self.struck = False
        self._at = 0
        self._is_lasting = False
        self._strike: Callable[[], None] = _nothing

    @contextmanager
    def failing(self, at: int, strike: Callable[[], None], *, lasting: bool = False) -> Generator[None]:
        """For the block, operation number `at` (from 1) strikes; with `lasting` every later one as well."""
        self.count, self.struck = 0, False
        self._at, self._strike, self._is_lasting = at, strike, lasting
        try:
            yield
        finally:
            self._at = 0

    def operation(self) -> None:
        """One more operation that changes a file is about to happen."""
        if not self._at:
            return
        self.count += 1
        if self.count == self._at or (self._is_lasting and self.count > self._at):
            self.struck = True
            self._strike()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if flags[0] & apsw.SQLITE_OPEN_CREATE and path and not self.xAccess(path, 0):
            self.operation()  # a file that is there is opened on a failing disk too
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.operation()
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.operation()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.syncs += 1
        self._disk.operation()
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.operation()
        super().xTruncate(newsize)


def _checkpoint_in_silence(connection: apsw.Connection, name: str, pages: int) -> int:
    if pages >= _CHECKPOINT_PAGES:
        with suppress(apsw.Error):
            connection.wal_checkpoint(name)
    return apsw.SQLITE_OK


def _prepare(connection: apsw.Connection) -> None:
    """After a commit SQLite lets a checkpoint fail without a word; apsw would raise what was raised in it."""
    if connection.open_vfs.startswith(_PREFIX):
        connection.set_wal_hook(_checkpoint_in_silence)


apsw.connection_hooks.append(_prepare)


def full_disk() -> None:
    """Strikes as a disk without room does."""
    raise apsw.FullError("the disk is full (as the test wants it)")


def broken_disk() -> None:
    """Strikes as a disk that fails does."""
    raise apsw.IOError("the disk failed (as the test wants it)")


def killed() -> None:
    """Ends this process at once, as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def _nothing() -> None:
    return
