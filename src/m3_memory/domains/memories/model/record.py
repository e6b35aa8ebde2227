"""One memory as reads show it: what it says, how it is held, and what is said of it today."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from m3_memory.kernel.interval import shown

if TYPE_CHECKING:
    from m3_memory.domains.memories.model import Belief, State, Version


@dataclass(frozen=True)
class ConfidencePart:
    what: str
    amount: float


@dataclass(frozen=True)
class Confidence:
    """How much speaks for a memory, from 0 to 1: the sum of its parts, within these bounds."""

    value: float
    parts: list[ConfidencePart]


@dataclass(frozen=True)
class Marks:
    """What is said of a memory besides what it says, as things stand today, whatever moment is read.

    `disputed_by` are the other sides of open conflicts that name it.
    """

    disputed_by: list[str] = field(default_factory=list[str])
    confidence: Confidence | None = None


@dataclass(frozen=True)
class MemoryRecord:
    """One memory as reads show it. Absent fields have nothing to say."""

    id: str
    version: int
    type: str
    title: str
    content: str
    metadata: dict[str, Any]
    scope: str
    agent_id: str
    source: str
    importance: float
    pinned: bool
    trust_state: str
    actionable: str
    valid_from: str
    recorded_at: str
    valid_to: str | None = None
    expires_at: str | None = None
    conversation_id: str | None = None
    project: str | None = None
    model_id: str | None = None
    variant: str | None = None
    refresh_on: str | None = None
    refresh_reason: str | None = None
    stale: bool | None = None
    disputed_by: list[str] | None = None
    confidence: Confidence | None = None


@dataclass(frozen=True)
class GetResult:
    """The answer to memory_get: the memory, or why it is not current."""

    id: str
    status: str
    scope: str
    state: str | None = None
    since: str | None = None
    successor: str | None = None
    memory: MemoryRecord | None = None

    def headline(self) -> str:
        return f"Memory {self.id}: {self.status}" + (f" ({self.state})" if self.state else "")


def actionable(trust_state: str, *, is_disputed: bool) -> str:
    """What a memory of this trust state may be used for: no, inform, act, or verify while it is disputed."""
    allowed = {"accepted": "inform", "verified": "act"}.get(trust_state, "no")
    return "verify" if is_disputed and allowed != "no" else allowed


def record_of(version: Version, belief: Belief, state: State, marks: Marks, now: str) -> MemoryRecord:
    """A stored version, its belief, its state and its marks as reads show them."""
    return MemoryRecord(
        id=version.memory_id,
        version=version.version,
        type=version.type,
        title=version.title,
        content=version.content,
        metadata=json.loads(version.metadata),
        scope=version.scope,
        agent_id=version.agent_id,
        source=version.source,
        importance=state.importance,
        pinned=state.pinned,
        trust_state=belief.trust_state,
        actionable=actionable(belief.trust_state, is_disputed=bool(marks.disputed_by)),
        valid_from=belief.valid_from,
        recorded_at=belief.recorded_from,
        valid_to=shown(belief.valid_to),
        expires_at=shown(belief.expires_at),
        conversation_id=version.conversation_id or None,
        project=version.project or None,
        model_id=version.model_id or None,
        variant=version.variant or None,
        refresh_on=state.refresh_on or None,
        refresh_reason=state.refresh_reason or None,
        stale=True if state.refresh_on and state.refresh_on <= now else None,
        disputed_by=marks.disputed_by or None,
        confidence=marks.confidence,
    )
