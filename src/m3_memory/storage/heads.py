"""The head of every owner's history, written beside the database: forward only."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from m3_memory.atomic_file import replacing
from m3_memory.storage.locks import file_lock
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.transaction import Transaction

HOW_TO_ACCEPT = "if that was meant, m3 doctor --accept-head takes the history as it is"

_LARGEST = 2**31 - 1
"""Of a whole number that both engines can compare."""

Head: TypeAlias = "tuple[int, str]"
"""(sequence, hash) of an event."""

WAIT_SECONDS = 0.5
"""The longest a commit waits for others that note theirs; what it leaves out, its owner's next one notes."""


@dataclass(frozen=True, slots=True)
class LostHead:
    """A noted head that the reader's history does not hold, and the sequence of the last event it does."""

    noted: Head
    ends_at: int

    def __str__(self) -> str:
        if self.ends_at < self.noted[0]:
            return (
                "an older copy of the store was put back, or a power failure took its last writes: the"
                f" history ends at event {self.ends_at}, and event {self.noted[0]} was noted beside it"
            )
        return (
            "an older copy of the store was put back and written to since, or its history was rewritten:"
            f" event {self.noted[0]} of {self.ends_at} is not the one that was noted beside it"
        )


def lost_head(reader: Reader, heads: Mapping[str, Head]) -> LostHead | None:
    """The head noted for the reader's user if the history holds it no more; reads one row.

    `heads` is to be read before the transaction begins, since a commit in between moves them on.
    """
    noted = heads.get(_name(reader))
    if noted is None or not noted[0]:
        return None
    found = reader.row(
        sql(
            "SELECT o.last_sequence, h.hash FROM owners AS o LEFT JOIN memory_history AS h"
            " ON h.owner = o.owner AND h.sequence = ? WHERE o.user_id = ?",
            min(noted[0], _LARGEST),
            reader.user_id,
        )
    )
    ends_at, digest = found or (0, None)
    return None if digest == noted[1] else LostHead(noted, number(ends_at))


class HeadFile:
    """One JSON object: `origin/user` to the latest [sequence, hash] any process saw committed.

    It tells truncation of the history from an untouched one: a head that the history no longer holds, as
    after an older store was put in its place, stays noted until a person accepts that. Where the file can't
    be written the store works on.
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

    def accept(self, writer: Writer) -> None:
        """Notes the head this committed transaction left, whatever stood there. Raises OSError."""
        if writer.head is None or self.path is None:
            return
        with file_lock(self.path.with_name(f"{self.path.name}.lock"), WAIT_SECONDS):
            _write(self.path, _read(self.path) | {_name(writer): writer.head})

    def read(self) -> dict[str, Head]:
        """Every known head; empty when there is no file that can be understood."""
        return _read(self.path) if self.path else {}


def _read(path: Path) -> dict[str, Head]:
    try:
        noted = cast("dict[str, tuple[int, str]]", json.loads(path.read_text(encoding="utf-8")))
        return {name: (int(sequence), str(digest)) for name, (sequence, digest) in noted.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _name(reader: Reader | Transaction) -> str:
    return f"{reader.origin}/{reader.user_id}"


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
        _write(path, heads | {name: head})


def _write(path: Path, heads: Mapping[str, Head]) -> None:
    with replacing(path, flush=False) as beside:  # no commit waits for the disk either
        beside.write_text(json.dumps(heads), encoding="utf-8")
