"""Fusing how well words fit and how near meanings are into one score from 0 to 1."""

from __future__ import annotations

WORDS_WEIGHT = 0.5
MEANING_WEIGHT = 0.5
MEANING_FLOOR = 0.15
"""A cosine at or below this tells nothing in the default space: it counts as 0."""


def meaning(cosine: float) -> float:
    """A cosine on the scale of scores: 0 at the floor and below, 1 for the same direction."""
    return max(0.0, min(1.0, (cosine - MEANING_FLOOR) / (1.0 - MEANING_FLOOR)))


def fused(words: float, cosine: float) -> float:
    """The weighted mean of both signals, each from 0 to 1."""
    return WORDS_WEIGHT * words + MEANING_WEIGHT * meaning(cosine)
