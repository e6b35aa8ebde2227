"""What setup did to each file, kept in our home: what it takes to put every byte back."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from m3_memory.surfaces.cli.setup import files

if TYPE_CHECKING:
    from pathlib import Path

NO_FILE = "none"


class Record(NamedTuple):
    """One file that holds our entry.

    `before` is the digest of the file without it, NO_FILE where there was none, empty where that is not
    known; `after` that of the file as setup left it. `made` names what setup added around the entry: the
    key that holds servers, the folder of the file.
    """

    before: str
    after: str
    made: tuple[str, ...] = ()


class Ledger:
    """The records by path, and a copy of each file from before its first change."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "ledger.json"
        self._copies = folder / "before"

    def records(self) -> dict[str, Record]:
        """All there are; none where the file can't be understood, and then every byte can't be put back."""
        try:
            rows = json.loads(files.take(self._file).present)
            return {path: Record(str(row[0]), str(row[1]), tuple(row[2])) for path, row in rows.items()}
        except (ValueError, TypeError, LookupError, AttributeError):
            return {}

    def find(self, path: Path) -> Record | None:
        """The record of a file."""
        return self.records().get(str(path))

    def note(self, path: Path, record: Record | None) -> None:
        """Keeps this record of a file and no other, or none; with the last one the ledger goes.

        A copy that no record needs goes too: it holds what others keep to themselves. Raises FileUnavailable.
        """
        kept = {name: known for name, known in self.records().items() if name != str(path)}
        kept |= {str(path): record} if record else {}
        if kept:
            files.replace(files.take(self._file), json.dumps(kept, indent=2).encode() + b"\n")
        else:
            self._file.unlink(missing_ok=True)
        needed = {known.before for known in kept.values()}
        for copy in self._copies.glob("*"):
            if copy.name not in needed:
                copy.unlink(missing_ok=True)
        with suppress(OSError):
            self._copies.rmdir()

    def keep_copy(self, content: bytes) -> None:
        """Keeps what a file held, readable by this user alone. Raises FileUnavailable."""
        snapshot = files.take(self._copies / digest(content))
        if snapshot.content != content:
            files.replace(snapshot, content)

    def copy_of(self, before: str) -> bytes | None:
        """The content of that digest, if its copy is there and whole."""
        content = files.take(self._copies / before).content if before else None
        return content if content is not None and digest(content) == before else None


def digest(content: bytes | None) -> str:
    """What tells one content from another; NO_FILE for none."""
    return NO_FILE if content is None else sha256(content).hexdigest()
