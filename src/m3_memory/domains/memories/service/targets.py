"""Which memory a change means, and whether the caller may make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model.holding import digestible
from m3_memory.domains.memories.service.chunks import only, tried
from m3_memory.domains.memories.service.standing import state_now
from m3_memory.errors import M3Error, NotCurrent, NotFound
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        return digestible(self.version, self.belief, state)

    def is_kept_from(self, caller: Caller) -> bool:
        """Whether only a person may change what it says: a person verified it."""
        return self.belief.trust_state == "verified" and not caller.is_operator


def target(reader: Reader, caller: Caller, memory_id: str) -> Target:
    """The memory a change names by its full id.

    Raises NotFound for an id in no audience the caller holds, NotCurrent for a memory the store no longer
    holds.
    """
    return only(targets(reader, caller, [memory_id]))


def standing_target(reader: Reader, memory_id: str) -> Target:
    """A memory that is known to stand, in whatever audience."""
    belief = queries.open_beliefs_of(reader, [memory_id])[memory_id]
    return Target(belief, queries.version_of(reader, belief.item))


def targets(reader: Reader, caller: Caller, memory_ids: Sequence[str]) -> list[Target | M3Error]:
    """As `target` for each; what can't be changed is an error in its place."""
    beliefs = queries.newest_beliefs(reader, View(caller, Filter(), reader.now), memory_ids)
    current = [tried(_current, reader, memory_id, beliefs.get(memory_id)) for memory_id in memory_ids]
    items = [belief.item for belief in current if not isinstance(belief, M3Error)]
    versions = queries.versions_of(reader, items)
    return [b if isinstance(b, M3Error) else Target(b, versions[b.item]) for b in current]


def _current(reader: Reader, memory_id: str, belief: Belief | None) -> Belief:
    if belief is None:
        raise not_found(memory_id)
    if not belief.is_open or belief.expires_at <= reader.now or belief.trust_state == "rejected":
        state, since = state_now(reader, belief)
        raise NotCurrent(
            f"memory {memory_id} is not current: {state} since {since}",
            "memory_get shows its successor if there is one; memory_restore brings back what was deleted",
        )
    return belief


def not_found(memory_id: str) -> NotFound:
    """The error for an id that is foreign, or was never given: the two can't be told apart."""
    return NotFound(
        f"no memory {memory_id} in what you may see", "memory_search finds memories by their content"
    )
