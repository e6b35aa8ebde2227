"""Searching one store or several: the best visible memories for a query, on one scale."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from m3_memory.catalog.answers import fitting
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import (
    Evidence,
    Hit,
    ListRequest,
    ScoredResults,
    ScoredRow,
    SearchMode,
    SearchResults,
    StoreHit,
    StoresResults,
    Unreached,
)
from m3_memory.domains.retrieval.service.evidence import (
    NO_WORD,
    Question,
    asked,
    gather,
    has_vectors,
    is_hit,
    lacking,
    score,
    weigh,
    why,
    why_empty,
)
from m3_memory.domains.retrieval.service.marks import marked_rows
from m3_memory.errors import M3Error, NoStore, Unavailable
from m3_memory.kernel.ranking import best_first
from m3_memory.storage.predicates import View, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import Gathered, Row, SearchRequest
    from m3_memory.storage.database import Reader

Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class Looked:
    """One store as the question finds it, in a transaction that stays open to the end."""

    ctx: Context
    reader: Reader
    view: View
    gathered: Gathered


@dataclass(frozen=True, slots=True)
class Found:
    """A hit of one store, which is named by its place among those that answered."""

    place: int
    evidence: Evidence
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """All hits of the stores that answered, best first, and what the answer has to say besides."""

    question: Question
    mode: SearchMode
    stores: Sequence[Looked]
    found: Sequence[Found] = ()
    degraded: Sequence[str] = ()
    empty_because: str | None = None
    unreached: list[Unreached] = field(default_factory=list[Unreached])

    @property
    def scope(self) -> list[str]:
        return list(dict.fromkeys(audience for there in self.stores for audience in there.view.audiences))

    def rows(self, found: Sequence[Found], longest: int = queries.WHOLE) -> list[Row]:
        """These hits as rows, of their content no more than `longest` characters."""
        items = [[f.evidence.item for f in found if f.place == place] for place in range(len(self.stores))]
        rows = [
            marked_rows(there.reader, there.view, of_store, longest)
            for there, of_store in zip(self.stores, items, strict=True)
        ]
        return [rows[each.place][each.evidence.item] for each in found]


def search(ctx: Context, request: SearchRequest) -> SearchResults:
    """The best `limit` visible memories for a query, by words, by meaning or by both.

    A query without any word finds nothing. Without a model, or without any vector, words alone decide, and
    the answer says so. Raises InvalidInput errors for a query that is blank or too long.
    """
    with ExitStack() as held:
        ranking = ranked([ctx], request, held)
        hits, degraded = _told(ranking, request, _hit)
    return SearchResults(hits, ranking.scope, degraded, ranking.empty_because)


def search_scored(ctx: Context, request: SearchRequest) -> ScoredResults:
    """The same as rows with all that is stored of them. Without a query the newest, each with the score 0."""
    with ExitStack() as held:
        ranking = ranked([ctx], request, held) if request.query.strip() else _newest(ctx, request, held)
        hits, degraded = _told(ranking, request, _scored)
    return ScoredResults(hits, ranking.scope, degraded, ranking.empty_because)


def search_stores(ctx: Context, request: SearchRequest, stores: Sequence[str]) -> StoresResults:
    """The best `limit` memories of all these stores, on one scale: as if they stood in one store.

    A store that can't be reached is named and the others answer; raises its error where none does. Raises
    UnknownStore before any is asked.
    """
    with ExitStack() as held:
        ranking = ranked([ctx.at(name) for name in stores], request, held)
        names = [there.ctx.store for there in ranking.stores]
        hits, degraded = _told(
            ranking, request, lambda found, row: StoreHit(**vars(_hit(found, row)), store=names[found.place])
        )
    return StoresResults(hits, ranking.scope, degraded, ranking.empty_because, names, ranking.unreached)


def ranked(contexts: Sequence[Context], request: SearchRequest, held: ExitStack) -> Ranking:
    """All that answers in these stores. Those that can't be reached are told, unless none can."""
    question = asked(contexts[0], request)
    looked, lost = list[Looked](), dict[str, M3Error]()
    for there in contexts:
        try:
            looked.append(_look(there, request, question, held))
        except (Unavailable, NoStore) as error:
            lost[there.store] = error
    if not looked:
        raise next(iter(lost.values()))
    contexts[0].ensure_time()
    unreached = [Unreached(name, error.code, error.message, error.hint) for name, error in lost.items()]
    if not question.terms:
        return Ranking(question, request.mode, looked, (), question.degraded, NO_WORD, unreached)
    evidence = weigh([there.gathered for there in looked], question, request.depth)
    mode = request.mode if any(map(has_vectors, evidence)) else SearchMode.KEYWORD
    found = best_of(evidence, mode)
    degraded = list(question.degraded)
    for there, of_store in zip(looked, evidence, strict=True):
        name = f"{there.ctx.store}: " if len(contexts) > 1 else ""
        degraded += (name + lack for lack in lacking(there.reader, there.view, question, of_store))
    because = None if found else why_empty((there.reader, there.view) for there in looked)
    return Ranking(question, mode, looked, found, degraded, because, unreached)


