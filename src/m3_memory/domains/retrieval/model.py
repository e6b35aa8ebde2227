"""What searching takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from m3_memory.storage.predicates import Filter


class SearchMode(StrEnum):
    HYBRID = "hybrid"
    KEYWORD = "keyword"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    query: str
    limit: int = 8
    mode: SearchMode = SearchMode.HYBRID
    filter: Filter = field(default_factory=Filter)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why an item is a candidate. `words` and `meaning` run from 0 to 1.

    `passages` is how long it is, `held` the terms it holds. `cosine` is None for an item that is
    not among the nearest; its `meaning` is then the least of theirs.
    """

    item: int
    words: float
    meaning: float
    passages: int
    held: frozenset[str] = frozenset()
    cosine: float | None = None


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


@dataclass(frozen=True)
class SearchResults:
    """The answer to a search, best first. `scope` names the audiences it looked in."""

    hits: list[Hit]
    scope: list[str]
    degraded: list[str] = field(default_factory=list[str])
    empty_because: str | None = None

    def headline(self) -> str:
        return (
            f"Top {len(self.hits)} results:" if self.hits else f"No results found. {self.empty_because or ''}"
        )
