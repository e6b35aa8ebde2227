"""Previewing a search: what it would return, each part of each score, and what stands in a memory's way."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.catalog.answers import fitting
from m3_memory.domains.memories.service.reads import resolve
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import (
    NEAREST,
    About,
    Component,
    Hidden,
    SearchMode,
    Suggestions,
    TermWeight,
)
from m3_memory.domains.retrieval.service.evidence import gather, weighed, why, worths
from m3_memory.domains.retrieval.service.listing import CONTENT_CHARACTERS
from m3_memory.domains.retrieval.service.searching import best_of, left_out, ranked
from m3_memory.kernel.fusion import calibrated
from m3_memory.kernel.ranking import bm25_for
from m3_memory.storage.candidates import worded
from m3_memory.storage.predicates import View, reasons

if TYPE_CHECKING:
    from collections.abc import Iterable

    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import Evidence, SearchRequest
    from m3_memory.domains.retrieval.service.searching import Looked, Ranking
    from m3_memory.kernel.ranking import Bm25

_SCRATCHPAD = "scratchpad"
_NOT_NEAR = "it is visible, and holds neither a word nor a meaning near the query"


@dataclass(frozen=True, slots=True)
class _Preview:
    """A search of one store laid open."""

    ranking: Ranking
    there: Looked
    bm25: Bm25

    def components(self, first: int, last: int) -> list[Component]:
        """The hits from one rank to another, both included."""
        found = self.ranking.found[first - 1 : last]
        hits = [each.evidence for each in self.ranking.found]
        by_words = _places((each for each in hits if each.held), SearchMode.KEYWORD)
        by_meaning = _places((each for each in hits if each.cosine is not None), SearchMode.VECTOR)
        return [
            Component(
                id=row.id,
                type=row.type,
                title=row.title,
                content=row.content,
                score=round(hit.score, 4),
                rank=rank,
                parts={name: round(value, 4) for name, value in hit.evidence.parts.items() if value},
                terms=sorted(hit.evidence.held),
                why=why(hit.evidence),
                importance=row.importance,
                effective_importance=round(hit.evidence.importance, 4),
                trust_state=row.trust_state,
                actionable=row.actionable,
                stale=row.stale,
                disputed_by=row.disputed_by,
                by_words=by_words.get(hit.evidence.item),
                by_meaning=by_meaning.get(hit.evidence.item),
                cosine=None if hit.evidence.cosine is None else round(hit.evidence.cosine, 4),
            )
            for rank, (hit, row) in enumerate(
                zip(found, self.ranking.rows(found, CONTENT_CHARACTERS), strict=True), first
            )
        ]


def suggest(ctx: Context, request: SearchRequest, memory_id: str = "") -> Suggestions:
    """What a search of this request would return and why; and where the memory named stands in it.

    Raises NotFound for a memory of no audience the caller holds, AmbiguousId for a prefix of several, and
    InvalidInput errors for a query that is blank or too long.
    """
    with ExitStack() as held:
        ranking = ranked([ctx], request, held)
        (there,) = ranking.stores
        seen = _Preview(ranking, there, bm25_for(ranking.question.terms, there.gathered.known))
        found = seen.components(1, request.limit)
        shown = list(fitting(found))
        return Suggestions(
            hits=shown,
            scope=ranking.scope,
            degraded=[*ranking.degraded, *left_out(found, shown)],
            empty_because=ranking.empty_because,
            terms=_terms(seen),
            matching=len(ranking.found),
            hidden=_hidden(seen, request) if ranking.question.terms else [],
            about=_about(seen, resolve(there.reader, there.view, memory_id)) if memory_id else None,
        )


def _places(hits: Iterable[Evidence], mode: SearchMode) -> dict[int, int]:
    return {each.evidence.item: place for place, each in enumerate(best_of([list(hits)], mode), 1)}


def _terms(seen: _Preview) -> list[TermWeight]:
    known = seen.there.gathered.known
    return [
        TermWeight(term, min(known.documents_with.get(term, 0), known.documents), round(weight, 4))
        for term, weight in seen.bm25.weights.items()
    ]


def _hidden(seen: _Preview, request: SearchRequest) -> list[Hidden]:
    """How many would be among the hits shown but for being a candidate, or of a type that searches skip."""
    wider = {"candidate": replace(request.filter, trust_states=("candidate",))}
    if _SCRATCHPAD in request.filter.excluded_types:
        wider[_SCRATCHPAD] = replace(request.filter, excluded_types=(), types=(_SCRATCHPAD,))
    found, view = seen.ranking.found, seen.there.view
    worst = found[request.limit - 1].score if len(found) >= request.limit else 0.0
    counts = {name: _matching(seen, View(view.caller, f, view.now), worst) for name, f in wider.items()}
    return [Hidden(name, count) for name, count in counts.items() if count]


def _matching(seen: _Preview, view: View, worst: float) -> int:
    """How many of what this view shows would score as well, by the statistics of the search itself."""
    question = seen.ranking.question
    words = worded(seen.there.reader, view, question.terms)
    evidence = weighed(gather(seen.there.reader, view, question, words, NEAREST), seen.bm25, question)
    return sum(calibrated(worth) >= worst for worth in worths(evidence, seen.ranking.mode).values())


def _about(seen: _Preview, memory_id: str) -> About:
    reader, view = seen.there.reader, seen.there.view
    if hidden_by := reasons(reader, view, memory_id):
        return About(memory_id, list(hidden_by), because="; ".join(_HIDES[name] for name in hidden_by))
    item = queries.item_of(reader, view, memory_id)
    for rank, found in enumerate(seen.ranking.found, 1):
        if found.evidence.item == item:
            return About(memory_id, found=seen.components(rank, rank)[0])
    return About(memory_id, because=_NOT_NEAR)


_HIDES = {
    "audience": "it belongs to no place this caller stands in",
    "belief": "it does not hold at this moment: it ended, was superseded or deleted, or begins later",
    "expiry": "it has expired",
    "trust": "its trust state is not among those asked for",
    "variant": "it is tagged with an experiment that was not named",
    "narrowing": "the filters leave it out",
}
"""What each condition of visibility says when it hides a memory."""
