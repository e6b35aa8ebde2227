"""What speaks for and against a change, in two texts that are not written alike."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from m3_memory.kernel.contradiction.cues import CHANGES
from m3_memory.kernel.contradiction.reading import QUANTITIES, WEIGHTS, Reading

SPECIFIC = frozenset({"name", "path", "code"})
"""Kinds of tokens that name one thing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    old: Reading
    new: Reading
    shared: frozenset[str]
    subject: float
    """How much of the old subject the new text names, 0 to 1."""
    its_subject: float
    """How much of the new subject the old text names, 0 to 1."""
    covered: float
    """How much of the shorter text the other says too."""
    covers: float
    """How much of the longer one."""
    kind: str
    """The kind of value that differs; "" if none does."""
    values: tuple[str, str]
    retires: str
    """What the old text says and the new one ends; "" if nothing."""
    cues: frozenset[str]
    """Cues of the new text that the old one does not have."""

    @classmethod
    def of(cls, old: Reading, new: Reading, shared: frozenset[str]) -> Evidence:
        common, sizes = weight(old, shared), sorted((old.weight, new.weight))
        subjects = _named(old, shared), _named(new, shared)
        kind, values = differing(old, new)
        shares = common / sizes[0], common / sizes[1]
        return cls(
            old, new, shared, *subjects, *shares, kind, values, _retired(old, new), new.cues - old.cues
        )

    @property
    def changes(self) -> bool:
        """Whether the new text tells of a change."""
        return bool(self.cues & CHANGES)

    @property
    def denies(self) -> bool:
        """Whether one of the two denies something, and the other nothing."""
        return bool(self.old.negations) != bool(self.new.negations)


def _named(reading: Reading, shared: frozenset[str]) -> float:
    """How much of the subject of a text the other names too; a half if that part says nothing."""
    own = frozenset(token.key for token in reading.tokens[: reading.boundary] if token.key in reading.content)
    return weight(reading, own & shared) / weight(reading, own) if own else 0.5


def differing(old: Reading, new: Reading) -> tuple[str, tuple[str, str]]:
    """The kind in which both texts have a value of their own, and the two values as they are written."""
    gone = [(key, kind) for key, kind in old.kinds.items() if kind != "word" and key not in new.kinds]
    come = [(key, kind) for key, kind in new.kinds.items() if kind != "word" and key not in old.kinds]
    pairs = [
        (_ORDER.index(kind), one, other)
        for one, kind in gone
        for other, same in come
        if kind == same and _comparable(kind, one, other, old, new)
    ]
    if not pairs:
        return "", ("", "")
    rank, *values = min(pairs, key=itemgetter(0))
    return _ORDER[rank], (_as_written(old, values[0]), _as_written(new, values[1]))


def _as_written(reading: Reading, key: str) -> str:
    return next((token.text for token in reading.tokens if token.key == key), key)


_ORDER = ("state", *sorted(QUANTITIES), "number", "clock", "day", "date", "path", "code", "name")


def _comparable(kind: str, one: str, other: str, old: Reading, new: Reading) -> bool:
    if kind in QUANTITIES:
        return not about_equal(kind, one, other)
    if kind == "state":
        return one.split(":")[0] == other.split(":")[0]
    if kind == "number":
        return bool(old.labels.get(one, frozenset()) & new.labels.get(other, frozenset()))
    return True


def about_equal(kind: str, one: str, other: str) -> bool:
    """Whether two quantities are the same, or the same but for powers of two read as powers of ten."""
    low, high = sorted((float(one.removeprefix(kind)), float(other.removeprefix(kind))))
    return low == high or (kind == "size" and any(abs(high / low - r) < 1e-3 for r in _POWERS if low))


_POWERS = (1.024, 1.024**2, 1.024**3, 1.024**4)


def _retired(old: Reading, new: Reading) -> str:
    """A name of what the old text says of its subject that stands near a word of ending in the new one."""
    if not new.endings:
        return ""
    boundary = old.boundary if old.boundary < len(old.tokens) else 0
    subject = {token.key for token in old.tokens[:boundary]}
    for place, token in enumerate(new.tokens):
        is_said = token.key in old.kinds and token.key not in subject and _names(token.key, old, new)
        if is_said and any(abs(place - end) <= NEAR for end in new.endings):
            return token.text
    return ""


def _names(key: str, *readings: Reading) -> bool:
    kinds = {reading.kinds.get(key) for reading in readings}
    return bool(kinds & SPECIFIC) or ("number" in kinds and "." in key)


NEAR = 5


def weight(reading: Reading, keys: frozenset[str]) -> float:
    """How much these keys of a text tell of its subject."""
    return sum(WEIGHTS.get(reading.kinds[key], 1.0) for key in keys)
