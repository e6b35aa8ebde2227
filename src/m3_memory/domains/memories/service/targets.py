"""Which memory a change means, and whether the caller may make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import digestible
from m3_memory.domains.memories.service.standing import state_now
from m3_memory.errors import NeedsOperator, NotCurrent, NotFound
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from m3_memory.domains.memories.model import Belief, State, Version
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader


@dataclass(frozen=True, slots=True)
class Target:
    """An open belief of an audience the caller holds, and the version it is about."""

    belief: Belief
    version: Version

    def digestible(self, state: State) -> str:
        """What an event's digest of this memory is taken of."""
        return digestible(self.version, self.belief.valid_from, self.belief.valid_to, state)


def target(reader: Reader, caller: Caller, memory_id: str) -> Target:
    """The memory a change names by its full id.

    Raises InvalidId for anything but a full id, NotFound for an id in no audience the caller holds,
    NotCurrent for a memory the store no longer holds, NeedsOperator for one that only a person may change.
    """
    view = View(caller, Filter(), reader.now)
    belief = queries.newest_belief(reader, view, memory_id)
    if belief is None:
        raise not_found(memory_id)
    if not belief.is_open or belief.expires_at <= reader.now or belief.trust_state == "rejected":
        state, since = state_now(reader, belief)
        raise NotCurrent(
            f"memory {memory_id} is not current: {state} since {since}",
            "memory_get shows its successor if there is one; memory_restore brings back what was deleted",
        )
    if belief.trust_state == "verified" and not caller.is_operator:
        raise NeedsOperator(
            f"memory {memory_id} was verified by a person",
            "ask the person to change it, or write what you know beside it",
        )
    return Target(belief, queries.version_of(reader, belief.item))


def not_found(memory_id: str) -> NotFound:
    """The error for an id that is foreign, or was never given: the two can't be told apart."""
    return NotFound(
        f"no memory {memory_id} in what you may see", "memory_search finds memories by their content"
    )
