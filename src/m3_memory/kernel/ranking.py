"""Scores and orders, as pure functions: the same numbers on both engines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Key = TypeVar("Key", int, str)

SCORE_DIGITS = 12
"""Scores that agree to this many decimal places are equal, so that summation order decides nothing."""


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """How common words are in the audiences held: documents, mean length in tokens, documents per term."""

    documents: int
    average_length: float
    documents_with: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Bm25:
    """Okapi BM25 (Robertson and Zaragoza 2009) with the never negative idf ln(1 + (N - n + ½)/(n + ½)).

    `k1` ≥ 0: how soon repetition stops counting. `b` in 0..1: how much length counts.
    """

    k1: float = 1.2
    b: float = 0.75

    def score(
        self, tokens: Sequence[str] | Mapping[str, int], terms: Iterable[str], known: TermStatistics
    ) -> float:
        """How well a document, as tokens or their counts, answers the terms: ≥ 0, and 0 if it holds none."""
        counts = tokens if isinstance(tokens, Mapping) else Counter(tokens)
        length = counts.total() if isinstance(counts, Counter) else sum(counts.values())
        relative = length / known.average_length if known.average_length > 0 else 1.0
        damping = self.k1 * (1 - self.b + self.b * relative)
        return sum(
            inverse_frequency(term, known) * count * (self.k1 + 1) / (count + damping)
            for term in terms
            if (count := counts.get(term, 0)) > 0
        )

    def most(self, terms: Iterable[str], known: TermStatistics) -> float:
        """The bound no document's score for these terms reaches: for a scale from 0 to 1."""
        return sum(inverse_frequency(term, known) * (self.k1 + 1) for term in terms)


def inverse_frequency(term: str, known: TermStatistics) -> float:
    """What a term tells: > 0, more for a rarer one. Counts that lag behind are cut to what is possible."""
    holding = min(known.documents_with.get(term, 0), known.documents)
    return math.log(1 + (known.documents - holding + 0.5) / (holding + 0.5))


def best_first(scored: Iterable[tuple[Key, float]], limit: int | None = None) -> list[tuple[Key, float]]:
    """(id, score), highest score first, scores rounded to SCORE_DIGITS; equal scores by id, lowest first."""
    ordered = sorted(
        ((key, round(score, SCORE_DIGITS)) for key, score in scored), key=lambda pair: (-pair[1], pair[0])
    )
    return ordered[:limit]
