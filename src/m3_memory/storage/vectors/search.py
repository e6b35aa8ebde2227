"""The nearest of what a view shows, exactly: by upper bound, until none that is left can be better.

A question is a batch of vectors; what it is asked of is columns, one a window: its item, and for each vector
of the batch the most its cosine with that window can be. Whole vectors are read for the best of these alone.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from m3_memory.storage.vectors.layout import Doubles, Floats, Integers, normalised

if TYPE_CHECKING:
    from m3_memory.storage.dialect import Found, Near

Windows: TypeAlias = "tuple[list[int], Doubles]"
"""The item of each window, and its vector at length one."""

ITEMS_PER_READ = 1024
ROUNDING = 2e-5
"""More than sums in single precision can lose."""
_HELPING = 50
_BOUNDS_AT_ONCE = 1 << 24


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for: a unit vector a row, how many items near each, and from which cosine on."""

    vectors: Doubles
    limit: int
    floor: float

    def parts(self, columns: int) -> Iterator[Question]:
        """The same question, so many vectors at once as bounds of so many columns find room for."""
        size = max(1, _BOUNDS_AT_ONCE // max(1, columns))
        for first in range(0, len(self.vectors), size):
            yield replace(self, vectors=self.vectors[first : first + size])


def question(near: Near, dimension: int) -> Question:
    """Raises ValueError for a vector that is not little-endian float16 of this dimension."""
    for vector in near.vectors:
        if len(vector) != 2 * dimension:
            raise ValueError(f"a vector of {len(vector)} bytes in a space of {dimension} dimensions")
    return Question(unit_vectors(near.vectors, dimension, "<f2"), near.limit, near.floor)


def unit_vectors(vectors: Sequence[bytes], dimension: int, kind: str) -> Doubles:
    """Half-precision vectors, each at length one."""
    joined = np.frombuffer(b"".join(vectors), kind).reshape(-1, dimension)
    return normalised(joined.astype(np.float64))


def over_rows(
    asked: Question, items: Sequence[int], windows: Callable[[Sequence[int]], Windows]
) -> list[Found]:
    """The answers from these items' rows alone, each of which is read."""
    found: list[Found] = []
    for part in asked.parts(len(items)):
        found += nearest(part, *columns(part, items, windows), windows)
    return found


def columns(
    asked: Question, items: Sequence[int], windows: Callable[[Sequence[int]], Windows]
) -> tuple[Integers, Floats]:
    """A column for each window of these items."""
    wanted = asked.vectors.astype(np.float32)
    owners, bounds = [np.empty(0, np.int64)], [np.empty((len(wanted), 0), np.float32)]
    for first in range(0, len(items), ITEMS_PER_READ):
        held_by, vectors = windows(items[first : first + ITEMS_PER_READ])
        owners.append(np.array(held_by, np.int64))
        bounds.append(wanted @ vectors.astype(np.float32).T + np.float32(ROUNDING))
    return np.concatenate(owners), np.concatenate(bounds, axis=1)


def nearest(
    asked: Question, items: Integers, bounds: Floats, windows: Callable[[Sequence[int]], Windows]
) -> list[Found]:
    """The answers, given the columns. `windows` reads those of the items that are to be seen."""
    size = max(_HELPING, 2 * asked.limit)
    seeking = [
        _Seeking(asked, vector, _descending(row, size, asked.floor))
        for vector, row in zip(asked.vectors, bounds, strict=True)
    ]
    waiting = seeking
    while waiting:
        wanted = [each.take(items) for each in waiting]
        owners, vectors = windows(sorted(set[int]().union(*wanted)))
        places = defaultdict[int, list[int]](list)
        for place, item in enumerate(owners):
            places[item].append(place)
        for each, its_items in zip(waiting, wanted, strict=True):
            each.weigh([(item, place) for item in its_items for place in places[item]], vectors)
        waiting = [each for each in waiting if not each.is_done]
    return [heapq.nsmallest(asked.limit, each.best.items(), key=_best_first) for each in seeking]


@dataclass(slots=True)
class _Seeking:
    """One vector on its way through the columns; no window that is left is nearer than `bound`."""

    asked: Question
    vector: Doubles
    helpings: Iterator[tuple[Integers, float]]
    bound: float = np.inf
    seen: set[int] = field(default_factory=set)
    best: dict[int, float] = field(default_factory=dict)

    def take(self, items: Integers) -> set[int]:
        """The items of the next helping that were in none before."""
        places, self.bound = next(self.helpings, (np.empty(0, np.int64), -np.inf))
        fresh = set(items[places].tolist()) - self.seen
        self.seen |= fresh
        return fresh

    def weigh(self, windows: Sequence[tuple[int, int]], vectors: Doubles) -> None:
        """Counts in windows, each its item and its place among the vectors."""
        # Row by row the same sum, whatever else is in the batch: equal vectors get equal cosines.
        cosines: Doubles = (vectors[[place for _, place in windows]] * self.vector).sum(axis=1)
        for (item, _), cosine in zip(windows, cosines.tolist(), strict=True):
            if cosine >= max(self.asked.floor, self.best.get(item, self.asked.floor)):
                self.best[item] = cosine

    @property
    def is_done(self) -> bool:
        limit = self.asked.limit
        enough = len(self.best) >= limit and heapq.nlargest(limit, self.best.values())[-1] > self.bound
        return enough or self.bound == -np.inf


def _descending(bounds: Floats, first: int, floor: float) -> Iterator[tuple[Integers, float]]:
    """The places of bounds of `floor` or more, best first, `first` of them and then twice as many each time.

    With each helping comes the highest bound of all that have not been served; in no order inside one.
    """
    left = np.flatnonzero(bounds >= floor)
    size = first
    while left.size > size:
        parted = left[np.argpartition(-bounds[left], size)]
        served, left = parted[:size], parted[size:]
        yield served, float(bounds[left].max())
        size *= 2
    yield left, -np.inf


def _best_first(found: tuple[int, float]) -> tuple[float, int]:
    return -found[1], found[0]
