"""Sql: literal text and its values as one value, composed and never formatted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import LiteralString, TypeAlias, TypeVar

Value: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Sql:
    """A statement or a part of one: text with `?` marks, and one value per mark, in order."""

    text: str
    values: tuple[Value, ...] = ()

    def __add__(self, other: Sql) -> Sql:
        return Sql(f"{self.text} {other.text}", self.values + other.values)


def sql(text: LiteralString, *values: Value) -> Sql:
    """A part written out in the source; the only way text gets into a statement."""
    return Sql(text, values)


def join(separator: LiteralString, parts: Iterable[Sql]) -> Sql:
    """Parts in a row with a literal between them."""
    listed = tuple(parts)
    return Sql(separator.join(part.text for part in listed), tuple(v for part in listed for v in part.values))


def any_of(column: LiteralString, values: Sequence[Value]) -> Sql:
    """`column IN (…)`; false for no values."""
    if not values:
        return Sql("1 = 0")
    return Sql(f"{column} IN ({', '.join('?' * len(values))})", tuple(values))


_Named = TypeVar("_Named")

NAMED_AT_ONCE = 500
"""How many ids or numbers one statement names."""


def in_parts(values: Sequence[_Named]) -> list[Sequence[_Named]]:
    """The values in pieces that a statement can name."""
    return [values[start : start + NAMED_AT_ONCE] for start in range(0, len(values), NAMED_AT_ONCE)]


def values_of(rows: Sequence[Sequence[Value]]) -> Sql:
    """`VALUES (?, …), …`: one row or more, all of one length."""
    return Sql(_marks(len(rows), len(rows[0])), tuple(chain.from_iterable(rows)))


@lru_cache(256)
def _marks(rows: int, columns: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"VALUES {', '.join([row] * rows)}"
