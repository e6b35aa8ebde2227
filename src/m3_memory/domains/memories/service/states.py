"""Pins and feedback: what ranks and protects a memory, and never changes what it says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import ChangeResult, State
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.reads import resolve
from m3_memory.domains.memories.service.targets import Target, target
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from m3_memory.context import Context

USEFUL_STEP = 0.05
"""How much a memory gains in importance that was useful."""

NOT_USEFUL_STEP = 0.05
"""How much one loses that was not."""

LEAST_IMPORTANCE = 0.1
"""No feedback takes importance below this; a person or an agent may, by memory_update."""


@dataclass(frozen=True)
class FeedbackResult:
    """The answer to feedback. `status`: recorded, or unchanged where it could change nothing more."""

    id: str
    feedback: str
    status: str
    importance: float

    def headline(self) -> str:
        return f"Feedback {self.feedback} {self.status}: {self.id}"


def pin(ctx: Context, id_or_prefix: str, *, pinned: bool) -> ChangeResult:
    """Protects a memory from machines, or no longer. A second time changes nothing.

    Raises NotFound, AmbiguousId, and NotCurrent for a memory the store no longer holds.
    """
    with ctx.write() as writer:
        op = operation(ctx, writer)
        found, state = _found(op, id_or_prefix)
        memory_id, version = found.belief.memory_id, found.belief.version
        if state.pinned is pinned:
            return ChangeResult(memory_id, "unchanged", version)
        status = "pinned" if pinned else "unpinned"
        _put(op, found, state, replace(state, pinned=pinned), status)
        return ChangeResult(memory_id, status, version, ["pinned"])


def feedback(ctx: Context, id_or_prefix: str, said: str) -> FeedbackResult:
    """Takes note that a memory was useful, not useful or misleading.

    The first two move its importance by a step, within LEAST_IMPORTANCE and 1. The first and the third are
    entries in its corroboration ledger, one for each agent and conversation: they raise or lower confidence,
    and hide nothing. Raises as `pin` does.
    """
    with ctx.write() as writer:
        op = operation(ctx, writer)
        found, state = _found(op, id_or_prefix)
        importance = _moved(state.importance, said)
        is_heard = _heard(op, found, said)
        if importance != state.importance:
            _put(op, found, state, replace(state, importance=importance), said)
        status = "recorded" if is_heard or importance != state.importance else "unchanged"
        return FeedbackResult(found.belief.memory_id, said, status, importance)


def _found(op: Operation, id_or_prefix: str) -> tuple[Target, State]:
    memory_id = resolve(op.writer, View(op.caller, Filter(), op.writer.now), id_or_prefix)
    return target(op.writer, op.caller, memory_id), queries.state_of(op.writer, memory_id)


def _put(op: Operation, found: Target, state: State, changed: State, reason: str) -> None:
    kind = "pin" if changed.pinned is not state.pinned else "importance"
    before, after = found.digestible(state), found.digestible(changed)
    memory_id, version = found.belief.memory_id, found.belief.version
    op.record(kind, memory_id, version, reason=reason, before=before, after=after)
    queries.put_state(op.writer, memory_id, changed)


def _moved(importance: float, said: str) -> float:
    """The importance after one feedback; what lies below the least already stays where it is."""
    match said:
        case "useful":
            return min(1.0, round(importance + USEFUL_STEP, 4))
        case "not_useful":
            return min(importance, max(LEAST_IMPORTANCE, round(importance - NOT_USEFUL_STEP, 4)))
        case _:
            return importance


def _heard(op: Operation, found: Target, said: str) -> bool:
    """Takes the caller's word for or against a memory into its ledger, once an agent and conversation.

    That it was of use says nothing new where its writer says it, or somebody in the same conversation.
    """
    version, agrees = found.version, said == "useful"
    mine = op.caller.agent_id == version.agent_id or op.caller.conversation_id == version.written_in
    if said == "not_useful" or (agrees and mine):
        return False
    memory_id = found.belief.memory_id
    if queries.has_voted(op.writer, op.caller, memory_id, agrees=agrees):
        return False
    event = op.record("corroborate", memory_id, found.belief.version, reason=said)
    queries.insert_voices(op.writer, op.caller, [(memory_id, event)], agrees=agrees)
    return True
