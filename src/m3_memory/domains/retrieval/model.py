"""What searching and listing take and give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from m3_memory.kernel.counting import counted
from m3_memory.kernel.fusion import ALONE, Around
from m3_memory.kernel.ranking import TermStatistics
from m3_memory.storage.candidates import Candidate
from m3_memory.storage.predicates import Filter

NEAREST = 100
"""So many memories are candidates by meaning, or as many as are asked for."""


class SearchMode(StrEnum):
    HYBRID = "hybrid"
    KEYWORD = "keyword"
    VECTOR = "vector"


class Order(StrEnum):
    """The order of a list: by when the store came to believe what it shows."""

    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    query: str
    limit: int = 8
    mode: SearchMode = SearchMode.HYBRID
    filter: Filter = field(default_factory=Filter)

    @property
    def depth(self) -> int:
        return max(NEAREST, self.limit)


@dataclass(frozen=True, slots=True)
class ListRequest:
    """`since` and `until` bound when the store came to believe a row; `cursor` is where the last page ended.

    `min_importance` and `pinned` ask what is ranked so today. Empty text and None ask for nothing.
    """

    limit: int = 20
    cursor: str = ""
    filter: Filter = field(default_factory=Filter)
    since: str = ""
    until: str = ""
    order: Order = Order.NEWEST
    min_importance: float | None = None
    pinned: bool | None = None
    counts: bool = False


class Place(NamedTuple):
    """Where a row stands in a list."""

    recorded_from: str
    memory_id: str


@dataclass(frozen=True, slots=True)
class Gathered:
    """What one store holds near a question: candidates, how common the terms are, how near each candidate
    is, and what stands beside the best of them.
    """

    found: Mapping[int, Candidate]
    known: TermStatistics
    cosines: Mapping[int, float]
    beside: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why an item is a candidate: what speaks for it by itself (`kernel/fusion.py`), and where it stands.

    `held` are the terms it holds. `cosine` is None for an item without a vector; it then counts as near as
    the others on average. `importance` is what counts of it now, as far as that can decide anything.
    """

    item: int
    parts: Mapping[str, float]
    memory_id: str = ""
    valid_from: str = ""
    around: Around = ALONE
    held: frozenset[str] = frozenset()
    cosine: float | None = None
    importance: float = 0.5


@dataclass(frozen=True)
class Hit:
    id: str
    version: int
    type: str
    title: str
    content: str
    score: float
    valid_from: str
    recorded_at: str
    agent_id: str
    trust_state: str
    actionable: str
    why: str
    valid_to: str | None = None
    confidence: float | None = None
    stale: bool | None = None
    disputed_by: list[str] | None = None


@dataclass(frozen=True)
class _Results:
    """The answer to a search, best first. `scope` names the audiences it looked in."""

    hits: Sequence[object]
    scope: list[str]
    degraded: list[str]
    empty_because: str | None

    def headline(self) -> str:
        return f"Top {len(self.hits)} results:" if self.hits else f"No results found. {self.empty_because}"


@dataclass(frozen=True)
class SearchResults(_Results):
    hits: list[Hit]


@dataclass(frozen=True)
class StoreHit(Hit):
    """A hit, and the store it is in."""

    store: str = ""


@dataclass(frozen=True)
class Unreached:
    """A store that gave no answer, and why."""

    store: str
    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class StoresResults(_Results):
    """The answer to a search in several stores, on one scale. `stores` are those that answered."""

    hits: list[StoreHit]
    stores: list[str]
    unreached: list[Unreached]

    def headline(self) -> str:
        lacking = f" (no answer from {', '.join(lost.store for lost in self.unreached)})"
        return super().headline() + (lacking if self.unreached else "")


@dataclass(frozen=True)
class Row:
    """One memory as lists show it. Absent fields have nothing to say.

    `cut_from` is the length of the whole content where only its beginning is here; `metadata` and `source`
    are left out of lists. `use_count` and `last_used_at` may lag behind.
    """

    id: str
    version: int
    type: str
    title: str
    content: str
    scope: str
    agent_id: str
    trust_state: str
    actionable: str
    importance: float
    pinned: bool
    valid_from: str
    recorded_at: str
    valid_to: str | None = None
    expires_at: str | None = None
    conversation_id: str | None = None
    variant: str | None = None
    cut_from: int | None = None
    metadata: dict[str, Any] | None = None
    source: str | None = None
    use_count: int | None = None
    last_used_at: str | None = None
    confidence: float | None = None
    stale: bool | None = None
    disputed_by: list[str] | None = None


@dataclass(frozen=True)
class ScoredRow:
    """A hit with all that is stored of it."""

    score: float
    why: str
    memory: Row


@dataclass(frozen=True)
class ScoredResults(_Results):
    """The answer to a search for rows; without a query the newest, each with the score 0."""

    hits: list[ScoredRow]


@dataclass(frozen=True)
class TypeCount:
    type: str
    count: int


@dataclass(frozen=True)
class ListResults:
    """A page of a list; without a `cursor` it is the last one.

    `total` and `by_type` say how many the filters leave: told with the first page.
    """

    memories: list[Row]
    scope: list[str]
    total: int | None = None
    cursor: str | None = None
    by_type: list[TypeCount] | None = None

    def headline(self) -> str:
        more = "; the cursor leads to the next page" if self.cursor else ""
        here = len(self.memories)
        of_all = f"{here} of " if self.total is not None else ""
        return f"{of_all}{counted(here if self.total is None else self.total, 'memory')}{more}:"


@dataclass(frozen=True)
class Component:
    """A hit as a preview shows it: each part of its score, and where it stands by that part alone.

    `rank` counts from 1, `by_words` and `by_meaning` too where it is in that order at all. `content` is the
    beginning of the text. `effective_importance` is what is left of the importance for the score.
    """

    id: str
    type: str
    title: str
    content: str
    score: float
    rank: int
    parts: dict[str, float]
    terms: list[str]
    why: str
    importance: float
    effective_importance: float
    trust_state: str
    actionable: str
    by_words: int | None = None
    by_meaning: int | None = None
    cosine: float | None = None
    stale: bool | None = None
    disputed_by: list[str] | None = None


@dataclass(frozen=True)
class TermWeight:
    """A term of the question, how many texts hold it, and its share in what words can give."""

    term: str
    documents: int
    weight: float


@dataclass(frozen=True)
class Hidden:
    """How many memories would have been among the hits but for one rule."""

    because: str
    count: int


@dataclass(frozen=True)
class About:
    """Where one memory stands in this search, or the names of the conditions that hide it."""

    id: str
    hidden_by: list[str] = field(default_factory=list[str])
    found: Component | None = None
    because: str | None = None


@dataclass(frozen=True)
class Suggestions(_Results):
    """A preview of a search, and why it gives that."""

    hits: list[Component]
    terms: list[TermWeight]
    matching: int
    hidden: list[Hidden]
    about: About | None = None
