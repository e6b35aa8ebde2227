"""Searching one store: the best visible memories for a query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.catalog.answers import fitting
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import (
    Evidence,
    ListRequest,
    ScoredResults,
    ScoredRow,
    SearchMode,
    SearchResults,
)
from m3_memory.domains.retrieval.service.evidence import (
    NEAREST,
    gather,
    has_vectors,
    is_hit,
    score,
    weigh,
    why,
)
from m3_memory.domains.retrieval.service.questions import NO_WORD, Question, asked, told, why_empty
from m3_memory.kernel.limits import MAX_CONTENT_CHARACTERS
from m3_memory.kernel.ranking import best_first
from m3_memory.storage.predicates import View, view_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import SearchRequest
    from m3_memory.storage.database import Reader


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a search found, best first, with the evidence of each; and the question with what it lacked."""

    view: View
    question: Question
    best: Sequence[tuple[int, float]]
    evidence: dict[int, Evidence]
    empty_because: str | None = None


def search(ctx: Context, request: SearchRequest) -> SearchResults:
    """The best `limit` visible memories for a query, by words, by meaning or by both.

    A query without any word finds nothing. Without a model, or without any vector, words alone decide, and
    the answer says so. Raises InvalidInput errors for a query that is blank or too long.
    """
    question = asked(ctx, request)
    with ctx.read() as reader:
        ranked = rank(reader, view_of(reader, ctx.caller, request.filter), request, question)
        rows = queries.hits(reader, ranked.view, [item for item, _ in ranked.best])
    found = [
        replace(rows[item], score=round(worth, 4), why=why(ranked.evidence[item]))
        for item, worth in ranked.best
    ]
    shown = list(fitting(found))
    ctx.note_shown([hit.id for hit in shown])
    degraded = [*ranked.question.degraded, *left_out(found, shown)]
    return SearchResults(shown, list(ranked.view.audiences), degraded, ranked.empty_because)


def search_scored(ctx: Context, request: SearchRequest) -> ScoredResults:
    """The same as rows with all that is stored of them. Without a query the newest, each with the score 0."""
    if not request.query.strip():
        return _newest(ctx, request)
    question = asked(ctx, request)
    with ctx.read() as reader:
        ranked = rank(reader, view_of(reader, ctx.caller, request.filter), request, question)
        items = [item for item, _ in ranked.best]
        rows = queries.rows(reader, ranked.view, items, MAX_CONTENT_CHARACTERS, whole=True)
    found = [
        ScoredRow(round(worth, 4), why(ranked.evidence[item]), rows[item]) for item, worth in ranked.best
    ]
    shown = list(fitting(found))
    ctx.note_shown([hit.memory.id for hit in shown])
    degraded = [*ranked.question.degraded, *left_out(found, shown)]
    return ScoredResults(shown, list(ranked.view.audiences), degraded, ranked.empty_because)


def rank(reader: Reader, view: View, request: SearchRequest, question: Question) -> Ranked:
    """The best of what the view shows."""
    if not question.terms:
        return Ranked(view, question, (), {}, NO_WORD)
    depth = max(NEAREST, request.limit)
    (evidence,) = weigh([gather(reader, view, question, depth)], question, depth)
    compared = has_vectors(evidence)
    question = told(reader, view, question, compared or not evidence)
    mode = request.mode if compared else SearchMode.KEYWORD
    by_item = {found.item: found for found in evidence if is_hit(found, mode)}
    best = best_of(by_item.values(), mode, request.limit)
    empty_because = None if best else why_empty([(reader, view)])
    return Ranked(view, question, best, by_item, empty_because)


def best_of(hits: Iterable[Evidence], mode: SearchMode, limit: int | None = None) -> list[tuple[int, float]]:
    """(item, score), best first, the newest of equals first."""
    scores = ((-found.item, score(found, mode)) for found in hits)
    return [(-item, worth) for item, worth in best_first(scores, limit)]


def left_out(found: Sequence[object], shown: Sequence[object]) -> list[str]:
    """What to say where some hits did not fit."""
    left = len(found) - len(shown)
    return [f"{left} more hits did not fit into one answer: ask for a smaller k"] if left else []


def _newest(ctx: Context, request: SearchRequest) -> ScoredResults:
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, request.filter)
        page = queries.page(reader, view, ListRequest(filter=request.filter), None, "", request.limit)
        items = [item for _, item in page]
        rows = queries.rows(reader, view, items, MAX_CONTENT_CHARACTERS, whole=True)
        because = None if items else why_empty([(reader, view)])
    found = [ScoredRow(0.0, "the newest", rows[item]) for item in items]
    shown = list(fitting(found))
    ctx.note_shown([hit.memory.id for hit in shown])
    degraded = [*ctx.notices, *left_out(found, shown)]
    return ScoredResults(shown, list(view.audiences), degraded, because)
