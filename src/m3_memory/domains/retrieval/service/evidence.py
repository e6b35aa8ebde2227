"""A query as a search sees it, and what in a store speaks for each candidate.

Candidates come by words and by meaning from the full visible set. What several stores hold is compared as if
it stood in one: words are weighed by how rare they are in all of them together, and the nearest are the
nearest of all.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import EMBED_JOB
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import Evidence, Gathered, SearchMode
from m3_memory.errors import EmbedderUnavailable
from m3_memory.kernel.analyser import query_terms
from m3_memory.kernel.decay import HALF_LIFE_DAYS
from m3_memory.kernel.fusion import (
    MEANING_FLOOR,
    USUAL_IMPORTANCE,
    discounted,
    fused,
    meaning,
    preferred,
)
from m3_memory.kernel.limits import MAX_QUERY_CHARACTERS, checked_text
from m3_memory.kernel.ranking import Bm25, bm25_for, passages, together
from m3_memory.storage import candidates, embeddings, queue
from m3_memory.storage.dialect import Near
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import SearchRequest
    from m3_memory.kernel.fingerprint import Fingerprint
    from m3_memory.storage.database import Reader

NO_WORD = "the query holds no word to search for"

_WAITING = 100
"""As many jobs that bring vectors are looked at, to say whether some memories here lack theirs."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query as both sides of the search see it. `vector` is empty where there is none."""

    terms: tuple[str, ...]
    vector: bytes = b""
    space: Fingerprint | None = None
    degraded: tuple[str, ...] = ()
    half_life_days: float = HALF_LIFE_DAYS


def asked(ctx: Context, request: SearchRequest) -> Question:
    """The request's query. Raises InvalidInput errors for one that is blank or too long."""
    checked_text(request.query, "query", MAX_QUERY_CHARACTERS)
    terms = tuple(query_terms(request.query))
    by_words = Question(terms, degraded=ctx.notices, half_life_days=ctx.settings.importance_half_life_days)
    if request.mode is SearchMode.KEYWORD or not terms:
        return by_words
    embedder = ctx.embedder.get(min(1.5, ctx.seconds_left()))
    if embedder is None:
        lack = _by_words(ctx.embedder.reason or "the model is still loading")
        return replace(by_words, degraded=(lack, *ctx.notices))
    try:  # half of the time is left to words
        vector = embedder.embed_query(request.query, ctx.seconds_left() / 2)
    except EmbedderUnavailable as error:
        return replace(by_words, degraded=(_by_words(f"{error.message}; {error.hint}"), *ctx.notices))
    return replace(by_words, vector=vector, space=embedder.fingerprint)


def gather(reader: Reader, view: View, question: Question, depth: int) -> Gathered:
    """What a view holds near the question: all by words, and the `depth` nearest by meaning."""
    if not question.terms:
        return Gathered({}, together(()), {})
    space = embeddings.space_of(reader, question.space) if question.space else None
    nearest = dict[int, float]()
    if space is not None:
        near = Near(space, [question.vector], depth)
        nearest = dict(reader.dialect.vector_candidates(reader, view, near)[0])
    texts, known = candidates.worded(reader, view, question.terms)
    lacking = sorted(nearest.keys() - texts.keys())
    texts |= candidates.documents(reader, lacking, question.terms)
    importances = {
        item: of.effective(reader.now, question.half_life_days)
        for item, of in queries.importances(reader, list(texts)).items()
    }
    return Gathered(texts, known, nearest, importances)


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
            counts = gathered.importances.get(item, USUAL_IMPORTANCE)
            evidence.append(Evidence(item, bm25.score(text), near, length, text.held, cosine, counts))
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
    return preferred(discounted(best, found.passages), found.importance)


def why(found: Evidence) -> str:
    """What speaks for a hit, in a line."""
    words = f"words {found.words:.2f}: {', '.join(sorted(found.held))}" if found.held else ""
    near = f"meaning {found.cosine:.2f}" if found.cosine is not None and found.cosine > MEANING_FLOOR else ""
    return "; ".join(part for part in (words, near) if part)


def has_vectors(evidence: Sequence[Evidence]) -> bool:
    """Whether anything was compared by meaning."""
    return any(found.cosine is not None for found in evidence)


def lacking(reader: Reader, view: View, question: Question, evidence: Sequence[Evidence]) -> Iterator[str]:
    """What the question's vector could not be compared with in a store, if anything."""
    if not question.space:
        return
    if embeddings.has_other_spaces(reader, embeddings.space_of(reader, question.space)):
        yield "memories embedded by another model are found by words only"
    if evidence and not has_vectors(evidence):
        yield _by_words("no memory here has a vector yet")
    elif _some_wait(reader, view):
        yield "some memories here wait for their vector: found by words only so far"


def _by_words(why: str) -> str:
    return f"by words only: {why}"


def why_empty(seen: Iterable[tuple[Reader, View]]) -> str:
    """Why nothing was found in these stores, told from the audiences the caller holds alone."""
    return _EMPTY_BECAUSE[min(_emptiness(reader, view) for reader, view in seen)]


_EMPTY_BECAUSE = (
    "no memory holds a word or meaning near the query",
    "the filters leave no memory",
    "no memory in this scope held at that moment",
    "there is no memory in this scope yet",
)


def _emptiness(reader: Reader, view: View) -> int:
    """How empty a store is to this view: which of the reasons holds there."""
    then = Filter(as_of=view.filter.as_of, known_at=view.filter.known_at, scopes=view.filter.scopes)
    wider = (view, View(view.caller, then, view.now), View(view.caller, Filter(scopes=then.scopes), view.now))
    return next((n for n, each in enumerate(wider) if queries.has_any(reader, each)), len(wider))


def _some_wait(reader: Reader, view: View) -> bool:
    """Whether some of what the view shows has no vector yet, as far as the next jobs tell."""
    waiting = queue.waiting_payloads(reader, EMBED_JOB, view.caller.user_id, _WAITING)
    return bool(waiting) and bool(queries.rows(reader, view, [int(str(job["item"])) for job in waiting], 0))
