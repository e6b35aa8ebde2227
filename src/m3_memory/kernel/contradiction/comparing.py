"""What two texts are to one another."""

from __future__ import annotations

import re
from typing import Protocol

from m3_memory.kernel.contradiction.alignment import aligned
from m3_memory.kernel.contradiction.cues import CHANGES
from m3_memory.kernel.contradiction.evidence import Evidence, weight
from m3_memory.kernel.contradiction.parallel import parallel
from m3_memory.kernel.contradiction.reading import Reading, read
from m3_memory.kernel.contradiction.rewording import reworded
from m3_memory.kernel.contradiction.verdict import Comparison, Verdict


class Said(Protocol):
    """A text with its title, as a comparison reads it."""

    @property
    def title(self) -> str: ...
    @property
    def content(self) -> str: ...


def compare(old: Said, new: Said) -> Comparison:
    """What `new` is to `old` by their texts alone, whatever their dates."""
    return compare_readings(_reading(old), _reading(new))


def _reading(said: Said) -> Reading:
    return read(f"{said.title}: {said.content}" if said.title else said.content)


_LEAST_SHARED = 1.0
_LEAST_COVERED = 0.28
_IN_ORDER, _IN_ORDER_OF_CHANGE = 0.5, 0.6
"""How much must be said in the same order for the slots to decide, and where a change is told beside them."""


def compare_readings(old: Reading, new: Reading) -> Comparison:
    """What one text is to another that was read before."""
    if old.normal == new.normal:
        return Comparison(Verdict.DUPLICATE, "same_words")
    if not (old.is_whole and new.is_whole):
        return Comparison(Verdict.DISTINCT, "too_long")
    shared = old.content & new.content
    common = weight(old, shared)
    covered = common / max(0.1, min(old.weight, new.weight))
    if common < _LEAST_SHARED or covered < _LEAST_COVERED:
        return Comparison(Verdict.DISTINCT, "unrelated")
    if _swaps(old, new):
        return Comparison(Verdict.DISTINCT, "other_subject")
    if _may_align(old, new):
        alignment = aligned(old, new)
        changes = len(alignment.slots) > 1 and (new.cues - old.cues) & CHANGES
        if alignment.share >= (_IN_ORDER_OF_CHANGE if changes else _IN_ORDER):
            return parallel(old, new, alignment)
    return reworded(Evidence.of(old, new, shared))


_COMPOUND = re.compile(r"(?<![\w-])(?=[\d-]*[^\W\d])\w+(?:-\w+)+")
"""A name of several parts; a date is none."""


def _swaps(old: Reading, new: Reading) -> bool:
    """Whether each has a name of the other's parts in another order: `a-b` and `b-a` are two."""
    if "-" not in old.normal or "-" not in new.normal:
        return False
    one, other = (frozenset(_COMPOUND.findall(reading.normal)) for reading in (old, new))
    own, theirs = ({tuple(sorted(name.split("-"))) for name in names} for names in (one - other, other - one))
    return bool(own & theirs)


def _may_align(old: Reading, new: Reading) -> bool:
    return len(old.keys & new.keys) >= _IN_ORDER * max(len(old.keys), len(new.keys)) - 1
