"""What maintenance, retention, deduplication and curation take and give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from m3_memory.kernel.counting import counted


@dataclass(frozen=True, slots=True)
class MaintenanceRequest:
    """What to do. `whole`: for every audience of the user, and what operators decided, too.

    `purge_days`: what was closed before so many days leaves the store; 0: nothing does.
    """

    expire: bool = True
    prune_vectors: bool = True
    whole: bool = False
    dry_run: bool = False
    purge_days: int = 0


@dataclass(frozen=True)
class MaintenanceResult:
    """What was, or in a dry run would be, done: each a number of memories, vectors' versions or rows.

    `expired` beliefs were closed, and those that an agent's `retention` no longer keeps; `lapsed` questions
    stay as things stand; `purged` memories left the store; `refresh_due` only tells. `skipped` says what this
    caller may not do.
    """

    COUNTED: ClassVar = ("expired", "retention", "lapsed", "purged", "orphan_vectors", "search_changes")

    status: str
    expired: int = 0
    retention: int = 0
    lapsed: int = 0
    purged: int = 0
    orphan_vectors: int = 0
    search_changes: int = 0
    refresh_due: int = 0
    skipped: list[str] = field(default_factory=list[str])
    operation_id: str | None = None

    def headline(self) -> str:
        told = [
            f"{count} {name.replace('_', ' ')}"
            for name, count in vars(self).items()
            if isinstance(count, int) and count
        ]
        done = "Would do" if self.status == "preview" else "Maintenance"
        return f"{done}: {', '.join(told) or 'nothing to do'}"


class Policy(NamedTuple):
    """How much of what one agent wrote is kept. 0 sets no limit."""

    agent_id: str
    max_memories: int
    ttl_days: int


@dataclass(frozen=True)
class RetentionResult:
    """The answer to setting a policy. `would_close` is what the next maintenance closes by it."""

    agent_id: str
    max_memories: int
    ttl_days: int
    status: str
    would_close: int
    warnings: list[str] = field(default_factory=list[str])

    def headline(self) -> str:
        return f"Retention of {self.agent_id} {self.status}; {counted(self.would_close, 'memory')} beyond it"


@dataclass(frozen=True)
class DueMemory:
    """A memory that somebody wanted to look at again. `due`: by now."""

    id: str
    type: str
    title: str
    content: str
    refresh_on: str
    due: bool
    refresh_reason: str | None = None


@dataclass(frozen=True)
class RefreshQueue:
    """What is to be looked at again, the longest due first."""

    memories: list[DueMemory]
    total: int
    scope: list[str]

    def headline(self) -> str:
        return f"{len(self.memories)} of {counted(self.total, 'memory')} to look at again:"


@dataclass(frozen=True)
class CountedMemory:
    """A memory and how often something happened to it; the title only of what is current."""

    id: str
    count: int
    title: str | None = None


@dataclass(frozen=True)
class LifecycleSummary:
    """What happened in a window of time in the audiences the caller holds."""

    window_days: int
    events: dict[str, int]
    corroboration: dict[str, int]
    top_contradicted: list[CountedMemory]
    most_revised: list[CountedMemory]
    scope: list[str]

    def headline(self) -> str:
        told = ", ".join(f"{count} {kind}" for kind, count in self.events.items())
        return f"In {counted(self.window_days, 'day')}: {told or 'nothing'}"


class Scanned(NamedTuple):
    """A current memory as deduplication sees it; only those of one place are ever duplicates."""

    item: int
    memory_id: str
    place: tuple[object, ...]


@dataclass(frozen=True)
class DedupGroup:
    """Two near memories: `a` would stay. `verdict` is the decision on their texts, `reason` why.

    Only a `duplicate` is put to a person, as `review_id`; the others are near and no more.
    """

    a: str
    b: str
    title_a: str
    title_b: str
    score: float
    verdict: str
    reason: str
    review_id: str | None = None


@dataclass(frozen=True)
class DedupResult:
    """Near memories, the nearest first. `applied` counts the questions newly put to a person."""

    count: int
    groups: list[DedupGroup]
    threshold: float
    scanned: int
    applied: int
    degraded: list[str]

    def headline(self) -> str:
        asked = f"; {self.applied} put to a person" if self.applied else ""
        return f"{counted(self.count, 'near pair')} among {counted(self.scanned, 'memory')}{asked}"


@dataclass(frozen=True)
class CurationError:
    """A step that could not be taken, and why; the others were."""

    id: str
    code: str
    message: str


@dataclass(frozen=True)
class CurationResult:
    """What a plan came to: what was done by id, and the steps that wait for a person as `proposals`.

    `delete_hard` names what somebody wants erased: that is always a proposal.
    """

    status: str
    store: str
    delete: list[str]
    delete_hard: list[str]
    link: list[dict[str, Any]]
    update: list[str]
    errors: list[CurationError]
    summary: dict[str, int]
    proposals: list[str]
    operation_id: str | None = None

    def headline(self) -> str:
        told = [f"{count} {name.replace('_', ' ')}" for name, count in self.summary.items() if count]
        return f"Plan {self.status}: {', '.join(told) or 'nothing'}"
