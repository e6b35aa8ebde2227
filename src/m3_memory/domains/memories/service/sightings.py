"""Statements that were said before: counted as sightings, with what the new one would have brought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import VectorStatus, WriteResult, WriteStatus
from m3_memory.domains.memories.service.versions import embed_job
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage import embeddings, queue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.model import Belief, Draft, State, Version
    from m3_memory.domains.memories.service.operations import Operation

UNSAID_IMPORTANCE = 0.5
"""The importance of a memory whose writer named none."""

_UPDATE = "memory_update changes it"
_REMEDIES = {
    "wording": "both say the same",
    "valid_from": "delete the memory and write it anew with the earlier start",
    "source": "it tells who said it first",
    "model_id": "it tells who said it first",
    "embed_text": "memory_update with a new content embeds that",
}


@dataclass(frozen=True, slots=True)
class _Said:
    """A memory that says already what a draft says."""

    belief: Belief
    version: Version
    state: State
    vector: VectorStatus


def sighted_all(
    op: Operation, sightings: Sequence[tuple[Draft, str]], *, counted: bool = True
) -> list[WriteResult]:
    """Counts each draft as a sighting of the memory that says it already; the answers to the writes."""
    said = _said(op, [memory_id for _, memory_id in sightings])
    seen = [memory_id for _, memory_id in sightings] if counted else []
    events = op.record_all([op.event("corroborate", m, said[m].belief.version) for m in seen])
    queries.insert_voices(op.writer, op.caller, list(zip(seen, events, strict=True)))
    return [
        WriteResult(
            id=memory_id,
            status=WriteStatus.DUPLICATE,
            vector=said[memory_id].vector,
            warnings=[*draft.warnings, *_differences(draft, said[memory_id])],
            type=said[memory_id].belief.type,
        )
        for draft, memory_id in sightings
    ]


def differences(op: Operation, draft: Draft, memory_id: str) -> list[str]:
    """What a repeated statement brought that the memory which says it already does not have."""
    return _differences(draft, _said(op, [memory_id])[memory_id])


def _said(op: Operation, memory_ids: Sequence[str]) -> dict[str, _Said]:
    if not memory_ids:
        return {}
    wanted = list(dict.fromkeys(memory_ids))
    beliefs = queries.open_beliefs_of(op.writer, wanted)
    items = [belief.item for belief in beliefs.values()]
    versions = queries.versions_of(op.writer, items)
    states = queries.states_of(op.writer, wanted)
    vectors = _vector_states(op, items)
    return {
        memory_id: _Said(belief, versions[belief.item], states[memory_id], vectors[belief.item])
        for memory_id, belief in beliefs.items()
    }


def _vector_states(op: Operation, items: Sequence[int]) -> dict[int, VectorStatus]:
    ready = embeddings.having_vectors(op.writer, items)
    keys = {item: embed_job(op, item).key for item in items}
    pending = queue.queued(op.writer, list(keys.values()))
    states = {item: VectorStatus.READY if item in ready else VectorStatus.NONE for item in items}
    return states | {item: VectorStatus.PENDING for item, key in keys.items() if key in pending}


def _differences(draft: Draft, said: _Said) -> list[str]:
    belief, stored, state = said.belief, said.version, said.state
    table: tuple[tuple[str, object, object, object], ...] = (
        ("wording", draft.content, stored.content, ""),
        ("title", draft.title, stored.title, ""),
        ("metadata", draft.metadata, stored.metadata, "{}"),
        ("conversation_id", draft.conversation_id, stored.conversation_id, ""),
        ("valid_to", draft.valid_to, belief.valid_to, FOREVER),
        ("importance", draft.importance, state.importance, UNSAID_IMPORTANCE),
        ("refresh_on", draft.refresh_on, state.refresh_on, ""),
        ("refresh_reason", draft.refresh_reason, state.refresh_reason, ""),
        ("source", draft.source, stored.source, "agent"),
        ("model_id", draft.model_id, stored.model_id, ""),
        ("embed_text", draft.embed_text, stored.embed_text, ""),
    )
    found = [name for name, given, kept, unsaid in table if given not in (unsaid, kept)]
    if draft.valid_from and draft.valid_from < belief.valid_from:
        found.append("valid_from")
    return [
        f"{name} differs from what is stored, which stays: {_REMEDIES.get(name, _UPDATE)}" for name in found
    ]
