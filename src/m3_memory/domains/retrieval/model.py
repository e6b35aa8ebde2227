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
    """Why an item is a candidate: how well its words fit, from 0 to 1, and the cosine of its best window."""

    item: int
    words: float = 0.0
    cosine: float = 0.0
    matched: tuple[str, ...] = ()


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
