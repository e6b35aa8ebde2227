"""A query as a search sees it, and what in a store speaks for each candidate.

Candidates come by words and by meaning from the full visible set. What several stores hold is compared as if
it stood in one: words are weighed by how rare they are in all of them together, and the nearest are the
nearest of all.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import EMBED_JOB
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import Evidence, Gathered, SearchMode
from m3_memory.errors import EmbedderUnavailable
from m3_memory.kernel.analyser import query_terms
from m3_memory.kernel.decay import HALF_LIFE_DAYS
from m3_memory.kernel.fusion import (
    ASSISTANT,
    MEANING_FLOOR,
    Around,
    alone,
    discounted,
    meaning,
    with_neighbours,
)
from m3_memory.kernel.limits import MAX_QUERY_CHARACTERS, checked_text
from m3_memory.kernel.question import NOTHING_SAID, Reading, bare, read
from m3_memory.kernel.ranking import Bm25, bm25_for, passages, together
from m3_memory.kernel.turn import TURN_TYPES, role_mark, speaker_mark
from m3_memory.storage import embeddings, queue
from m3_memory.storage.candidates import Worded, candidates
from m3_memory.storage.candidates import beside as next_turns
from m3_memory.storage.dialect import Near
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import SearchRequest
    from m3_memory.kernel.fingerprint import Fingerprint
    from m3_memory.storage.database import Reader

NO_WORD = "the query holds no word to search for"

_LEADING = 50
"""Of so many candidates the turns right beside them are looked at."""

_USER, _ASSISTANT = role_mark("user"), role_mark("assistant")
_WAITING = 100
"""As many jobs that bring vectors are looked at, to say whether some memories here lack theirs."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query as both sides of the search see it. `vector` is empty where there is none."""

    terms: tuple[str, ...]
    reading: Reading = NOTHING_SAID
    vector: bytes = b""
    space: Fingerprint | None = None
    degraded: tuple[str, ...] = ()
    half_life_days: float = HALF_LIFE_DAYS


def asked(ctx: Context, request: SearchRequest) -> Question:
    """The request's query by its words. Raises InvalidInput errors for one that is blank or too long."""
    checked_text(request.query, "query", MAX_QUERY_CHARACTERS)
    return Question(
        tuple(query_terms(request.query)),
        read(request.query, request.filter.as_of or ctx.clock.now()),
        degraded=ctx.notices,
        half_life_days=ctx.settings.importance_half_life_days,
    )


def embedded(ctx: Context, request: SearchRequest, question: Question, names: frozenset[str]) -> Question:
    """The question with its vector, of what it says besides these speakers' names; or why there is none."""
    if request.mode is SearchMode.KEYWORD or not question.terms:
        return question
    embedder = ctx.embedder.get(min(1.5, ctx.seconds_left()))
    if embedder is None:
        lack = _by_words(ctx.embedder.reason or "the model is still loading")
        return replace(question, degraded=(lack, *question.degraded))
    try:  # half of the time is left to words
        vector = embedder.embed_query(bare(request.query, names), ctx.seconds_left() / 2)
    except EmbedderUnavailable as error:
        return replace(question, degraded=(_by_words(f"{error.message}; {error.hint}"), *question.degraded))
    return replace(question, vector=vector, space=embedder.fingerprint)


def gather(reader: Reader, view: View, question: Question, words: Worded, depth: int) -> Gathered:
    """What a view holds near the question: what words found, the `depth` nearest by meaning, and what was
    said right before and after the best of these.
    """
    if not question.terms:
        return Gathered({}, words.known, {})
    space = embeddings.space_of(reader, question.space) if question.space else None
    near = None if space is None else Near(space, [question.vector], depth)
    cosines = dict(reader.dialect.vector_candidates(reader, view, near)[0]) if near else {}
    found = dict(words.found)
    beside = dict[int, tuple[int, ...]]()

    def add(items: Iterable[int]) -> None:
        fresh = sorted(set(items) - found.keys())
        found.update(candidates(reader, view, fresh, question.terms))
        if near:
            cosines.update(reader.dialect.cosines(reader, near, sorted(found.keys() - cosines.keys())))

    add(cosines)
    if leading := _leading(Gathered(found, words.known, cosines), question):
        beside = next_turns(reader, view, leading)
        add(item for items in beside.values() for item in items)
    return Gathered(found, words.known, cosines, _both_ways(beside))


