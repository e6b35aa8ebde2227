"""What speaks for a text, as one number: a sum of independent parts, each from nothing to its weight.

* **words**: how much of a good answer its best passage holds (`kernel/ranking.py`);
* **meaning**: the cosine of the question with the nearest window of the text; below 0 counts as 0;
* **phrase**: the share of the question that stands there word beside word;
* **speaker**: the question names who said it;
* **voice**: a question about the one who asks is answered by what they said, and what an assistant said is
  seldom evidence;
* **kept**: it was written to be remembered, and not merely said;
* **date**: it holds from a day the question names;
* **session** and **neighbour**: the best text of its conversation, and the better of the two turns beside
  it. A text that stands alone is its own.

One set of constants for all kinds of text; `docs/retrieval.md` tells how they were fitted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

WEIGHTS = {
    "words": 0.4,
    "meaning": 0.5,
    "phrase": 0.2,
    "speaker": 0.3,
    "voice": 0.2,
    "kept": 0.1,
    "date": 0.1,
}
SESSION_WEIGHT = 0.4
NEIGHBOUR_WEIGHT = 0.3
ASSISTANT = -0.5
"""The voice of an assistant, on a scale on which that of the one who asks is 1."""

MEANING_FLOOR = 0.05
"""At this cosine or below a text without any of the words is no hit; two in three strangers are there."""

LENGTH_DISCOUNT = 0.1

IMPORTANCE_WEIGHT = 0.1
"""What the whole scale of importance makes of a score: it decides between hits that are nearly as good."""

USUAL_IMPORTANCE = 0.5
"""The importance that neither gains nor loses."""

_STEEPNESS = 6.5
_EVEN = 0.8
"""The sum at which a hit is as likely to be right as not."""


def meaning(cosine: float) -> float:
    """A cosine on the scale of scores."""
    return max(0.0, min(1.0, cosine))


def discounted(part: float, passages: int) -> float:
    """What a part is worth that is the best of so many passages (1 or more): chance grows with them."""
    return part / (1 + LENGTH_DISCOUNT * math.log(passages))


def alone(parts: Mapping[str, float]) -> float:
    """What speaks for a text by itself: each part by its weight."""
    return sum(WEIGHTS[name] * value for name, value in parts.items())


@dataclass(frozen=True, slots=True)
class Around:
    """Where a text stands: its conversation, if any, and the items right beside it.

    `stands_alone` is a text with nothing beside it, which counts as its own neighbour; of one that is far
    from the best nobody looked what is beside it, and that counts for nothing.
    """

    conversation: str = ""
    beside: tuple[int, ...] = ()
    stands_alone: bool = True


ALONE = Around()


def with_neighbours(scores: Mapping[int, float], around: Mapping[int, Around]) -> dict[int, float]:
    """What each text is worth where it stands, on the scale of `alone`."""
    best: dict[str, float] = {}
    for item, score in scores.items():
        if name := around[item].conversation:
            best[name] = max(score, best.get(name, score))
    whole = 1 + SESSION_WEIGHT + NEIGHBOUR_WEIGHT
    return {
        item: (
            score
            + SESSION_WEIGHT * best.get(around[item].conversation, score)
            + NEIGHBOUR_WEIGHT * _better(scores, around[item], score)
        )
        / whole
        for item, score in scores.items()
    }


def _better(scores: Mapping[int, float], around: Around, own: float) -> float:
    beside = (scores[item] for item in around.beside if item in scores)
    return max(beside, default=own if around.stands_alone else 0.0)


def preferred(worth: float, importance: float) -> float:
    """What this is worth of a memory of this importance, from 0 to 1."""
    return worth * (1 + IMPORTANCE_WEIGHT * (importance - USUAL_IMPORTANCE))


def calibrated(worth: float) -> float:
    """A score: how likely a hit of this worth is one of the right ones, from 0 to 1."""
    return 1 / (1 + math.exp(-_STEEPNESS * (worth - _EVEN)))
