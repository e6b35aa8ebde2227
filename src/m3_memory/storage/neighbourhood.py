"""The nearest in meaning: to each vector of a batch, of what a view shows or of the batch itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.storage.dialect import Near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View

NEIGHBOURS_AT_ONCE = 500
"""The most vectors meant to be compared in one call."""


def nearest_all(
    reader: Reader, view: View, space: int, vectors: Sequence[bytes], count: int, floor: float
) -> list[list[tuple[int, float]]]:
    """For each vector the `count` visible items nearest to it: (item, cosine), best first, equals by item.

    An item counts by its best window, and only at a cosine of `floor` or more. Exact. `count` is 1 or more.
    Vectors are little-endian float16 of the space's dimension, up to NEIGHBOURS_AT_ONCE of them. An unknown
    space has nothing near. Raises ValueError for a vector of another dimension.
    """
    return reader.dialect.vector_candidates(reader, view, Near(space, vectors, count, floor))


def similar_within(vectors: Sequence[bytes], floor: float, count: int) -> list[list[tuple[int, float]]]:
    """For each vector the `count` others of its batch nearest to it: (place in it, cosine), best first.

    Only at a cosine of `floor` or more; equals by place. All vectors are of one dimension.
    """
    if not vectors:
        return []
    from m3_memory.storage.vectors import search

    asked = search.question(Near(0, vectors, count + 1, floor), len(vectors[0]) // 2)
    found = search.over_rows(
        asked, range(len(vectors)), lambda places: (list(places), asked.vectors[list(places)])
    )
    return [[pair for pair in near if pair[0] != own][:count] for own, near in enumerate(found)]
