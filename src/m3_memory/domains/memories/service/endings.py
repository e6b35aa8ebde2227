"""Ending many memories at once: the store no longer believes them, and an undo brings them back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model.holding import digestible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.storage.database import Reader


def end_all(op: Operation, memory_ids: Sequence[str], kind: str, reason: str = "") -> int:
    """Closes the open beliefs of these memories, each with an event of that kind; how many there were.

    Whose they are was decided by the caller of this.
    """
    beliefs = list(queries.open_beliefs_of(op.writer, memory_ids).values())
    versions = queries.versions_of(op.writer, [belief.item for belief in beliefs])
    states = queries.states_of(op.writer, [belief.memory_id for belief in beliefs])
    events = op.record_all(
        [
            op.event(
                kind,
                belief.memory_id,
                belief.version,
                reason=reason,
                before=digestible(versions[belief.item], belief, states[belief.memory_id]),
            )
            for belief in beliefs
        ]
    )
    closed = [(belief.belief, event) for belief, event in zip(beliefs, events, strict=True)]
    queries.close_beliefs(op.writer, closed)
    queries.note_changes(op.writer, [(belief.item, "belief") for belief in beliefs])
    return len(beliefs)


def pinned_among(reader: Reader, memory_ids: Sequence[str]) -> frozenset[str]:
    """Those of these memories that are pinned."""
    states = queries.states_of(reader, memory_ids)
    return frozenset(memory_id for memory_id, state in states.items() if state.pinned)
