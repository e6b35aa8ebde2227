"""The head of every owner's history, written beside the database: forward only."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from m3_memory.storage.locks import file_lock

if TYPE_CHECKING:
    from pathlib import Path

    from m3_memory.storage.transaction import Transaction


WAIT_SECONDS = 0.5
"""The longest a commit waits for others that note theirs; what it leaves out, its owner's next one notes."""


class HeadFile:
    """One JSON object: `origin/user` to the latest [sequence, hash] any process saw committed.

    It tells truncation of the history from an untouched one. Where it can't be written the store works on.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def note(self, transaction: Transaction) -> None:
        """Notes the head this committed transaction left, unless a later one stands there.

        Leaves it to the owner's next commit where the file stays locked.
        """
        head = transaction.head
        if head is None or self.path is None:
            return
        with suppress(OSError):
            _advance(self.path, f"{transaction.origin}/{transaction.user_id}", *head)

    def read(self) -> dict[str, tuple[int, str]]:
        """Every known head; empty when there is no file that can be understood."""
        return _read(self.path) if self.path else {}


def _read(path: Path) -> dict[str, tuple[int, str]]:
    try:
        noted = cast("dict[str, tuple[int, str]]", json.loads(path.read_text(encoding="utf-8")))
        return {name: (int(sequence), str(digest)) for name, (sequence, digest) in noted.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _advance(path: Path, name: str, sequence: int, digest: str) -> None:
    with file_lock(path.with_name(f"{path.name}.lock"), WAIT_SECONDS) as held:
        heads = _read(path) if held else {}
        if not held or heads.get(name, (0, ""))[0] >= sequence:
            return
        heads[name] = (sequence, digest)
        beside = path.with_name(f"{path.name}.new")
        beside.touch(0o600)
        beside.write_text(json.dumps(heads), encoding="utf-8")
        beside.replace(path)
