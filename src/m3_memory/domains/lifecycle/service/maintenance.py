"""Maintenance: what time and an operator's policies call for, in short transactions, the same at any pace.

Nothing depends on it: what has expired is shown by no read before it runs. On a store where nothing changes
it finds nothing to do, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.correction.service import lapse
from m3_memory.domains.lifecycle import queries
from m3_memory.domains.lifecycle.model import MaintenanceRequest, MaintenanceResult
from m3_memory.domains.memories.service.chunks import CHUNK_ROWS
from m3_memory.domains.memories.service.endings import end_all
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.kernel.clock import plus
from m3_memory.kernel.decay import DAY_SECONDS
from m3_memory.kernel.ids import new_id
from m3_memory.storage.database import Reader
from m3_memory.storage.erasure import erase
from m3_memory.storage.ledger import scrub_what_is_left
from m3_memory.storage.predicates import Filter, view_of

if TYPE_CHECKING:
    from m3_memory.context import Context


@dataclass(frozen=True, slots=True)
class _Step:
    """One kind of work: how much there is, and doing as much as one transaction holds, which it tells."""

    count: Callable[[Reader], int]
    perform: Callable[[Operation], int]


def maintain(ctx: Context, request: MaintenanceRequest) -> MaintenanceResult:
    """Does what is due, each kind of thing in transactions of CHUNK_ROWS rows at most, or counts it.

    A dry run's numbers are those of a run at that moment. Raises the Unavailable errors of the store; what
    was done before stays done, and the next run goes on.
    """
    steps = _steps(ctx, request)
    with ctx.read() as reader:
        counts = {name: step.count(reader) for name, step in steps.items()}
        _, refresh_due = queries.due(reader, view_of(reader, ctx.caller, Filter()), reader.now, 0)
    operation_id = "" if request.dry_run or not any(counts.values()) else new_id(ctx.clock.now())
    if operation_id:
        due = [steps[name] for name, count in counts.items() if count]
        done = [_performed(ctx, step, operation_id) for step in due]
        counts = dict(zip((name for name, count in counts.items() if count), done, strict=True))
    purged = _purged(ctx, request) if request.purge_days else 0
    if request.whole and not request.dry_run:
        scrub_what_is_left(ctx.database)
    return MaintenanceResult(
        "preview" if request.dry_run else "done",
        **counts,
        purged=purged,
        refresh_due=refresh_due,
        skipped=_skipped(request),
        operation_id=operation_id or None,
    )


def _performed(ctx: Context, step: _Step, operation_id: str) -> int:
    done, full = 0, True
    while full:
        with ctx.write() as writer:
            count = step.perform(operation(ctx, writer, operation_id))
        done += count
        full = count >= CHUNK_ROWS
    return done


def _purged(ctx: Context, request: MaintenanceRequest) -> int:
    """Removes memories that the store believes no more since so many days, or counts them. An operator's."""
    before = plus(ctx.clock.now(), -request.purge_days * DAY_SECONDS)
    with ctx.read() as reader:
        ids = queries.closed_before(reader, before)
    for start in range(0, 0 if request.dry_run else len(ids), CHUNK_ROWS):
        part = ids[start : start + CHUNK_ROWS]
        with ctx.database.erasing(ctx.started_as.user_id) as writer:
            op = operation(ctx, writer)
            op.record_all([op.event("purge", id_, 0, reason="closed long ago") for id_ in part])
            erase(writer, part)
    return len(ids)


def _steps(ctx: Context, request: MaintenanceRequest) -> dict[str, _Step]:
    """By the name of their number, in order: what one changes is not counted by one before it."""

    def expired(reader: Reader, limit: int = queries.EVERY) -> list[str]:
        view = view_of(reader, ctx.caller, Filter())
        return queries.expired(reader, view, whole=request.whole, limit=limit)

    def beyond(reader: Reader, limit: int = queries.EVERY) -> list[str]:
        view = view_of(reader, ctx.caller, Filter())
        listed = (queries.beyond(reader, view, policy) for policy in queries.policies(reader))
        return [memory_id for of_agent in listed for memory_id in of_agent][:limit]

    def closing(due: Callable[[Reader, int], list[str]], reason: str) -> _Step:
        return _Step(
            lambda reader: len(due(reader, queries.EVERY)),
            lambda op: end_all(op, due(op.writer, CHUNK_ROWS), "expire", reason),
        )

    every = {
        "search_changes": _Step(queries.old_changes, lambda op: queries.trim_changes(op.writer, CHUNK_ROWS)),
        "orphan_vectors": _Step(
            queries.orphan_count, lambda op: queries.remove_orphans(op.writer, CHUNK_ROWS)
        ),
        "lapsed": _Step(queries.lapsing, lambda op: lapse(op, CHUNK_ROWS)),
        "expired": closing(expired, "expired"),
        "retention": closing(beyond, "retention"),
    }
    wanted = {
        "orphan_vectors": request.prune_vectors,
        "expired": request.expire,
        "retention": request.whole,
        "lapsed": request.whole,
    }
    return {name: step for name, step in every.items() if wanted.get(name, True)}


def _skipped(request: MaintenanceRequest) -> list[str]:
    """What is left to a person, or to the worker that acts on a person's policy."""
    if request.whole:
        return []
    return ["other places, retention policies and questions whose time is over: the worker sees to those"]
