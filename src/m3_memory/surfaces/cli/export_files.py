"""Files that leave and come in: written whole or not at all, read by lines, with progress for a person."""

from __future__ import annotations

import errno
import hashlib
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from m3_memory.atomic_file import replacing
from m3_memory.errors import FileUnavailable, InvalidArgument, StoreFull
from m3_memory.surfaces.cli import output

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from io import BufferedReader

STANDARD_OUTPUT = "-"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_DATABASE = b"SQLite format 3\0"
_LOGS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_TOLD_EVERY = 10_000
_LONGEST_LINE_BYTES = 8_000_000
"""More than the longest row takes. What is longer comes in pieces, which nobody takes for lines."""


def write_lines(name: str, lines: Iterable[bytes], *, replace: bool) -> bytes:
    """Writes the lines, with progress, to a new file of its user's alone, and returns the last.

    It has its name only once it is whole and on the disk; `-` is standard output. Raises InvalidArgument for
    one that is there already, unless it may be replaced, for a database, and for what is no file;
    FileUnavailable and StoreFull.
    """
    if name == STANDARD_OUTPUT:
        last = _passed(lines, _show if sys.stdout.isatty() else sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
        return last
    path = Path(name).expanduser().resolve()
    try:
        _ensure_free(path, replace=replace)
        with replacing(path) as unfinished:
            with unfinished.open("wb") as file:
                last = _passed(lines, file.write)
            _ensure_free(path, replace=replace)
    except OSError as error:
        kind = StoreFull if error.errno in _FULL else FileUnavailable
        raise kind(
            f"{path} can't be written: {error.strerror or error}; there is no export",
            "name a file in a folder that this user may write to and that has room",
        ) from error
    return last


def lines_of(name: str) -> Iterator[bytes]:
    """The lines of a file, each with its line feed. Raises FileUnavailable for one that can't be read."""
    with _opened(name) as file:
        while line := file.readline(_LONGEST_LINE_BYTES):
            yield line


def digest_of(name: str) -> str:
    """SHA-256 of a file, in hexadecimal. Raises FileUnavailable for one that can't be read."""
    with _opened(name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def told(lines: Iterable[bytes], doing: str) -> Iterator[bytes]:
    """The same lines; a person at a terminal is told how many have passed."""
    is_watched = sys.stderr.isatty()
    for count, line in enumerate(lines, 1):
        yield line
        if is_watched and count % _TOLD_EVERY == 0:
            output.print_text(f"{doing}: {count:,} lines", sys.stderr)


@contextmanager
def _opened(name: str) -> Generator[BufferedReader]:
    path = Path(name).expanduser()
    _ensure_file(path)
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise FileUnavailable(
            f"{path} can't be read: {error.strerror or error}", "name a file that this user may read"
        ) from error


def _passed(lines: Iterable[bytes], write: Callable[[bytes], object]) -> bytes:
    last = b""
    for last in told(lines, "exported"):
        write(last)
    return last


def _show(line: bytes) -> None:
    """A line on a terminal: what would act on it is shown as escapes."""
    sys.stdout.buffer.write(output.inert(line.decode().removesuffix("\n")).encode() + b"\n")


def _ensure_file(path: Path) -> None:
    """Raises InvalidArgument for folders, devices and pipes, which are neither replaced nor read twice."""
    if path.exists() and not path.is_file():
        raise InvalidArgument(f"{path} is no file", "name a file")


def _ensure_free(path: Path, *, replace: bool) -> None:
    _ensure_file(path)
    if path.exists() and not replace:
        raise InvalidArgument(f"{path} is there already", "name another file, or replace it with --force")
    if path.exists() and _is_store(path):
        raise InvalidArgument(f"{path} is a database, which no export replaces", "name another file")


def _is_store(path: Path) -> bool:
    """Whether the file is one that SQLite keeps: a store, its log, or a backup."""
    with path.open("rb") as file:
        return file.read(len(_DATABASE)).startswith((_DATABASE, *_LOGS))
