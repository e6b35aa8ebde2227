"""What took a memory's place: its successors, and theirs in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.errors import NotCurrent
from m3_memory.storage.predicates import Filter, View, view_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from m3_memory.domains.memories.model import Belief
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader


def current_successor(reader: Reader, caller: Caller, memory_id: str) -> Belief | None:
    """The memory that stands in this one's place now, if it is current and the caller sees it."""
    return next(current_successors(reader, caller, memory_id), None)


def current_successors(reader: Reader, caller: Caller, memory_id: str) -> Iterator[Belief]:
    """Every such memory: there are several where one came back after another had taken its place."""
    view = view_of(reader, caller, Filter())
    for successor in every_successor(reader, memory_id):
        if belief := queries.visible_belief(reader, view, successor):
            yield belief


def refuse_superseded_memory(reader: Reader, caller: Caller, memory_id: str) -> None:
    """Raises NotCurrent while the store believes in a memory that took this one's place, at any time.

    It is named if the caller holds its audience.
    """
    believed = [found for found in every_successor(reader, memory_id) if queries.is_believed(reader, found)]
    if not believed:
        return
    view = View(caller, Filter(), reader.now)
    current = current_successor(reader, caller, memory_id)
    held = (found for found in believed if queries.newest_belief(reader, view, found))
    named = current.memory_id if current else next(held, "")
    raise NotCurrent(
        f"memory {memory_id} was superseded already",
        f"supersede or update its successor: {named}" if named else "memory_history shows by what",
    )


def rivals(reader: Reader, caller: Caller, memory_id: str) -> list[str]:
    """Other current memories that stand in the place of one that this memory superseded too."""
    found = (
        rival.memory_id
        for old in queries.predecessors(reader, memory_id)
        for rival in current_successors(reader, caller, old)
    )
    return sorted(set(found) - {memory_id})


def told_of_ended(reader: Reader, caller: Caller, memory_ids: Collection[str]) -> dict[str, list[str]]:
    """By memory that is deleted, what to say of those whose place it took: of what the caller holds."""
    now, held = view_of(reader, caller, Filter()), View(caller, Filter(), reader.now)
    found: dict[str, list[str]] = {}
    for edge in queries.open_edges_from(reader, memory_ids, "supersedes"):
        old = edge.to_id
        if queries.newest_belief(reader, held, old) and not queries.visible_belief(reader, now, old):
            found.setdefault(edge.from_id, []).append(
                f"memory {old}, whose place it had taken, stays ended; memory_restore {edge.from_id}"
                f" and then memory_unsupersede {old} give that its place back"
            )
    return found


def every_successor(reader: Reader, memory_id: str) -> Iterator[str]:
    """Every memory that superseded this one or a successor of it; the nearest first, each once."""
    reached, waiting = {memory_id}, [memory_id]
    while waiting:
        found = [new for new in queries.successors(reader, waiting.pop(0)) if new not in reached]
        reached.update(found)
        waiting += found
        yield from found
