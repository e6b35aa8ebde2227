"""The eight questions whose answers differ between the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from m3_memory.errors import M3Error
    from m3_memory.kernel.ranking import TermStatistics
    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View
    from m3_memory.storage.sql import Sql, Value


class Dialect(Protocol):
    """One engine, answering in our words. A ninth question needs a decision record."""

    def bind(self, text: str) -> str:
        """The statement text with this driver's parameter marks."""
        ...

    def begin(self, owner: int | None) -> tuple[Sql, ...]:
        """What opens a transaction: reading for None, else the one writing transaction of this owner."""
        ...

    def text_candidates(self, reader: Reader, view: View, terms: Sequence[str], limit: int) -> list[int]:
        """Visible items that hold any of the terms, the best `limit` of them; in no promised order."""
        ...

    def vector_candidates(
        self, reader: Reader, view: View, space: int, query: bytes, limit: int
    ) -> list[tuple[int, float]]:
        """Visible items nearest to the query vector, each by its best window: (item, cosine), best first."""
        ...

    def vector_value(self, vector: bytes) -> Value:
        """A vector, as little-endian float16 values, in the form its column takes."""
        ...

    def term_statistics(self, reader: Reader, view: View, terms: Sequence[str]) -> TermStatistics:
        """How many documents there are, their average length, and how many hold each term."""
        ...

    def classify(self, error: Exception) -> M3Error | None:
        """The driver's error as one of ours; None for an error that is a bug."""
        ...

    def damage(self, reader: Reader) -> list[str]:
        """What is wrong with the engine's own files and indexes, a sentence each; empty if nothing is."""
        ...

    def describe(self) -> str:
        """Engine and version, for people."""
        ...

    def copy_to(self, path: Path) -> None:
        """A consistent copy of the whole store in one new file, checked and flushed to the disk.

        Raises Refused where the engine's own tools are to be used, and OSError.
        """
        ...
