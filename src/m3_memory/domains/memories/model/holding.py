"""How a version is held, and what an event digests of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from m3_memory.storage.history import digestible_text

if TYPE_CHECKING:
    from m3_memory.domains.memories.model import Belief, Draft, State, Version


class Holding(NamedTuple):
    """What a belief that is still to be opened will say of its version."""

    valid_from: str
    valid_to: str
    trust_state: str
    audience: int


def digestible(said: Version | Draft, held: Belief | Holding, state: State) -> str:
    """What an event's digest of a memory is taken of: what it says, how it is held, and how it ranks."""
    says = (said.type, said.title, said.content, said.metadata, said.conversation_id)
    holds = (held.valid_from, held.valid_to, held.trust_state, held.audience)
    ranked = (float(state.importance), int(state.pinned), state.refresh_on, state.refresh_reason)
    return digestible_text(says + holds, ranked)
