"""Superseding: a memory that stands takes another's place from a moment of the world on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model.holding import digestible
from m3_memory.domains.memories.service.derived import retire_derived

if TYPE_CHECKING:
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.domains.memories.service.targets import Target


def succeed(op: Operation, old: Target, new_id: str, at: str) -> None:
    """Ends the old memory at a world time, where the new one takes its place; the lock is held.

    If that is not after the old one's start, it was never right and closes whole. Its belief stays readable.
    One that this very transaction opened ends there already.
    """
    belief = old.belief
    ended = replace(belief, valid_to=min(belief.valid_to, at)) if at > belief.valid_from else None
    state = queries.state_of(op.writer, belief.memory_id)
    event = op.record(
        "supersede",
        belief.memory_id,
        belief.version,
        other_id=new_id,
        before=old.digestible(state),
        after=digestible(old.version, ended, state) if ended else "",
    )
    if belief.recorded_from != op.writer.store_time:
        closed = queries.close_belief(op.writer, belief, event)
        assert closed, "the owner's lock is held: nobody else can have closed it"
        if ended:
            queries.open_belief(op.writer, replace(ended, opened_by=event))
    queries.open_edge(op.writer, new_id, belief.memory_id, "supersedes", event)
    if at <= op.writer.now:
        retire_derived(op, [belief.memory_id], "superseded")
