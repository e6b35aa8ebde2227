"""The scale of scores: how well words fit and how near meanings are, as one number from 0 to 1.

* **words**: the share of the question's words that the best passage of a text holds, each weighted by how
  rare it is, and counted in full only if it stands there often (`kernel/ranking.py`).
* **meaning**: the cosine of the question with the nearest window of a text; below 0 counts as 0.
* **score**: 0.6 words + 0.4 meaning, divided by 1 + 0.1 ln(passages), 5 % more or less by importance.
  A search by words or by meaning alone takes that one whole. Nothing is divided by the best hit's: a poor
  best hit has a poor score.

One set of constants for all kinds of text; `docs/retrieval.md` tells how they were chosen and what they give.
"""

from __future__ import annotations

import math

WORDS_WEIGHT = 0.6
MEANING_WEIGHT = 0.4

MEANING_FLOOR = 0.05
"""At this cosine or below a text without any of the words is no hit; two in three strangers are there."""

LENGTH_DISCOUNT = 0.1

IMPORTANCE_WEIGHT = 0.1
"""What the whole scale of importance makes of a score: it decides between hits that are nearly as good."""

USUAL_IMPORTANCE = 0.5
"""The importance that neither gains nor loses."""


def meaning(cosine: float) -> float:
    """A cosine on the scale of scores."""
    return max(0.0, min(1.0, cosine))


def fused(words: float, near: float) -> float:
    """The weighted mean of words and meaning, each from 0 to 1."""
    return WORDS_WEIGHT * words + MEANING_WEIGHT * near


def discounted(score: float, passages: int) -> float:
    """What a score is worth that is the best of so many passages (1 or more): chance grows with them."""
    return score / (1 + LENGTH_DISCOUNT * math.log(passages))


def preferred(score: float, importance: float) -> float:
    """What a score is worth of a memory of this importance, from 0 to 1 as the score."""
    return min(1.0, score * (1 + IMPORTANCE_WEIGHT * (importance - USUAL_IMPORTANCE)))
