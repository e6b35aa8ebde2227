"""A query as a search sees it: its terms, its vector, and what the answer has to say about that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import EMBED_JOB
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import SearchMode
from m3_memory.errors import EmbedderUnavailable
from m3_memory.kernel.analyser import query_terms
from m3_memory.kernel.limits import MAX_QUERY_CHARACTERS, checked_text
from m3_memory.storage import embeddings, queue
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    def lacking(self, why: str) -> Question:
        """The same question, asked by words alone for this reason."""
        return self.noting(f"by words only: {why}")

    def noting(self, sentence: str) -> Question:
        return replace(self, degraded=(*self.degraded, sentence))


def asked(ctx: Context, request: SearchRequest) -> Question:
    """The request's query. Raises InvalidInput errors for one that is blank or too long."""
    checked_text(request.query, "query", MAX_QUERY_CHARACTERS)
    terms = tuple(query_terms(request.query))
    if request.mode is SearchMode.KEYWORD or not terms:
        return Question(terms, degraded=ctx.notices)
    question = _with_vector(ctx, Question(terms), request.query)
    return replace(question, degraded=(*question.degraded, *ctx.notices))


def _with_vector(ctx: Context, question: Question, query: str) -> Question:
    """The question with its vector, or with the reason why it has none; half of the time is left to words."""
    embedder = ctx.embedder.get(min(1.5, ctx.seconds_left()))
    if embedder is None:
        return question.lacking(ctx.embedder.reason or "the model is still loading")
    try:
        vector = embedder.embed_query(query, ctx.seconds_left() / 2)
    except EmbedderUnavailable as error:
        return question.lacking(f"{error.message}; {error.hint}")
    return replace(question, vector=vector, space=embedder.fingerprint)


def told(reader: Reader, view: View, question: Question, has_vectors: bool) -> Question:
    """The question with what its vector could not be compared with, if anything."""
    if not question.space:
        return question
    if embeddings.has_other_spaces(reader, embeddings.space_of(reader, question.space)):
        question = question.noting("memories embedded by another model are found by words only")
    if not has_vectors:
        return question.lacking("no memory here has a vector yet")
    if _some_wait(reader, view):
        return question.noting("some memories here wait for their vector: found by words only so far")
    return question


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
    return bool(waiting) and bool(queries.hits(reader, view, [int(str(job["item"])) for job in waiting]))
