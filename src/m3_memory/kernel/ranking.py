"""How well words fit, and orders, as pure functions: the same numbers on both engines."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from m3_memory.kernel.analyser import MARK_PREFIX

Key = TypeVar("Key", int, str, tuple[int, int])

PASSAGE_TOKENS = 100
"""A text is compared passage by passage, each of about so many tokens: a long one has any word somewhere."""

HEAVIEST = 3
MOST_ANSWERED = 1.5

SCORE_DIGITS = 12
"""Scores that agree to this many decimal places are equal, so that summation order decides nothing."""


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """How common words are in the audiences held: documents, mean length in tokens, documents per term."""

    documents: int
    average_length: float
    documents_with: Mapping[str, int]


def together(parts: Sequence[TermStatistics]) -> TermStatistics:
    """The statistics of all these documents as if they stood in one place."""
    if len(parts) == 1:
        return parts[0]
    documents = sum(part.documents for part in parts)
    tokens = sum(part.documents * part.average_length for part in parts)
    holding = Counter[str]()
    for part in parts:
        holding.update(dict(part.documents_with))
    return TermStatistics(documents, tokens / documents if documents else 0.0, holding)


Pair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Document:
    """What a question needs of a document: its length in tokens, and the passages that hold any of its terms.

    A passage is its own length and how often it holds each term. `pairs` are those neighbours in the question
    that stand together here too; `marks` say whose words it holds (`kernel/turn.py`).
    """

    length: int
    passages: tuple[tuple[int, Mapping[str, int]], ...]
    pairs: frozenset[Pair] = frozenset()
    marks: frozenset[str] = frozenset()

    @property
    def held(self) -> frozenset[str]:
        """The terms that are anywhere in it."""
        return frozenset(term for _, counts in self.passages for term in counts)


def document(tokens: Sequence[str], terms: frozenset[str], pairs: Sequence[Pair] = ()) -> Document:
    """A document, given as its marks and its tokens in order, reduced to what these terms need."""
    first = next((place for place, token in enumerate(tokens) if token[:1] != MARK_PREFIX), len(tokens))
    marks, tokens = frozenset(tokens[:first]), tokens[first:]
    size = -(-len(tokens) // passages(len(tokens))) or 1
    found: list[tuple[int, Mapping[str, int]]] = []
    for start in range(0, len(tokens), size):
        piece = tokens[start : start + size]
        held = terms.intersection(piece)
        if held:
            found.append((len(piece), {term: piece.count(term) for term in held}))
    there = frozenset(term for _, counts in found for term in counts)
    together = frozenset(pair for pair in pairs if there.issuperset(pair) and _stand_together(pair, tokens))
    return Document(len(tokens), tuple(found), together, marks)


def _stand_together(pair: Pair, tokens: Sequence[str]) -> bool:
    """Whether the second follows the first, at most one word between them."""
    first, second = pair
    return any(
        second in tokens[place + 1 : place + 3] for place, token in enumerate(tokens) if token == first
    )


@dataclass(frozen=True, slots=True)
class Bm25:
    """Okapi BM25 (Robertson and Zaragoza 2009) for one question, on a scale from 0 to 1.

    `weights` are the terms' inverse frequencies as shares of their sum, `heaviest` what the HEAVIEST of them
    weigh together; `usual_length` is the length, in tokens, that neither gains nor loses. `k1` ≥ 0: how soon
    repetition stops counting. `b` in 0..1: how much length counts. The factor k1 + 1 is left out: 1 is what
    no passage reaches.
    """

    weights: Mapping[str, float]
    usual_length: float
    k1: float = 0.9
    b: float = 0.4
    heaviest: float = 1.0

    def answered(self, found: Document) -> float:
        """How much of what a good answer holds the best passage holds, from 0 to MOST_ANSWERED.

        A long question has more words than any answer: so it is measured by its HEAVIEST terms.
        """
        return min(MOST_ANSWERED, self.score(found) / self.heaviest)

    def phrased(self, found: Document) -> float:
        """The share of the question that stands in it as it was asked, word beside word, from 0 to 1."""
        return sum(self.weights[first] + self.weights[second] for first, second in found.pairs) / 2

    def score(self, found: Document) -> float:
        """How well the best passage answers; 0 if none holds any of the terms."""
        return max((self._passage(length, counts) for length, counts in found.passages), default=0.0)

    def _passage(self, length: int, counts: Mapping[str, int]) -> float:
        damping = self.k1 * (1 - self.b + self.b * length / self.usual_length)
        return sum(self.weights[term] * count / (count + damping) for term, count in counts.items())


def bm25_for(terms: Iterable[str], known: TermStatistics) -> Bm25:
    """What scores documents for these terms. Passages of a usual document's length neither gain nor lose."""
    rarity = {term: inverse_frequency(term, known) for term in terms}
    total = sum(rarity.values())
    usual = min(known.average_length, PASSAGE_TOKENS) or PASSAGE_TOKENS
    weights = {term: weight / total for term, weight in rarity.items()}
    heaviest = sum(heapq.nlargest(HEAVIEST, weights.values())) or 1.0
    return Bm25(weights, usual, heaviest=heaviest)


def passages(length: int) -> int:
    """Into how many passages a document of so many tokens is cut: 1 or more."""
    return max(1, round(length / PASSAGE_TOKENS))


def inverse_frequency(term: str, known: TermStatistics) -> float:
    """What a term tells, ln(1 + (N - n + ½)/(n + ½)): > 0, more for a rarer one.

    Counts that lag behind are cut to what is possible.
    """
    holding = min(known.documents_with.get(term, 0), known.documents)
    return math.log(1 + (known.documents - holding + 0.5) / (holding + 0.5))


def best_first(scored: Iterable[tuple[Key, float]], limit: int | None = None) -> list[tuple[Key, float]]:
    """(id, score), highest score first, scores rounded to SCORE_DIGITS; equal scores by id, lowest first."""
    ordered = sorted(
        ((key, round(score, SCORE_DIGITS)) for key, score in scored), key=lambda pair: (-pair[1], pair[0])
    )
    return ordered[:limit]
