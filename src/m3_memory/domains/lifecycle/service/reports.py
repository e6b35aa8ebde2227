"""What is to be looked at again, and what happened lately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.lifecycle import queries
from m3_memory.domains.lifecycle.model import LifecycleSummary, RefreshQueue
from m3_memory.kernel.clock import FOREVER, plus
from m3_memory.kernel.decay import DAY_SECONDS
from m3_memory.storage.predicates import Filter, view_of

if TYPE_CHECKING:
    from m3_memory.context import Context


def refresh_queue(ctx: Context, limit: int, *, future: bool) -> RefreshQueue:
    """The visible memories whose refresh date has come, or that have one at all; the longest due first."""
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, Filter())
        memories, total = queries.due(reader, view, FOREVER if future else view.now, limit)
        return RefreshQueue(memories, total, list(view.audiences))


def summary(ctx: Context, window_days: int, top_n: int) -> LifecycleSummary:
    """What happened to the memories of held audiences in the last days."""
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, Filter())
        since = plus(view.now, -window_days * DAY_SECONDS)
        seen = queries.sightings_since(reader, view, since)
        return LifecycleSummary(
            window_days,
            queries.events_since(reader, view, since),
            {"corroborated": seen.get(True, 0), "contradicted": seen.get(False, 0)},
            queries.most(reader, view, queries.DOUBTED, since, top_n),
            queries.most(reader, view, queries.REVISED, since, top_n),
            list(view.audiences),
        )