def best_of(evidence: Sequence[Sequence[Evidence]], mode: SearchMode) -> list[Found]:
    """Best first; of equals the stores in the order they were named, and the newest of each first."""
    hits = {
        (place, -each.item): each
        for place, of_store in enumerate(evidence)
        for each in of_store
        if is_hit(each, mode)
    }
    worth = best_first((key, score(each, mode)) for key, each in hits.items())
    return [Found(key[0], hits[key], points) for key, points in worth]


def left_out(found: Sequence[object], shown: Sequence[object]) -> list[str]:
    """What to say where some hits did not fit."""
    left = len(found) - len(shown)
    return [f"{left} more hits did not fit into one answer: ask for a smaller k"] if left else []


def _look(ctx: Context, request: SearchRequest, question: Question, held: ExitStack) -> Looked:
    reader = held.enter_context(ctx.read())
    view = view_of(reader, ctx.caller, request.filter)
    return Looked(ctx, reader, view, gather(reader, view, question, request.depth))


def _newest(ctx: Context, request: SearchRequest, held: ExitStack) -> Ranking:
    nothing = Question((), degraded=ctx.notices)
    there = _look(ctx, request, nothing, held)
    listed = ListRequest(filter=request.filter)
    page = queries.page(there.reader, there.view, listed, None, "", request.limit)
    found = [Found(0, Evidence(item, 0.0, 0.0, 0), 0.0) for _, item in page]
    because = None if found else why_empty([(there.reader, there.view)])
    return Ranking(nothing, request.mode, [there], found, nothing.degraded, because)


def _told(
    ranking: Ranking, request: SearchRequest, tell: Callable[[Found, Row], Told]
) -> tuple[list[Told], list[str]]:
    """The best hits, as many as fit into one answer, noted as shown; and what the answer lacks."""
    best = ranking.found[: request.limit]
    rows = ranking.rows(best)
    told = [tell(found, row) for found, row in zip(best, rows, strict=True)]
    shown = list(fitting(told))
    for place, there in enumerate(ranking.stores):
        of_store = zip(best[: len(shown)], rows, strict=False)
        there.ctx.note_shown([row.id for found, row in of_store if found.place == place])
    return shown, [*ranking.degraded, *left_out(told, shown)]


def _scored(found: Found, row: Row) -> ScoredRow:
    return ScoredRow(round(found.score, 4), why(found.evidence) or "the newest", row)


def _hit(found: Found, row: Row) -> Hit:
    return Hit(
        id=row.id,
        version=row.version,
        type=row.type,
        title=row.title,
        content=row.content,
        score=round(found.score, 4),
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        recorded_at=row.recorded_at,
        agent_id=row.agent_id,
        trust_state=row.trust_state,
        actionable=row.actionable,
        why=why(found.evidence),
        confidence=row.confidence,
        stale=row.stale,
        disputed_by=row.disputed_by,
    )
