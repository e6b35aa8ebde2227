"""Cache files: how they are mapped, locked, written and replaced.

Readers map and never lock. Who writes holds the file's lock, puts blocks first and the header last, and never
shortens a file: a rebuilt one takes its place by renaming.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import weakref
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from m3_memory.storage.locks import lock
from m3_memory.storage.vectors.layout import (
    HEADER_BYTES,
    NAMES,
    SLOTS_PER_BLOCK,
    Header,
    Integers,
    Records,
    block_type,
    decoded,
)

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""


class Slots:
    """One file as mapped at some size. Others may write to it meanwhile; stamps tell what they touched."""

    def __init__(self, file: int, dimension: int) -> None:
        status = os.fstat(file)
        self.identity: Identity = (status.st_dev, status.st_ino)
        self._map = mmap.mmap(file, status.st_size, access=mmap.ACCESS_READ)
        kind = block_type(dimension)
        whole = max(0, status.st_size - HEADER_BYTES) // kind.itemsize
        self.blocks: Records = np.frombuffer(self._map, kind, whole, HEADER_BYTES)

    @property
    def capacity(self) -> int:
        """How many slots are mapped."""
        return len(self.blocks) * SLOTS_PER_BLOCK

    def header(self) -> Header | None:
        """The header as it stands now; None if it is damaged or being written."""
        return decoded(self._map[:HEADER_BYTES])

    def is_whole(self) -> bool:
        """Whether the file still has all that is mapped of it: to touch a page beyond its end is fatal."""
        return self._map.size() >= len(self._map)

    def is_intact(self) -> bool:
        """Whether every block is as it was written; true only while nobody writes."""
        header = self.header()
        if header is None or header.count > self.capacity:
            return False
        blocks = self.blocks[: blocks_for(header.count)]
        return sum(_checksum(block) for block in blocks) == header.checksum


class Home(Protocol):
    """Where the file of one embedding space lives. Files are open descriptors; writing may raise OSError."""

    def mapped(self, dimension: int) -> Slots | None:
        """The file as it is now; None if there is none yet."""
        ...

    def identity(self) -> Identity | None:
        """Which file is there now."""
        ...

    @contextmanager
    def writing(self) -> Generator[int | None]:
        """The file to write to, alone; None while another process has it."""
        ...

    @contextmanager
    def replacing(self) -> Generator[int | None]:
        """An empty file that takes the old one's place at the end; None while another process does this."""
        ...


class SharedHome:
    """A file beside the database, for every process that uses it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def mapped(self, dimension: int) -> Slots | None:
        try:
            with _opened(self._path, os.O_RDONLY) as file:
                return Slots(file, dimension) if _has_header(file) else None
        except OSError:
            return None

    def identity(self) -> Identity | None:
        return _identity(self._path)

    @contextmanager
    def writing(self) -> Generator[int | None]:
        with _locked(self._path) as file:
            yield file

    @contextmanager
    def replacing(self) -> Generator[int | None]:
        beside = self._path.with_name(f"{self._path.name}.new")
        with _locked(beside) as file:
            if file is None:
                yield None
                return
            os.ftruncate(file, 0)
            try:
                yield file
            except OSError:
                beside.unlink()
                raise
            beside.replace(self._path)


class PrivateHome:
    """A file without a name, for this process alone, where nothing can be written beside the database."""

    def __init__(self) -> None:
        self._file = _anonymous()
        self._close = weakref.finalize(self, os.close, self._file)

    def mapped(self, dimension: int) -> Slots | None:
        return Slots(self._file, dimension) if _has_header(self._file) else None

    def identity(self) -> Identity | None:
        return _identity(self._file)

    @contextmanager
    def writing(self) -> Generator[int | None]:
        yield self._file

    @contextmanager
    def replacing(self) -> Generator[int | None]:
        fresh = _anonymous()
        close = weakref.finalize(self, os.close, fresh)
        try:
            yield fresh
        except BaseException:
            close()
            raise
        self._close()
        self._file, self._close = fresh, close


def write_header(file: int, header: Header) -> None:
    """Says what the file holds now; the last thing a writer does."""
    _write(file, header.encoded(), 0)


def write_slots(file: int, count: int, places: Integers, records: Records) -> int:
    """Puts each record at its place; returns by how much the sum of the blocks' checksums grew.

    `count` is how many slots counted so far. A whole block is read, changed and written, its stamps ahead of
    all else: who sees anything new sees the new stamp too.
    """
    kind = block_type(records["row"].shape[1])
    numbers = places // SLOTS_PER_BLOCK
    grown = 0
    for number in np.unique(numbers):
        chosen = numbers == number
        within = places[chosen] % SLOTS_PER_BLOCK
        offset = HEADER_BYTES + int(number) * kind.itemsize
        block = np.zeros(1, kind)[0]
        if number < blocks_for(count):
            block = np.frombuffer(_read(file, kind.itemsize, offset), kind)[0].copy()
            grown -= _checksum(block)
        for name in NAMES:
            block[name][within] = records[name][chosen]
        content = block.tobytes()
        _write(file, content[: block["stamp"].nbytes], offset)
        _write(file, content, offset)
        grown += zlib.crc32(content)
    return grown


def blocks_for(count: int) -> int:
    """How many blocks that many slots take."""
    return -(-count // SLOTS_PER_BLOCK)


def _checksum(block: Records | np.void) -> int:
    return zlib.crc32(block.tobytes())


def _read(file: int, length: int, offset: int) -> bytes:
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, length).ljust(length, b"\0")


def _write(file: int, content: bytes, offset: int) -> None:
    os.lseek(file, offset, os.SEEK_SET)
    done = 0
    while done < len(content):
        done += os.write(file, content[done:])


@contextmanager
def _opened(path: Path, flags: int) -> Generator[int]:
    file = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def _locked(path: Path) -> Generator[int | None]:
    """The file at this path, made if absent, under its lock; None if the lock is taken or the file moved."""
    if sys.platform == "win32":
        raise OSError("a file that is mapped can't be replaced here, so none is shared")
    with _opened(path, os.O_RDWR | os.O_CREAT) as file:
        try:
            lock(file)
        except BlockingIOError:
            yield None
            return
        yield file if _identity(path) == _identity(file) else None


def _identity(file: Path | int) -> Identity | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - of a descriptor too
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _has_header(file: int) -> bool:
    return os.fstat(file).st_size >= HEADER_BYTES


def _anonymous() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("m3-vectors")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
