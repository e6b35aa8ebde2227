"""Previewing a search: what it would return, each part of each score, and what stands in a memory's way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.catalog.answers import fitting
from m3_memory.domains.memories.service.reads import resolve
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import (
    About,
    Component,
    Hidden,
    SearchMode,
    Suggestions,
    TermWeight,
)
from m3_memory.domains.retrieval.service.evidence import (
    NEAREST,
    gather,
    has_vectors,
    is_hit,
    score,
    weigh,
    weighed,
    why,
)
from m3_memory.domains.retrieval.service.listing import CONTENT_CHARACTERS
from m3_memory.domains.retrieval.service.questions import NO_WORD, asked, told, why_empty
from m3_memory.domains.retrieval.service.searching import best_of, left_out
from m3_memory.kernel.ranking import bm25_for
from m3_memory.storage.predicates import View, reasons, view_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import Evidence, Gathered, SearchRequest
    from m3_memory.domains.retrieval.service.questions import Question
    from m3_memory.storage.database import Reader

_SCRATCHPAD = "scratchpad"
_NOT_NEAR = "it is visible, and holds neither a word nor a meaning near the query"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A search laid open: all hits in their order, and the order by each part of the score alone."""

    reader: Reader
    view: View
    question: Question
    mode: SearchMode
    gathered: Gathered
    by_item: dict[int, Evidence]
    best: Sequence[tuple[int, float]]
    by_words: dict[int, int]
    by_meaning: dict[int, int]

    def components(self, numbered: Sequence[tuple[int, tuple[int, float]]]) -> list[Component]:
        """These of the ranked hits, given as (rank, (item, score))."""
        items = [item for _, (item, _) in numbered]
        rows = queries.rows(self.reader, self.view, items, CONTENT_CHARACTERS)
        return [
            Component(
                id=rows[item].id,
                type=rows[item].type,
                title=rows[item].title,
                content=rows[item].content,
                score=round(worth, 4),
                rank=rank,
                words=round(self.by_item[item].words, 4),
                meaning=round(self.by_item[item].meaning, 4),
                passages=self.by_item[item].passages,
                terms=sorted(self.by_item[item].held),
                why=why(self.by_item[item]),
                by_words=self.by_words.get(item),
                by_meaning=self.by_meaning.get(item),
                cosine=_rounded(self.by_item[item].cosine),
            )
            for rank, (item, worth) in numbered
        ]


def suggest(ctx: Context, request: SearchRequest, memory_id: str = "") -> Suggestions:
    """What a search of this request would return and why; and where the memory named stands in it.

    Raises NotFound for a memory of no audience the caller holds, AmbiguousId for a prefix of several, and
    InvalidInput errors for a query that is blank or too long.
    """
    question = asked(ctx, request)
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, request.filter)
        full = resolve(reader, view, memory_id) if memory_id else ""
        seen = _seen(reader, view, request, question)
        ranked = list(enumerate(seen.best, 1))
        found = seen.components(ranked[: request.limit])
        shown = list(fitting(found))
        because = NO_WORD if not question.terms else None if found else why_empty([(reader, view)])
        return Suggestions(
            hits=shown,
            terms=_terms(seen),
            matching=len(ranked),
            hidden=_hidden(seen, request) if question.terms else [],
            scope=list(view.audiences),
            about=_about(seen, full) if full else None,
            degraded=[*seen.question.degraded, *left_out(found, shown)],
            empty_because=because,
        )


def _seen(reader: Reader, view: View, request: SearchRequest, question: Question) -> _Seen:
    depth = max(NEAREST, request.limit)
    gathered = gather(reader, view, question, depth)
    (evidence,) = weigh([gathered], question, depth)
    compared = has_vectors(evidence)
    told_of = told(reader, view, question, compared or not evidence) if question.terms else question
    mode = request.mode if compared else SearchMode.KEYWORD
    by_item = {found.item: found for found in evidence if question.terms and is_hit(found, mode)}
    return _Seen(
        reader=reader,
        view=view,
        question=told_of,
        mode=mode,
        gathered=gathered,
        by_item=by_item,
        best=best_of(by_item.values(), mode),
        by_words=_places([found for found in by_item.values() if found.held], SearchMode.KEYWORD),
        by_meaning=_places([f for f in by_item.values() if f.cosine is not None], SearchMode.VECTOR),
    )


def _places(found: Sequence[Evidence], mode: SearchMode) -> dict[int, int]:
    return {item: place for place, (item, _) in enumerate(best_of(found, mode), 1)}


def _terms(seen: _Seen) -> list[TermWeight]:
    if not seen.question.terms:
        return []
    known = seen.gathered.known
    weights = bm25_for(seen.question.terms, known).weights
    return [
        TermWeight(term, min(known.documents_with.get(term, 0), known.documents), round(weight, 4))
        for term, weight in weights.items()
    ]


def _hidden(seen: _Seen, request: SearchRequest) -> list[Hidden]:
    """How many would be among the hits shown but for being a candidate, or of a type that searches skip."""
    asked_for = seen.view.filter
    wider = {
        "candidate": replace(asked_for, trust_states=("candidate",)),
        _SCRATCHPAD: replace(asked_for, excluded_types=(), types=(_SCRATCHPAD,)),
    }
    if _SCRATCHPAD not in asked_for.excluded_types:
        del wider[_SCRATCHPAD]
    worst = seen.best[request.limit - 1][1] if len(seen.best) >= request.limit else 0.0
    counts = {
        name: _matching(seen, View(seen.view.caller, f, seen.view.now), worst) for name, f in wider.items()
    }
    return [Hidden(name, count) for name, count in counts.items() if count]


def _matching(seen: _Seen, view: View, worst: float) -> int:
    """How many of what this view shows would score as well, by the statistics of the search itself."""
    depth = max(NEAREST, len(seen.gathered.nearest))
    gathered = gather(seen.reader, view, seen.question, depth)
    least = min(seen.gathered.nearest.values(), default=0.0)
    evidence = weighed(gathered, bm25_for(seen.question.terms, seen.gathered.known), least)
    return sum(is_hit(found, seen.mode) and score(found, seen.mode) >= worst for found in evidence)


def _about(seen: _Seen, memory_id: str) -> About:
    hidden_by = reasons(seen.reader, seen.view, memory_id)
    if hidden_by:
        return About(memory_id, list(hidden_by), because=_hides(hidden_by))
    item = queries.item_of(seen.reader, seen.view, memory_id)
    rank = next((place for place, (each, _) in enumerate(seen.best, 1) if each == item), None)
    if rank is None:
        return About(memory_id, because=_NOT_NEAR)
    (component,) = seen.components([(rank, seen.best[rank - 1])])
    return About(memory_id, found=component)


def _hides(names: Sequence[str]) -> str:
    return "; ".join(_HIDES[name] for name in names)


_HIDES = {
    "audience": "it belongs to no place this caller stands in",
    "belief": "it does not hold at this moment: it ended, was superseded or deleted, or begins later",
    "expiry": "it has expired",
    "trust": "its trust state is not among those asked for",
    "variant": "it is tagged with an experiment that was not named",
    "narrowing": "the filters leave it out",
}
"""What each condition of visibility says when it hides a memory."""


def _rounded(cosine: float | None) -> float | None:
    return None if cosine is None else round(cosine, 4)
