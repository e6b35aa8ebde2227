"""The ten questions whose answers differ between the engines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from m3_memory.kernel.ranking import TermStatistics
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number

if TYPE_CHECKING:
    from pathlib import Path

    from m3_memory.errors import M3Error
    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View
    from m3_memory.storage.sql import Sql, Value

COUNTED_DOCUMENTS = 20_000
"""Up to so many documents a term is counted; one of more is taken to be in a tenth of all at the least."""

Found: TypeAlias = "list[tuple[int, float]]"
"""(item, cosine), best first, equals by item."""


@dataclass(frozen=True, slots=True)
class Near:
    """What to look near: vectors of one space. So many items near each, of this cosine or more."""

    space: int
    vectors: Sequence[bytes]
    limit: int
    floor: float = -2.0


class Dialect(Protocol):
    """One engine, answering in our words. Another question needs a decision record."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What people should know of how this store is kept; nothing as a rule."""
        ...

    def text_candidates(self, reader: Reader, view: View, terms: Sequence[str], limit: int) -> list[int]:
        """Visible items that hold any of the terms, the best `limit` of them, best first.

        Best are those whose terms weigh most together, the newest of equals; a term weighs more the fewer
        of the items found hold it. So no row out of sight has a say, and both engines choose the same.
        """
        ...

    def vector_candidates(self, reader: Reader, view: View, near: Near) -> list[Found]:
        """For each vector the visible items nearest to it, each by its best window: exact."""
        ...

    def cosines(self, reader: Reader, near: Near, items: Sequence[int]) -> dict[int, float]:
        """How near these items are to the first vector, each by its best window; none without a vector."""
        ...

    def vector_value(self, vector: bytes) -> Value:
        """A vector, as little-endian float16 values, in the form its column takes."""
        ...

    def term_statistics(self, reader: Reader, view: View, terms: Sequence[str]) -> TermStatistics:
        """How many documents the view's audiences have, their average length, and how many hold each term.

        What other audiences hold changes nothing in it.
        """
        ...

    def classify(self, error: Exception) -> M3Error | None:
        """The driver's error as one of ours; None for an error that is a bug."""
        ...

    def damage(self, reader: Reader) -> list[str]:
        """What is wrong with the engine's own files and indexes, a sentence each; empty if nothing is."""
        ...

    def remove_strays(self, writer: Writer, limit: int) -> int:
        """Takes entries of the word index that belong to no document out of it; returns how many.

        At most `limit`; 0 once there is none, as where the index is part of the documents.
        """
        ...

    def describe(self) -> str:
        """Engine and version, for people."""
        ...

    def copy_to(self, path: Path) -> None:
        """A consistent copy of the whole store in one new file, checked and flushed to the disk.

        Raises Refused where the engine's own tools are to be used, and OSError.
        """
        ...


def statistics(
    reader: Reader, audiences: Sequence[int], terms: Sequence[str], holding: Sql
) -> TermStatistics:
    """What is known of terms in these audiences; `holding` asks how many documents hold each (asked.key)."""
    counted = (number(row[0]) for row in reader.rows(holding + sql("ORDER BY asked.key")))
    kept = reader.rows(
        sql("SELECT documents, tokens FROM search_totals WHERE") + any_of("audience", audiences)
    )
    documents, tokens = sum(number(row[0]) for row in kept), sum(number(row[1]) for row in kept)
    common = documents // 10
    counts = {
        term: max(count, common) if count >= COUNTED_DOCUMENTS else count
        for term, count in zip(terms, counted, strict=False)
        if count
    }
    return TermStatistics(documents, tokens / documents if documents else 0.0, counts)


def listed(texts: Sequence[str]) -> str:
    """Texts as one value: a JSON list, which both engines take apart again."""
    return json.dumps(texts, ensure_ascii=False)
