"""Searching: candidates by words and by meaning over the full visible set, fused and ranked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.catalog.answers import fitting
from m3_memory.domains.memories.model import EMBED_JOB, actionable
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import Evidence, Hit, SearchMode, SearchRequest, SearchResults
from m3_memory.kernel.analyser import query_terms
from m3_memory.kernel.fusion import MEANING_FLOOR, discounted, fused, meaning
from m3_memory.kernel.limits import MAX_QUERY_CHARACTERS, checked_text
from m3_memory.kernel.ranking import best_first, bm25_for, passages
from m3_memory.storage import candidates, embeddings, queue
from m3_memory.storage.predicates import Filter, View, view_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from m3_memory.context import Context
    from m3_memory.storage.database import Reader

_NEAREST = 50
"""So many memories are compared by meaning, or as many as are asked for; all others count like the last."""


_WAITING = 100
"""As many jobs that bring vectors are looked at, to say whether some memories here lack theirs."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A query as both sides of the search see it. `vector` is empty where there is none."""

    terms: tuple[str, ...]
    vector: bytes = b""
    space: tuple[str, str, int, str] | None = None
    degraded: tuple[str, ...] = ()

    def lacking(self, why: str) -> _Question:
        """The same question, asked by words alone for this reason."""
        return self.noting(f"by words only: {why}")

    def noting(self, sentence: str) -> _Question:
        return replace(self, degraded=(*self.degraded, sentence))


def search(ctx: Context, request: SearchRequest) -> SearchResults:
    """The best `limit` visible memories for a query, by words, by meaning or by both.

    A query without any word finds nothing. Without a model, or without any vector, words alone decide, and
    the answer says so. Raises InvalidInput errors for a query that is blank or too long.
    """
    checked_text(request.query, "query", MAX_QUERY_CHARACTERS)
    asked = _asked(ctx, request)
    question = replace(asked, degraded=(*asked.degraded, *ctx.notices))
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, request.filter)
        if not question.terms:
            return _empty(view, question, "the query holds no word to search for")
        evidence = _evidence(reader, view, question, max(_NEAREST, request.limit))
        has_vectors = any(found.cosine is not None for found in evidence)
        question = _told(reader, view, question, has_vectors or not evidence)
        mode = request.mode if has_vectors else SearchMode.KEYWORD
        found = _ranked(reader, view, replace(request, mode=mode), evidence)
        if not found:
            return _empty(view, question, _why_empty(reader, view))
        shown = list(fitting(found))
        if len(shown) < len(found):
            left = len(found) - len(shown)
            question = question.noting(f"{left} more hits did not fit into one answer: ask for a smaller k")
        return SearchResults(shown, list(view.audiences), list(question.degraded))


def _told(reader: Reader, view: View, question: _Question, has_vectors: bool) -> _Question:
    """The question with what its vector could not be compared with, if anything."""
    if not question.space:
        return question
    if embeddings.has_other_spaces(reader, embeddings.space_of(reader, *question.space)):
        question = question.noting("memories embedded by another model are found by words only")
    if not has_vectors:
        return question.lacking("no memory here has a vector yet")
    if _some_wait(reader, view):
        return question.noting("some memories here wait for their vector: found by words only so far")
    return question


def _some_wait(reader: Reader, view: View) -> bool:
    """Whether some of what the view shows has no vector yet, as far as the next jobs tell."""
    waiting = queue.waiting_payloads(reader, EMBED_JOB, view.caller.user_id, _WAITING)
    return bool(waiting) and bool(queries.hits(reader, view, [int(str(job["item"])) for job in waiting]))


def _asked(ctx: Context, request: SearchRequest) -> _Question:
    terms = tuple(query_terms(request.query))
    if request.mode is SearchMode.KEYWORD or not terms:
        return _Question(terms)
    embedder = ctx.embedder.get(min(1.5, ctx.seconds_left()))
    if embedder is None:
        why = ctx.embedder.reason or "the model is still loading"
        return _Question(terms).lacking(why)
    known = embedder.fingerprint
    space = (known.name, known.weights_digest, known.dimension, known.text_rules)
    return _Question(terms, embedder.embed([request.query])[0], space)


def _evidence(reader: Reader, view: View, question: _Question, depth: int) -> list[Evidence]:
    """All candidates by words and by meaning, each compared in both ways."""
    nearest = _by_meaning(reader, view, question, depth)
    texts, known = candidates.worded(reader, view, question.terms)
    texts |= candidates.documents(reader, sorted(nearest.keys() - texts.keys()), question.terms)
    bm25 = bm25_for(question.terms, known)
    least = min(nearest.values(), default=0.0)
    evidence = list[Evidence]()
    for item, text in texts.items():
        cosine = nearest.get(item)
        if text.passages or cosine is not None:
            near = meaning(least if cosine is None else cosine)
            length = passages(text.length)
            evidence.append(Evidence(item, bm25.score(text), near, length, text.held, cosine))
    return evidence


def _by_meaning(reader: Reader, view: View, question: _Question, depth: int) -> dict[int, float]:
    space = embeddings.space_of(reader, *question.space) if question.space else None
    if space is None:
        return {}
    return dict(reader.dialect.vector_candidates(reader, view, space, question.vector, depth))


def _ranked(reader: Reader, view: View, request: SearchRequest, evidence: Iterable[Evidence]) -> list[Hit]:
    """The hits among the candidates, best first, the newest of equals first."""
    by_item = {found.item: found for found in evidence if _is_hit(found, request.mode)}
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


def _is_hit(found: Evidence, mode: SearchMode) -> bool:
    is_near = found.cosine is not None and found.cosine > MEANING_FLOOR
    match mode:
        case SearchMode.KEYWORD:
            return bool(found.held)
        case SearchMode.VECTOR:
            return is_near
        case SearchMode.HYBRID:
            return is_near or bool(found.held)


def _score(found: Evidence, mode: SearchMode) -> float:
    match mode:
        case SearchMode.KEYWORD:
            best = found.words
        case SearchMode.VECTOR:
            best = found.meaning
        case SearchMode.HYBRID:
            best = fused(found.words, found.meaning)
    return discounted(best, found.passages)


def _why(found: Evidence) -> str:
    words = f"words {found.words:.2f}: {', '.join(sorted(found.held))}" if found.held else ""
    near = f"meaning {found.cosine:.2f}" if found.cosine is not None and found.cosine > MEANING_FLOOR else ""
    return "; ".join(part for part in (words, near) if part)


def _empty(view: View, question: _Question, because: str) -> SearchResults:
    return SearchResults([], list(view.audiences), list(question.degraded), because)


def _why_empty(reader: Reader, view: View) -> str:
    """Why nothing was found, told from the audiences the caller holds alone."""
    then = Filter(as_of=view.filter.as_of, known_at=view.filter.known_at, scopes=view.filter.scopes)
    if queries.has_any(reader, view):
        return "no memory holds a word or meaning near the query"
    if queries.has_any(reader, View(view.caller, then, view.now)):
        return "the filters leave no memory"
    if queries.has_any(reader, View(view.caller, Filter(scopes=then.scopes), view.now)):
        return "no memory in this scope held at that moment"
    return "there is no memory in this scope yet"
