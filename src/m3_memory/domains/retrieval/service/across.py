"""Searching several stores: one scale, every hit with its store, what can't be reached said."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.catalog.answers import fitting
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import SearchMode, StoreHit, StoresResults, Unreached
from m3_memory.domains.retrieval.service.evidence import (
    NEAREST,
    gather,
    has_vectors,
    is_hit,
    score,
    weigh,
    why,
)
from m3_memory.domains.retrieval.service.questions import NO_WORD, asked, told, why_empty
from m3_memory.domains.retrieval.service.searching import left_out
from m3_memory.errors import M3Error, NoStore, Unavailable
from m3_memory.kernel.ranking import best_first
from m3_memory.storage.predicates import view_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import Evidence, Gathered, SearchRequest
    from m3_memory.domains.retrieval.service.questions import Question
    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View


@dataclass(frozen=True, slots=True)
class _There:
    """One store as the question finds it, in a transaction that stays open to the end."""

    ctx: Context
    reader: Reader
    view: View
    gathered: Gathered


@dataclass(frozen=True, slots=True)
class _Found:
    """A hit of one store, which is named by its place among those that answered."""

    place: int
    evidence: Evidence
    score: float


def search_stores(ctx: Context, request: SearchRequest, stores: Sequence[str]) -> StoresResults:
    """The best `limit` memories of all these stores, on one scale: as if they stood in one store.

    A store that can't be reached is named and the others answer; raises its error where none does. Raises
    UnknownStore before any is asked.
    """
    question = asked(ctx, request)
    contexts = [ctx.at(name) for name in stores]
    with ExitStack() as held:
        answered, unreached = _asked_everywhere(contexts, request, question, held)
        ctx.ensure_time()
        if not question.terms:
            return _told(answered, unreached, [], question.degraded, NO_WORD)
        depth = max(NEAREST, request.limit)
        evidence = weigh([there.gathered for there in answered], question, depth)
        compared = any(map(has_vectors, evidence))
        degraded = _degraded(answered, evidence, question)
        mode = request.mode if compared else SearchMode.KEYWORD
        hits = _hits(answered, _best(evidence, mode, request.limit))
        because = None if hits else why_empty((there.reader, there.view) for there in answered)
    shown = list(fitting(hits))
    for there in answered:
        there.ctx.note_shown([hit.id for hit in shown if hit.store == there.ctx.store])
    return _told(answered, unreached, shown, (*degraded, *left_out(hits, shown)), because)


def _asked_everywhere(
    contexts: Sequence[Context], request: SearchRequest, question: Question, held: ExitStack
) -> tuple[list[_There], list[Unreached]]:
    answered, lost = list[_There](), dict[str, M3Error]()
    for there in contexts:
        try:
            answered.append(_there(there, request, question, held))
        except (Unavailable, NoStore) as error:
            lost[there.store] = error
    if not answered and lost:
        raise next(iter(lost.values()))
    return answered, [Unreached(name, error.code, error.message, error.hint) for name, error in lost.items()]


def _there(ctx: Context, request: SearchRequest, question: Question, held: ExitStack) -> _There:
    reader = held.enter_context(ctx.read())
    view = view_of(reader, ctx.caller, request.filter)
    return _There(ctx, reader, view, gather(reader, view, question, max(NEAREST, request.limit)))


def _degraded(
    answered: Sequence[_There], evidence: Sequence[Sequence[Evidence]], question: Question
) -> tuple[str, ...]:
    """What each store's part of the answer lacks, with its name."""
    said = question.degraded
    for there, found in zip(answered, evidence, strict=True):
        lacks = told(there.reader, there.view, question, has_vectors(found) or not found).degraded
        said += tuple(f"{there.ctx.store}: {sentence}" for sentence in lacks[len(question.degraded) :])
    return said


def _best(evidence: Sequence[Sequence[Evidence]], mode: SearchMode, limit: int) -> list[_Found]:
    """Best first; of equals the stores in the order they were named, and the newest of each first."""
    found = [
        _Found(place, each, score(each, mode))
        for place, of_store in enumerate(evidence)
        for each in sorted(of_store, key=lambda each: -each.item)
        if is_hit(each, mode)
    ]
    return [found[number] for number, _ in best_first(((n, f.score) for n, f in enumerate(found)), limit)]


def _hits(answered: Sequence[_There], best: Sequence[_Found]) -> list[StoreHit]:
    texts = [
        queries.hits(
            there.reader, there.view, [found.evidence.item for found in best if found.place == place]
        )
        for place, there in enumerate(answered)
    ]
    return [
        StoreHit(
            **asdict(
                replace(
                    texts[found.place][found.evidence.item],
                    score=round(found.score, 4),
                    why=why(found.evidence),
                )
            ),
            store=answered[found.place].ctx.store,
        )
        for found in best
    ]


def _told(
    answered: Sequence[_There],
    unreached: list[Unreached],
    shown: list[StoreHit],
    degraded: Sequence[str],
    because: str | None,
) -> StoresResults:
    scope = dict.fromkeys(audience for there in answered for audience in there.view.audiences)
    return StoresResults(
        hits=shown,
        stores=[there.ctx.store for there in answered],
        scope=list(scope),
        unreached=unreached,
        degraded=list(degraded),
        empty_because=because,
    )