def _leading(gathered: Gathered, question: Question) -> list[int]:
    """The turns of conversations that are best by themselves, whose neighbours count."""
    turns = {item: each for item, each in gathered.found.items() if each.conversation_id}
    if not turns:
        return []
    bm25 = bm25_for(question.terms, gathered.known)
    worth = {
        item: alone(
            {"words": bm25.answered(turn.document), "meaning": meaning(gathered.cosines.get(item, 0.0))}
        )
        for item, turn in turns.items()
    }
    return heapq.nlargest(_LEADING, worth, key=lambda item: (worth[item], item))


def _both_ways(beside: Mapping[int, Sequence[int]]) -> dict[int, Sequence[int]]:
    """Who stands beside one is beside it as well."""
    found = {item: set(others) for item, others in beside.items()}
    for item, others in beside.items():
        for other in others:
            found.setdefault(other, set()).add(item)
    return {item: tuple(sorted(others)) for item, others in found.items()}


def weigh(gathered: Sequence[Gathered], question: Question) -> list[list[Evidence]]:
    """The evidence of each store, on one scale: the statistics are those of all of them together."""
    bm25 = bm25_for(question.terms, together([each.known for each in gathered]))
    return [weighed(each, bm25, question) for each in gathered]


def weighed(gathered: Gathered, bm25: Bm25, question: Question) -> list[Evidence]:
    """One store's evidence; what has no vector yet counts as near as the others do on average."""
    names = frozenset(map(speaker_mark, question.terms))
    cosines = [meaning(cosine) for cosine in gathered.cosines.values()]
    usual = sum(cosines) / len(cosines) if cosines else 0.0
    evidence = list[Evidence]()
    for item, each in gathered.found.items():
        text, cosine = each.document, gathered.cosines.get(item)
        length = passages(text.length)
        parts = {
            "words": discounted(bm25.answered(text), length),
            "meaning": discounted(usual if cosine is None else meaning(cosine), length),
            "phrase": bm25.phrased(text),
            "speaker": float(not names.isdisjoint(text.marks)),
            "voice": _voice(text.marks, question.reading),
            "kept": float(not text.marks and each.type not in TURN_TYPES),
            "date": question.reading.when(each.valid_from),
        }
        beside = gathered.beside.get(item)
        stands_alone = not each.conversation_id or beside == ()
        around = Around(each.conversation_id, tuple(beside or ()), stands_alone)
        evidence.append(Evidence(item, parts, each.memory_id, each.valid_from, around, text.held, cosine))
    return evidence


def _voice(marks: frozenset[str], reading: Reading) -> float:
    if _ASSISTANT in marks:
        return ASSISTANT
    return float(reading.asks_of_user and _USER in marks)


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


_WITHOUT: Mapping[SearchMode, frozenset[str]] = {
    SearchMode.KEYWORD: frozenset({"meaning"}),
    SearchMode.VECTOR: frozenset({"words", "phrase"}),
    SearchMode.HYBRID: frozenset(),
}
"""The parts that say nothing in a mode."""


def worths(evidence: Sequence[Evidence], mode: SearchMode) -> dict[int, float]:
    """What each of a store's hits, and of what stands beside one, is worth in this mode, by its item."""
    silent = _WITHOUT[mode]
    by_item = {each.item: each for each in evidence}
    by_itself = {
        item: alone({name: value for name, value in each.parts.items() if name not in silent})
        for item, each in by_item.items()
    }
    worth = with_neighbours(by_itself, {item: each.around for item, each in by_item.items()})
    hits = {item for item, each in by_item.items() if is_hit(each, mode)}
    beside = {item for item, each in by_item.items() if not hits.isdisjoint(each.around.beside)}
    return {item: worth[item] for item in by_item if item in hits | beside}


def why(found: Evidence) -> str:
    """What speaks for a hit, in a line."""
    words = f"words {found.parts['words']:.2f}: {', '.join(sorted(found.held))}" if found.held else ""
    near = f"meaning {found.cosine:.2f}" if found.cosine is not None and found.cosine > MEANING_FLOOR else ""
    besides = ", ".join(name for name in ("speaker", "voice", "date") if found.parts[name] > 0)
    beside = "" if words or near or besides else "beside a hit"
    return "; ".join(part for part in (words, near, besides, beside) if part)


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
