"""Searching: candidates by words and by meaning over the full visible set, fused and ranked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import actionable
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import Evidence, Hit, SearchMode, SearchRequest, SearchResults
from m3_memory.kernel.analyser import query_terms
from m3_memory.kernel.fusion import fused, meaning
from m3_memory.kernel.limits import MAX_QUERY_CHARACTERS, checked_text
from m3_memory.kernel.ranking import Bm25, best_first
from m3_memory.storage import candidates, embeddings
from m3_memory.storage.predicates import View, view_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from m3_memory.context import Context
    from m3_memory.storage.database import Reader

_BM25 = Bm25(k1=1.2, b=0.75)
_NEAREST = 200


@dataclass(frozen=True, slots=True)
class _Question:
    """A query as both sides of the search see it. `vector` is empty where there is none."""

    terms: tuple[str, ...]
    vector: bytes = b""
    space: tuple[str, str, int, str] | None = None
    degraded: tuple[str, ...] = ()


def search(ctx: Context, request: SearchRequest) -> SearchResults:
    """The best `limit` visible memories for a query, by words, by meaning or by both.

    A query without any word answers nothing. Without a model hybrid searches by words and says so.
    """
    checked_text(request.query, "query", MAX_QUERY_CHARACTERS)
    asked = _asked(ctx, request)
    question = replace(asked, degraded=(*asked.degraded, *ctx.notices))
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, request.filter)
        if not question.terms:
            return _empty(view, question, "the query holds no word to search for")
        evidence = _evidence(reader, view, request.mode, question)
        found = _ranked(reader, view, request, evidence)
        if not found:
            return _empty(view, question, _why_empty(reader, view))
        return SearchResults(found, list(view.audiences), list(question.degraded))


def _asked(ctx: Context, request: SearchRequest) -> _Question:
    terms = tuple(query_terms(request.query))
    if request.mode is SearchMode.KEYWORD or not terms:
        return _Question(terms)
    embedder = ctx.embedder.get(min(1.5, ctx.seconds_left()))
    if embedder is None:
        why = ctx.embedder.reason or "the model is still loading"
        return _Question(terms, degraded=(f"by words only: {why}",))
    known = embedder.fingerprint
    space = (known.name, known.weights_digest, known.dimension, known.text_rules)
    return _Question(terms, embedder.embed([request.query])[0], space)


def _evidence(reader: Reader, view: View, mode: SearchMode, question: _Question) -> Iterable[Evidence]:
    by_meaning_alone = mode is SearchMode.VECTOR and question.vector
    words = {} if by_meaning_alone else _by_words(reader, view, question)
    nearest = _by_meaning(reader, view, question)
    return [
        replace(words.get(item, Evidence(item)), cosine=nearest.get(item, 0.0))
        for item in sorted(words.keys() | nearest.keys())
    ]


def _by_words(reader: Reader, view: View, question: _Question) -> dict[int, Evidence]:
    tokens, known = candidates.worded(reader, view, question.terms)
    most = _BM25.most(question.terms, known) or 1.0
    found = dict[int, Evidence]()
    for item, words in tokens.items():
        counts = Counter(words)
        matched = tuple(term for term in question.terms if counts[term])
        if matched:
            found[item] = Evidence(item, _BM25.score(counts, question.terms, known) / most, 0.0, matched)
    return found


def _by_meaning(reader: Reader, view: View, question: _Question) -> dict[int, float]:
    space = embeddings.space_of(reader, *question.space) if question.space else None
    if space is None:
        return {}
    nearest = reader.dialect.vector_candidates(reader, view, space, question.vector, _NEAREST)
    return {item: cosine for item, cosine in nearest if meaning(cosine) > 0.0}


def _ranked(reader: Reader, view: View, request: SearchRequest, evidence: Iterable[Evidence]) -> list[Hit]:
    by_item = {found.item: found for found in evidence}
    scores = ((-item, _score(found, request.mode)) for item, found in by_item.items())
    best = [(-item, score) for item, score in best_first(scores, request.limit)]
    shown = queries.hits(reader, view, [item for item, _ in best])
    return [
        replace(
            shown[item],
            score=round(score, 4),
            why=_why(by_item[item]),
            actionable=actionable(shown[item].trust_state),
        )
        for item, score in best
    ]


def _score(found: Evidence, mode: SearchMode) -> float:
    match mode:
        case SearchMode.KEYWORD:
            return found.words
        case SearchMode.VECTOR:
            return meaning(found.cosine) or found.words
        case SearchMode.HYBRID:
            return fused(found.words, found.cosine)


def _why(found: Evidence) -> str:
    words = f"words {found.words:.2f}: {', '.join(found.matched)}" if found.matched else ""
    near = f"meaning {found.cosine:.2f}" if found.cosine else ""
    return "; ".join(part for part in (words, near) if part)


def _empty(view: View, question: _Question, because: str) -> SearchResults:
    return SearchResults([], list(view.audiences), list(question.degraded), because)


def _why_empty(reader: Reader, view: View) -> str:
    """Why nothing was found, told from the audiences the caller holds alone."""
    everything = View(view.caller, replace(view.filter, types=(), agent_id="", conversation_id=""), view.now)
    if queries.has_any(reader, view):
        return "no memory holds a word or meaning near the query"
    if queries.has_any(reader, everything):
        return "the filters leave no memory"
    return "there is no memory in this scope yet"
