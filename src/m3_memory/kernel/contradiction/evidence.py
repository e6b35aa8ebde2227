"""What speaks for and against a change, in two texts that are not written alike."""

from __future__ import annotations

from dataclasses import dataclass

from m3_memory.kernel.contradiction.reading import QUANTITIES, WEIGHTS, Reading

CHANGES = frozenset({"now", "changed", "retired", "correction"})
"""Cues of a change."""

ENDS = CHANGES - {"now"}
"""Cues that something is no more as it was."""

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
    said: float
    """How much of what the old text says of its subject the new one says too, 0 to 1."""
    covered: float
    """How much of the shorter text the other says too."""
    kind: str
    """The kind of value that differs; "" if none does."""
    values: tuple[str, str]
    retires: str
    """What the old text says and the new one ends; "" if nothing."""
    cues: frozenset[str]
    """Cues of the new text that the old one does not have."""

    @classmethod
    def of(cls, old: Reading, new: Reading, shared: frozenset[str]) -> Evidence:
        kind, values = differing(old, new)
        covered = weight(old, shared) / min(old.weight, new.weight)
        ours, theirs = (_part(reading, shared, slice(reading.boundary)) for reading in (old, new))
        said = _part(old, shared, slice(old.boundary, None))
        retired, cues = _retired(old, new), new.cues - old.cues
        return cls(old, new, shared, ours, theirs, said, covered, kind, values, retired, cues)

    @property
    def flips(self) -> bool:
        """Whether one denies what the other says."""
        return bool(self.old.negations) != bool(self.new.negations) and self.said >= 0.5


def _part(reading: Reading, shared: frozenset[str], part: slice) -> float:
    """How much of a part of a text the other says too; a half if that part says nothing."""
    own = frozenset(token.key for token in reading.tokens[part] if token.key in reading.content)
    return weight(reading, own & shared) / weight(reading, own) if own else 0.5


def differing(old: Reading, new: Reading) -> tuple[str, tuple[str, str]]:
    """The kind in which both texts have a value of their own, and the two values."""
    for kind in _ORDER:
        gone = [k for k in old.kinds if old.kinds[k] == kind and k not in new.kinds]
        come = [k for k in new.kinds if new.kinds[k] == kind and k not in old.kinds]
        for one in gone:
            for other in come:
                if _comparable(kind, one, other, old, new):
                    return kind, (one, other)
    return "", ("", "")


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
    boundary = old.boundary if old.boundary < len(old.tokens) else 0
    subject = {token.key for token in old.tokens[:boundary]}
    for place, token in enumerate(new.tokens):
        is_said = token.key in old.kinds and token.key not in subject and _names(token.key, old, new)
        if is_said and any(abs(place - end) <= _NEAR for end in new.endings):
            return token.text
    return ""


def _names(key: str, *readings: Reading) -> bool:
    kinds = {reading.kinds.get(key) for reading in readings}
    return bool(kinds & SPECIFIC) or ("number" in kinds and "." in key)


_NEAR = 4


def weight(reading: Reading, keys: frozenset[str]) -> float:
    """How much these keys of a text tell of its subject."""
    return sum(WEIGHTS.get(reading.kinds[key], 1.0) for key in keys)
