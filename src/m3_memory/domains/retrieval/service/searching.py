"""Searching one store or several: the best visible memories for a query, on one scale."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from m3_memory.catalog.answers import fitting
from m3_memory.domains.memories.service.confidence import disputes
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import (
    NEAREST,
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
    embedded,
    gather,
    has_vectors,
    lacking,
    weigh,
    why,
    why_empty,
    worths,
)
from m3_memory.domains.retrieval.service.marks import marked_rows
from m3_memory.errors import M3Error, NoStore, Unavailable
from m3_memory.kernel.fusion import calibrated, preferred
from m3_memory.kernel.ranking import best_first
from m3_memory.storage.candidates import Worded, worded
from m3_memory.storage.predicates import View, view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import Gathered, Row, SearchRequest
    from m3_memory.storage.database import Reader

Key: TypeAlias = tuple[int, int]
"""A store by its place, and an item of it, negative: the newest first."""

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
    opened, lost = list[_Opened](), dict[str, M3Error]()
    for there in contexts:
        try:
            opened.append(_opened(there, request, question, held))
        except (Unavailable, NoStore) as error:
            lost[there.store] = error
    if not opened:
        raise next(iter(lost.values()))
    names = frozenset[str]().union(*(there.words.names for there in opened))
    question = embedded(contexts[0], request, question, names)
    looked = [_looked(there, question, request.depth) for there in opened]
    contexts[0].ensure_time()
    unreached = [Unreached(name, error.code, error.message, error.hint) for name, error in lost.items()]
    if not question.terms:
        return Ranking(question, request.mode, looked, (), question.degraded, NO_WORD, unreached)
    evidence = weigh([there.gathered for there in looked], question)
    mode = request.mode if any(map(has_vectors, evidence)) else SearchMode.KEYWORD
    found = _scored_by_importance(best_of(evidence, mode), looked, request)
    degraded = list(question.degraded)
    for there, of_store in zip(looked, evidence, strict=True):
        name = f"{there.ctx.store}: " if len(contexts) > 1 else ""
        degraded += (name + lack for lack in lacking(there.reader, there.view, question, of_store))
    because = None if found else why_empty((there.reader, there.view) for there in looked)
    return Ranking(question, mode, looked, found, degraded, because, unreached)


def best_of(evidence: Sequence[Sequence[Evidence]], mode: SearchMode) -> list[Found]:
    """Best first, as if all were of one importance; of equals the stores in the order they were named, and
    the newest of each first.
    """
    hits = {(place, -each.item): each for place, of_store in enumerate(evidence) for each in of_store}
    worth = best_first(
        ((place, -item), points)
        for place, of_store in enumerate(evidence)
        for item, points in worths(of_store, mode).items()
    )
    return [Found(key[0], hits[key], points) for key, points in worth]


def _scored_by_importance(
    found: Sequence[Found], looked: Sequence[Looked], request: SearchRequest
) -> list[Found]:
    """The hits with their scores. Importance is looked up for those that can be among the first by it."""
    if not found:
        return []
    last = found[min(request.limit, len(found)) - 1].score
    contenders = [each for each in found if preferred(each.score, 1.0) >= preferred(last, 0.0)]
    counts = [
        queries.importances(there.reader, [each.evidence.item for each in contenders if each.place == place])
        for place, there in enumerate(looked)
    ]

    def counted(each: Found) -> Found:
        of = counts[each.place].get(each.evidence.item)
        if of is None:
            return Found(each.place, each.evidence, calibrated(each.score))
        there = looked[each.place]
        importance = of.effective(there.reader.now, there.ctx.settings.importance_half_life_days)
        score = calibrated(preferred(each.score, importance))
        return Found(each.place, replace(each.evidence, importance=importance), score)

    by_key = {(each.place, -each.evidence.item): counted(each) for each in found}
    for place, there in enumerate(looked):
        of_store = [key for key in by_key if key[0] == place]
        by_key |= _newer_of_disputes(there.reader, {key: by_key[key] for key in of_store[:NEAREST]})
    ordered = best_first((key, each.score) for key, each in by_key.items())
    return [by_key[key] for key, _ in ordered]


_BEFORE = 1e-9


def _newer_of_disputes(reader: Reader, found: Mapping[Key, Found]) -> dict[Key, Found]:
    """What said the newer of two things that contradict each other, and nobody decided, is worth as much as
    the older: so it stands before it.
    """
    places = {each.evidence.memory_id: key for key, each in found.items()}
    lifted = dict[Key, Found]()
    for memory_id, others in disputes(reader, list(places)).items():
        newer = found[places[memory_id]]
        for older in (found[places[other]] for other in others if other in places):
            if _began(older) < _began(newer) and older.score > newer.score:
                newer = lifted[places[memory_id]] = replace(newer, score=older.score + _BEFORE)
    return lifted


def _began(found: Found) -> tuple[str, int]:
    return found.evidence.valid_from, found.evidence.item


def left_out(found: Sequence[object], shown: Sequence[object]) -> list[str]:
    """What to say where some hits did not fit."""
    left = len(found) - len(shown)
    return [f"{left} more hits did not fit into one answer: ask for a smaller k"] if left else []


@dataclass(frozen=True, slots=True)
class _Opened:
    """A store in a transaction, and what words find there."""

    ctx: Context
    reader: Reader
    view: View
    words: Worded


def _opened(ctx: Context, request: SearchRequest, question: Question, held: ExitStack) -> _Opened:
    reader = held.enter_context(ctx.read())
    view = view_of(reader, ctx.caller, request.filter)
    return _Opened(ctx, reader, view, worded(reader, view, question.terms))


def _looked(there: _Opened, question: Question, depth: int) -> Looked:
    gathered = gather(there.reader, there.view, question, there.words, depth)
    return Looked(there.ctx, there.reader, there.view, gathered)


def _newest(ctx: Context, request: SearchRequest, held: ExitStack) -> Ranking:
    nothing = Question((), degraded=ctx.notices)
    there = _looked(_opened(ctx, request, nothing, held), nothing, request.depth)
    listed = ListRequest(filter=request.filter)
    page = queries.page(there.reader, there.view, listed, None, "", request.limit)
    found = [Found(0, Evidence(item, {}), 0.0) for _, item in page]
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
    because = why(found.evidence) if found.evidence.parts else "the newest"
    return ScoredRow(round(found.score, 4), because, row)


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
