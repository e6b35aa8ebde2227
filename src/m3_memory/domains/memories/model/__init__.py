"""What the memories slice takes and gives: frozen values, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from m3_memory.kernel.clock import FOREVER
from m3_memory.kernel.contradiction import Statement
from m3_memory.kernel.fingerprint import Fingerprint

EMBED_JOB = "embed"
"""The kind of the jobs that bring vectors."""


class WriteStatus(StrEnum):
    CREATED = "created"
    DUPLICATE = "duplicate"
    SUPERSEDING = "superseding"
    DISPUTED = "disputed"
    CANDIDATE = "candidate"


class VectorStatus(StrEnum):
    READY = "ready"
    PENDING = "pending"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A statement as a caller gives it: unchecked text, times in store form, empty where nothing was said."""

    content: str
    type: str
    title: str = ""
    metadata: object = None
    scope: str = ""
    importance: float = 0.5
    source: str = "agent"
    valid_from: str = ""
    valid_to: str = ""
    refresh_on: str = ""
    refresh_reason: str = ""
    conversation_id: str = ""
    variant: str = ""
    embed: bool = True
    embed_text: str = ""
    model_id: str = ""
    reassert: bool = False
    auto_classify: bool = False


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of a text's first windows in one space. `missing` windows are left to a job."""

    space: Fingerprint | None = None
    vectors: tuple[bytes, ...] = ()
    missing: int = 0
    status: VectorStatus = VectorStatus.NONE
    warnings: tuple[str, ...] = ()


class Near(NamedTuple):
    """Items near a draft in meaning, and how far the store had come when they were looked for.

    `seen` is empty where nothing was looked for.
    """

    items: tuple[int, ...] = ()
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked statement, ready to be stored: secrets out, text analysed, vectors computed.

    `names_start` tells a `valid_from` that the caller gave from one that was filled in. `trust_state` is that
    of the belief: accepted, or candidate for what machines and imports bring.
    """

    type: str
    title: str
    content: str
    content_hash: str
    normal_hash: str
    metadata: str
    scope: str
    conversation_id: str
    source: str
    model_id: str
    variant: str
    importance: float
    valid_from: str
    valid_to: str
    refresh_on: str
    refresh_reason: str
    embed: bool
    embed_text: str
    tokens: tuple[str, ...]
    names_start: bool = False
    reassert: bool = False
    trust_state: str = "accepted"
    pinned: bool = False
    vectors: Vectors = field(default_factory=Vectors)
    near: Near = field(default_factory=Near)
    warnings: tuple[str, ...] = ()

    def starting(self, store_time: str) -> Draft:
        """The same draft, holding from the moment of writing where the caller named no start."""
        return self if self.valid_from else replace(self, valid_from=store_time)


@dataclass(frozen=True, slots=True)
class Version:
    """One stored version of a memory (a row of memory_items).

    `conversation_id` groups; `written_in` is the conversation its writer was in.
    """

    item: int
    memory_id: str
    version: int
    type: str
    title: str
    content: str
    content_hash: str
    normal_hash: str
    metadata: str
    scope: str
    audience: int
    agent_id: str
    circle: str
    project: str
    conversation_id: str
    written_in: str
    source: str
    model_id: str
    variant: str
    embed: bool
    embed_text: str


@dataclass(frozen=True, slots=True)
class Belief:
    """That a version holds: one row of memory_validity."""

    belief: int
    memory_id: str
    item: int
    version: int
    valid_from: str
    valid_to: str
    recorded_from: str
    recorded_to: str
    trust_state: str
    expires_at: str
    audience: int
    type: str
    agent_id: str
    conversation_id: str
    variant: str
    opened_by: int
    closed_by: int | None

    @property
    def is_open(self) -> bool:
        return self.recorded_to == FOREVER


@dataclass(frozen=True, slots=True)
class Edge:
    """A typed relation of two memories: one row of memory_relationships."""

    relationship: int
    from_id: str
    to_id: str
    type: str
    recorded_from: str
    recorded_to: str
    opened_by: int
    closed_by: int | None

    @property
    def between(self) -> tuple[str, str, str]:
        """What is unique among open edges: from, to and type."""
        return self.from_id, self.to_id, self.type


@dataclass(frozen=True, slots=True)
class Standing:
    """A statement that stands in an audience, with what says whether another one is compared with it."""

    audience: int
    variant: str
    trust_state: str
    statement: Statement
    pinned: bool = False
    since: str = ""
    """Since when the store believes it."""

    @property
    def is_candidate(self) -> bool:
        return self.trust_state == "candidate"


@dataclass(frozen=True, slots=True)
class State:
    """What ranks, reminds or protects, per memory id."""

    importance: float = 0.5
    pinned: bool = False
    refresh_on: str = ""
    refresh_reason: str = ""


@dataclass(frozen=True)
class Conflict:
    id: str
    content: str
    reason: str


@dataclass(frozen=True)
class WriteResult:
    """The answer to a write."""

    id: str
    status: WriteStatus
    superseded: list[str] = field(default_factory=list[str])
    conflicts: list[Conflict] = field(default_factory=list[Conflict])
    vector: VectorStatus = VectorStatus.NONE
    warnings: list[str] = field(default_factory=list[str])
    type: str | None = None
    review_id: str | None = None

    def headline(self) -> str:
        match self.status:
            case WriteStatus.DUPLICATE:
                return f"Duplicate of: {self.id}"
            case WriteStatus.SUPERSEDING:
                return f"Superseded {', '.join(self.superseded)} -> Created: {self.id}"
            case WriteStatus.CANDIDATE:
                return f"Waits as a candidate: {self.id}"
            case _:
                return f"Created: {self.id}"


@dataclass(frozen=True)
class ChangeResult:
    """The answer to an update, a delete or a restore."""

    id: str
    status: str
    version: int
    changed: list[str] = field(default_factory=list[str])
    vector: VectorStatus | None = None
    warnings: list[str] = field(default_factory=list[str])
    review_id: str | None = None

    def headline(self) -> str:
        return f"{_CHANGED.get(self.status, self.status.capitalize())}: {self.id}"


@dataclass(frozen=True)
class UpdateResult(ChangeResult):
    """The answer to an update, with what its new text did to other memories, as WriteResult says it."""

    superseded: list[str] | None = None
    conflicts: list[Conflict] | None = None


_CHANGED = {"deleted": "Soft-deleted", "candidate": "Waits for a person", "proposed": "Proposed to a person"}


@dataclass(frozen=True)
class HistoryEvent:
    sequence: int
    at: str
    kind: str
    version: int
    agent_id: str
    surface: str
    operation_id: str
    other_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class HistoryResult:
    memory_id: str
    events: list[HistoryEvent]
    total: int

    def headline(self) -> str:
        return f"{len(self.events)} of {self.total} events of {self.memory_id}, newest first:"
