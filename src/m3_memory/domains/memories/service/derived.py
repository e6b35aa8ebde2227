"""Derived memories: what rests on memories that stand no more is retired with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.service.endings import end_all

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from m3_memory.domains.memories.model import Belief
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.storage.database import Reader


def retire_derived(op: Operation, memory_ids: Sequence[str], reason: str) -> list[str]:
    """Ends every memory that was derived from these alone, and from what falls with them; their ids.

    To be called when memories were deleted, superseded, rejected or erased; `reason` says which. One with a
    source that still stands stays, and so does one that a person verified, unless a person asks.
    """
    gone, waiting = set(memory_ids), list(memory_ids)
    retired: list[Belief] = []
    while waiting:
        sources = queries.sources_of_derived(op.writer, waiting)
        named = set(sources).union(*({id_ for _, id_ in its} for its in sources.values()))
        beliefs = queries.open_beliefs_of(op.writer, sorted(named)) if named else {}
        standing = {id_ for id_, b in beliefs.items() if _stands(b, op.writer.now)} - gone
        falling = [beliefs[id_] for id_ in sorted(_falling(sources, standing)) if _may_end(op, beliefs[id_])]
        waiting = [belief.memory_id for belief in falling]
        gone.update(waiting)
        retired += falling
    ids = [belief.memory_id for belief in retired]
    end_all(op, ids, "delete", f"derived from what was {reason}")
    return ids


def resting_on(reader: Reader, memory_ids: Sequence[str]) -> list[str]:
    """These memories, and every one that was derived from them alone, directly or through others."""
    found = dict.fromkeys(memory_ids)
    waiting = list(found)
    while waiting:
        sources = queries.sources_of_derived(reader, waiting)
        waiting = [
            derived
            for derived, its in sources.items()
            if derived not in found and all(kind == "memory" and id_ in found for kind, id_ in its)
        ]
        found |= dict.fromkeys(waiting)
    return list(found)


def _stands(belief: Belief, now: str) -> bool:
    return belief.trust_state != "rejected" and belief.valid_to > now and belief.expires_at > now


def _falling(sources: Mapping[str, set[tuple[str, str]]], standing: Container[str]) -> list[str]:
    """Those that stand, and of whose sources none does; of what is no memory it is not known to be gone."""
    return [
        derived
        for derived, its in sources.items()
        if derived in standing and not any(kind != "memory" or id_ in standing for kind, id_ in its)
    ]


def _may_end(op: Operation, belief: Belief) -> bool:
    return op.caller.is_operator or belief.trust_state != "verified"
