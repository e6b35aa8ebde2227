"""The head of every owner's history, written beside the database: forward only."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from m3_memory.storage.locks import file_lock
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from m3_memory.storage.transaction import Transaction

_LARGEST = 2**31 - 1
"""Of a whole number that both engines can compare."""

WAIT_SECONDS = 0.5
"""The longest a commit waits for others that note theirs; what it leaves out, its owner's next one notes."""


class HeadFile:
    """One JSON object: `origin/user` to the latest [sequence, hash] any process saw committed.

    It tells truncation of the history from an untouched one: a head that the history no longer holds, as
    after an older store was put in its place, stays noted until somebody takes the file away. Where the file
    can't be written the store works on.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def follow(self, transaction: Transaction) -> None:
        """Learns what the history holds from the noted head on; to be asked before the commit."""
        if transaction.head is None or self.path is None:
            return
        noted = _read(self.path).get(_name(transaction))
        if noted is not None:
            transaction.chained = frozenset(_chained_since(transaction, noted[0]))

    def note(self, transaction: Transaction) -> None:
        """Notes the head this committed transaction left, unless a later one stands there.

        Leaves it to the owner's next commit where the file stays locked. A head that is not in the history
        is left standing.
        """
        if transaction.head is None or self.path is None:
            return
        with suppress(OSError):
            _advance(self.path, _name(transaction), transaction.head, transaction.chained)

    def read(self) -> dict[str, tuple[int, str]]:
        """Every known head; empty when there is no file that can be understood."""
        return _read(self.path) if self.path else {}


def _read(path: Path) -> dict[str, tuple[int, str]]:
    try:
        noted = cast("dict[str, tuple[int, str]]", json.loads(path.read_text(encoding="utf-8")))
        return {name: (int(sequence), str(digest)) for name, (sequence, digest) in noted.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _name(transaction: Transaction) -> str:
    return f"{transaction.origin}/{transaction.user_id}"


def _chained_since(transaction: Transaction, sequence: int) -> Iterator[tuple[int, str]]:
    """The heads the history had, from that one on: others may note some before this transaction's turn."""
    found = transaction.rows(
        sql(
            "SELECT sequence, hash FROM memory_history WHERE owner = ? AND sequence >= ?"
            " ORDER BY sequence LIMIT 1000",
            transaction.owner,
            min(sequence, _LARGEST),
        )
    )
    return ((number(row[0]), text(row[1])) for row in found)


def _advance(path: Path, name: str, head: tuple[int, str], chained: Collection[tuple[int, str]]) -> None:
    with file_lock(path.with_name(f"{path.name}.lock"), WAIT_SECONDS) as held:
        heads = _read(path) if held else {}
        noted = heads.get(name)
        if not held or (noted is not None and (noted[0] >= head[0] or noted not in chained)):
            return
        heads[name] = head
        beside = path.with_name(f"{path.name}.new")
        beside.touch(0o600)
        beside.write_text(json.dumps(heads), encoding="utf-8")
        beside.replace(path)
