"""Getting one memory and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import HistoryResult
from m3_memory.domains.memories.model.record import GetResult, MemoryRecord, record_of
from m3_memory.domains.memories.service.confidence import marks_of
from m3_memory.domains.memories.service.standing import CURRENT, state_now
from m3_memory.domains.memories.service.succession import current_successor
from m3_memory.domains.memories.service.targets import not_found
from m3_memory.errors import AmbiguousId
from m3_memory.storage.predicates import Filter, View, view_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Belief
    from m3_memory.storage.database import Reader

_SHOWN_AMBIGUOUS = 10


def get(ctx: Context, id_or_prefix: str, narrowing: Filter) -> GetResult:
    """One memory by its id or an unambiguous prefix of it.

    A memory that is not current, in an audience the caller holds, is an ordinary answer that says since when
    and what superseded it; its text comes only where `as_of` or `known_at` asks for a moment that shows it.
    Raises NotFound for any other id, AmbiguousId for a prefix of several.
    """
    found = _got(ctx, id_or_prefix, narrowing)
    if found.memory:
        ctx.note_shown([found.id])
    return found


def _got(ctx: Context, id_or_prefix: str, narrowing: Filter) -> GetResult:
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, narrowing)
        memory_id = resolve(reader, view, id_or_prefix)
        newest = queries.newest_belief(reader, view, memory_id)
        if newest is None:
            raise not_found(memory_id)
        shown = queries.visible_belief(reader, view, memory_id)
        state, since = state_now(reader, newest)
        if newest.variant not in ("", narrowing.variant) and state == CURRENT:
            state = "variant"
        if state == CURRENT:
            return _current(reader, newest, shown)
        successor = current_successor(reader, view.caller, memory_id)
        return GetResult(
            id=memory_id,
            status="not_current",
            scope=_scope(reader, newest),
            state=state,
            since=since,
            successor=successor.memory_id if successor else None,
            memory=record(reader, shown) if shown else None,
        )


def history(ctx: Context, memory_id: str, limit: int, narrowing: Filter) -> HistoryResult:
    """What happened to a memory, newest first, up to the narrowing's `known_at`. Raises as `get` does."""
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, narrowing)
        full = resolve(reader, view, memory_id)
        events, total = queries.events_of(reader, view, full, limit)
        if not total:
            raise not_found(full)
        return HistoryResult(full, events, total)


def resolve(reader: Reader, view: View, prefix: str) -> str:
    """The one id in held audiences that begins so; a whole id begins itself."""
    found = queries.ids_beginning(reader, view, prefix, _SHOWN_AMBIGUOUS + 1)
    if not found:
        raise not_found(prefix)
    if len(found) > 1:
        more = " …" if len(found) > _SHOWN_AMBIGUOUS else ""
        raise AmbiguousId(
            f"{prefix} begins several ids: {', '.join(found[:_SHOWN_AMBIGUOUS])}{more}",
            "give more characters",
        )
    return found[0]


def newest_beliefs(reader: Reader, view: View, memory_ids: Sequence[str]) -> dict[str, Belief]:
    """The newest belief, open or not, of each of these memories that the caller's audiences hold."""
    return queries.newest_beliefs(reader, view, memory_ids)


def record(reader: Reader, belief: Belief) -> MemoryRecord:
    """The memory as this belief has it."""
    version = queries.version_of(reader, belief.item)
    state = queries.state_of(reader, belief.memory_id)
    marks = marks_of(reader, [belief.memory_id])[belief.memory_id]
    return record_of(version, belief, state, marks, reader.now)


def _current(reader: Reader, newest: Belief, shown: Belief | None) -> GetResult:
    """A memory that is current; without text where the moment asked for did not show it."""
    return GetResult(
        id=newest.memory_id,
        status=CURRENT if shown else "not_current",
        scope=_scope(reader, newest),
        state=None if shown else "not_visible_then",
        memory=record(reader, shown) if shown else None,
    )


def _scope(reader: Reader, belief: Belief) -> str:
    return queries.audience_names(reader, [belief.audience])[belief.audience]
