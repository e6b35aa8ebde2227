"""Candidates by words and by meaning over the full visible set, and what each is worth.

What several stores hold is compared as if it stood in one: words are weighed by how rare they are in all of
them together, and the nearest are the nearest of all.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from m3_memory.domains.retrieval.model import Evidence, Gathered, SearchMode
from m3_memory.kernel.fusion import MEANING_FLOOR, discounted, fused, meaning
from m3_memory.kernel.ranking import Bm25, bm25_for, passages, together
from m3_memory.storage import candidates, embeddings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.retrieval.service.questions import Question
    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View

NEAREST = 50
"""So many memories are compared by meaning, or as many as are asked for; all others count like the last."""


def gather(reader: Reader, view: View, question: Question, depth: int) -> Gathered:
    """What a view holds near the question: all by words, and the `depth` nearest by meaning."""
    space = embeddings.space_of(reader, question.space) if question.space else None
    nearest = dict[int, float]()
    if space is not None:
        nearest = dict(reader.dialect.vector_candidates(reader, view, space, question.vector, depth))
    texts, known = candidates.worded(reader, view, question.terms)
    lacking = sorted(nearest.keys() - texts.keys())
    return Gathered(texts | candidates.documents(reader, lacking, question.terms), known, nearest)


def weigh(gathered: Sequence[Gathered], question: Question, depth: int) -> list[list[Evidence]]:
    """The evidence of each store, on one scale: the statistics are those of all of them together."""
    bm25 = bm25_for(question.terms, together([each.known for each in gathered]))
    cosines = (cosine for each in gathered for cosine in each.nearest.values())
    least = min(heapq.nlargest(depth, cosines), default=0.0)
    return [weighed(each, bm25, least) for each in gathered]


def weighed(gathered: Gathered, bm25: Bm25, least: float) -> list[Evidence]:
    """One store's evidence; what is no nearer than `least` counts as near as that."""
    evidence = list[Evidence]()
    for item, text in gathered.texts.items():
        cosine = gathered.nearest.get(item)
        if cosine is not None and cosine < least:
            cosine = None
        if text.passages or cosine is not None:
            near = meaning(least if cosine is None else cosine)
            length = passages(text.length)
            evidence.append(Evidence(item, bm25.score(text), near, length, text.held, cosine))
    return evidence


def is_hit(found: Evidence, mode: SearchMode) -> bool:
    """Whether a candidate answers at all in this mode."""
    is_near = found.cosine is not None and found.cosine > MEANING_FLOOR
    match mode:
        case SearchMode.KEYWORD:
            return bool(found.held)
        case SearchMode.VECTOR:
            return is_near
        case SearchMode.HYBRID:
            return is_near or bool(found.held)


def score(found: Evidence, mode: SearchMode) -> float:
    """What a candidate is worth in this mode, from 0 to 1."""
    match mode:
        case SearchMode.KEYWORD:
            best = found.words
        case SearchMode.VECTOR:
            best = found.meaning
        case SearchMode.HYBRID:
            best = fused(found.words, found.meaning)
    return discounted(best, found.passages)


def why(found: Evidence) -> str:
    """What speaks for a hit, in a line."""
    words = f"words {found.words:.2f}: {', '.join(sorted(found.held))}" if found.held else ""
    near = f"meaning {found.cosine:.2f}" if found.cosine is not None and found.cosine > MEANING_FLOOR else ""
    return "; ".join(part for part in (words, near) if part)


def has_vectors(evidence: Sequence[Evidence]) -> bool:
    """Whether anything was compared by meaning."""
    return any(found.cosine is not None for found in evidence)
