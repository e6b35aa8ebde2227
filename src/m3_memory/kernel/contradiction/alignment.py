"""Two texts laid side by side: where they say the same in the same order, and where each says its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from m3_memory.kernel.contradiction.reading import Reading, Token

_LARGEST = 3_600
"""Beyond so many pairs of tokens that may match, none of them is looked at."""


class Slot(NamedTuple):
    """A place at which two texts differ."""

    old: tuple[Token, ...]
    new: tuple[Token, ...]
    in_subject: bool
    """Whether it stands before what is said of the subject, in either text."""


class Alignment(NamedTuple):
    slots: tuple[Slot, ...]
    share: float
    """How much of the longer text is said in the same order by the other, 0 to 1."""


def aligned(old: Reading, new: Reading) -> Alignment:
    """The longest common order of two texts' tokens, and the slots between."""
    one, other = old.tokens, new.tokens
    pairs = _common([token.key for token in one], [token.key for token in other])
    slots: list[Slot] = []
    before, behind = 0, 0
    for place, across in (*pairs, (len(one), len(other))):
        if place > before or across > behind:
            in_subject = before < old.boundary and behind < new.boundary
            slots.append(Slot(one[before:place], other[behind:across], in_subject))
        before, behind = place + 1, across + 1
    return Alignment(tuple(slots), len(pairs) / max(len(one), len(other), 1))


def _common(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    ends = 0
    while ends < min(len(one), len(other)) - start and one[-1 - ends] == other[-1 - ends]:
        ends += 1
    middle = _subsequence(one[start : len(one) - ends], other[start : len(other) - ends])
    return [
        *((place, place) for place in range(start)),
        *((start + place, start + across) for place, across in middle),
        *((len(one) - left, len(other) - left) for left in range(ends, 0, -1)),
    ]


def _subsequence(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    if len(one) * len(other) > _LARGEST:
        return []
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for place in reversed(range(len(one))):
        row, below, key = lengths[place], lengths[place + 1], one[place]
        for across in reversed(range(len(other))):
            if key == other[across]:
                row[across] = below[across + 1] + 1
            else:
                row[across] = max(below[across], row[across + 1])
    pairs: list[tuple[int, int]] = []
    place = across = 0
    while place < len(one) and across < len(other):
        if one[place] == other[across]:
            pairs.append((place, across))
            place, across = place + 1, across + 1
        elif lengths[place + 1][across] >= lengths[place][across + 1]:
            place += 1
        else:
            across += 1
    return pairs
