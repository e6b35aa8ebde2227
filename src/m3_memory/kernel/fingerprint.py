"""Fingerprint: what names an embedding space, and when two names mean the same one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

PROBE = "probe:"
"""Begins the digest of weights that nobody can read: what the model made of fixed texts, one bit a value."""

_MOST_DIFFERING = 1 / 25
"""Of a probe's bits. Signs flip in proportion to the angle between two vectors: this is a cosine of 0.992.

One model on two machines stays above it, two models agree in half of their bits.
"""


class Fingerprint(NamedTuple):
    """Names an embedding space: vectors of different fingerprints are never compared."""

    name: str
    weights_digest: str
    dimension: int
    text_rules: str


def probe_digest(values: Sequence[float]) -> str:
    """The digest of a model by the signs of what it made of fixed texts, one after the other."""
    bits = int("1" + "".join("1" if value > 0 else "0" for value in values), 2)
    return f"{PROBE}{bits:x}"


def nearest_digest(digest: str, known: Sequence[str]) -> str | None:
    """The one of the known digests that stands for the same weights: the same text, or nearly the same probe.

    Nearly, because one model rounds differently on another machine.
    """
    if digest in known:
        return digest
    distances = {other: _distance(digest, other) for other in known}
    found = min(distances, key=distances.__getitem__, default=None)
    return found if found is not None and distances[found] <= _MOST_DIFFERING else None


def _distance(one: str, other: str) -> float:
    """The share of bits in which two probes differ; 1 for what is no probe, or one of another length."""
    if not (one.startswith(PROBE) and other.startswith(PROBE)):
        return 1.0
    left, right = (int(digest.removeprefix(PROBE), 16) for digest in (one, other))
    if left.bit_length() != right.bit_length():
        return 1.0
    return (left ^ right).bit_count() / (left.bit_length() - 1)
