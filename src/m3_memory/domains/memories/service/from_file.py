"""A memory whose content is read from a file: of the caller's project or of our own spool, nowhere else."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from m3_memory.domains.memories.service.writes import write
from m3_memory.errors import InvalidArgument, InvalidContent, Refused

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.domains.memories.model import WriteRequest, WriteResult

MAX_FILE_BYTES = 200_000
SPOOL = "spool"
"""The folder below the home folder from which files are taken, and removed once they are stored."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file that is open for reading, and the open folder it lies in."""

    folder: int
    name: str
    file: int

    def remove(self) -> str:
        """Removes the very file that was opened; returns what to say if that can't be done."""
        try:
            there = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
            if os.path.samestat(there, os.fstat(self.file)):
                os.unlink(self.name, dir_fd=self.folder)
                return ""
            return "the file was replaced meanwhile and left as it is"
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"the file could not be removed: {error.strerror}"


def write_from_file(
    ctx: Context, path: str, request: WriteRequest, *, delete_after_read: bool | None = None
) -> WriteResult:
    """As `write`, with the file's text as the content of the request.

    The path is absolute and leads, without any symbolic link, to a regular file of UTF-8 text of at most
    MAX_FILE_BYTES below the caller's project folder or our spool. Only a file of the spool is removed, once
    it is stored, unless `delete_after_read` is false. Raises Refused for any other place, InvalidArgument for
    what can't be read, InvalidContent for what is no such text, and what `write` raises.
    """
    spool = ctx.settings.home.resolve() / SPOOL
    root, below = _placed(path, [spool, *([Path(ctx.caller.folder)] if ctx.caller.folder else [])])
    with ExitStack() as opened:
        found = _opened(opened, root, below, path)
        result = write(ctx, replace(request, content=_text(found.file, path)))
        said = _removed(found, root == spool, delete_after_read)
    return replace(result, warnings=[*result.warnings, *said])


def _removed(found: _Opened, is_ours: bool, asked: bool | None) -> list[str]:
    if is_ours and asked is not False:
        said = found.remove()
    else:
        said = f"the file was left: only files in the folder {SPOOL} are removed" if asked else ""
    return [said] if said else []


def _placed(path: str, roots: list[Path]) -> tuple[Path, tuple[str, ...]]:
    """The folder a path lies below, and the names that lead down from it. Nothing is looked up."""
    given = Path(path)
    for root in roots:
        if given.is_relative_to(root) and ".." not in given.parts and given != root:
            return root, given.relative_to(root).parts
    raise Refused(
        "only files below the project folder or the spool are read",
        f"give an absolute path, without '..', below {' or '.join(map(str, reversed(roots)))}",
    )


def _opened(opened: ExitStack, root: Path, below: tuple[str, ...], path: str) -> _Opened:
    """Opens every folder on the way by its name in the one before, so that none can be swapped for a link."""
    if sys.platform == "win32":
        raise Refused("files are not read on this system", "give the text to memory_write")
    follow_nothing = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder = _kept(opened, os.open(root, follow_nothing | os.O_DIRECTORY))
        for name in below[:-1]:
            folder = _kept(opened, os.open(name, follow_nothing | os.O_DIRECTORY, dir_fd=folder))
        file = _kept(opened, os.open(below[-1], follow_nothing | os.O_NONBLOCK, dir_fd=folder))
    except OSError as error:
        raise InvalidArgument(
            f"{path} can't be read: {error.strerror}", "give a regular file, with no symbolic link on the way"
        ) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise InvalidArgument(f"{path} is no regular file", "give a file of text")
    return _Opened(folder, below[-1], file)


def _kept(opened: ExitStack, descriptor: int) -> int:
    opened.callback(os.close, descriptor)
    return descriptor


def _text(file: int, path: str) -> str:
    with open(file, "rb", closefd=False) as stream:
        try:
            found = stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise InvalidArgument(f"{path} can't be read: {error.strerror}", "check the disk") from None
    if len(found) > MAX_FILE_BYTES:
        raise InvalidContent(
            f"{path} has more than {MAX_FILE_BYTES:,} bytes", "split it into several memories"
        )
    with suppress(UnicodeDecodeError):
        return found.decode("utf-8-sig")
    raise InvalidContent(f"{path} is not UTF-8 text", "save it as UTF-8")
