"""Maintenance: what time has done is made good, part by part, by policies that an operator sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from m3_memory.domains.agents.service import registry
from m3_memory.domains.correction.service.reviews import lapse, overdue
from m3_memory.domains.lifecycle import queries
from m3_memory.domains.lifecycle.model import MaintenanceRequest, MaintenanceResult, Policy, RetentionResult
from m3_memory.domains.memories.service.chunks import CHUNK_ROWS
from m3_memory.domains.memories.service.endings import end_all
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.errors import NotFound
from m3_memory.kernel.clock import plus
from m3_memory.kernel.counting import counted
from m3_memory.kernel.decay import DAY_SECONDS
from m3_memory.kernel.ids import new_id
from m3_memory.storage.database import Reader
from m3_memory.storage.erasure import erase
from m3_memory.storage.ledger import scrub_what_is_left
from m3_memory.storage.predicates import Filter, view_of

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.storage.sql import Sql

_ELSEWHERE = (
    "other places, retention policies and questions whose time is over: the worker sees to those,"
    " or a person by m3 memory maintenance --everywhere"
)


@dataclass(frozen=True, slots=True)
class _Step:
    """One kind of work: a query for the keys of the rows that are due, and what is done with some of them."""

    due: Callable[[Reader], Sql]
    perform: Callable[[Operation, Sequence[Any]], object]
    is_wanted: bool = True
    erases: bool = False


def maintain(ctx: Context, request: MaintenanceRequest) -> MaintenanceResult:
    """Does what is due, as one operation in transactions of CHUNK_ROWS rows at most, or counts it.

    A dry run's numbers are those of a run at that moment. Raises the Unavailable errors of the store; what
    was done before stays done, and the next run goes on.
    """
    steps = _steps(ctx, request)
    with ctx.read() as reader:
        counts = {name: queries.count(reader, step.due(reader)) for name, step in steps.items()}
        _, refresh_due = queries.due(reader, view_of(reader, ctx.caller, Filter()), reader.now, 0)
    operation_id = "" if request.dry_run or not any(counts.values()) else new_id(ctx.clock.now())
    if operation_id:
        counts = {name: _done(ctx, steps[name], operation_id) for name, count in counts.items() if count}
    if operation_id and counts.get("purged"):
        ctx.database.scrub()  # what was purged stands in the log and in the word index still
    if request.whole and not request.dry_run:
        scrub_what_is_left(ctx.database, ctx.settings.backups_of(ctx.store))
    return MaintenanceResult(
        "preview" if request.dry_run else "done",
        **counts,
        refresh_due=refresh_due,
        skipped=[] if request.whole else [_ELSEWHERE],
        operation_id=operation_id or None,
    )


def _done(ctx: Context, step: _Step, operation_id: str) -> int:
    """How much of a kind was there and is done: all of it."""
    done, keys = 0, [""] * CHUNK_ROWS
    opened = partial(ctx.database.erasing, ctx.started_as.user_id) if step.erases else ctx.write
    while len(keys) >= CHUNK_ROWS:
        ctx.ensure_time()
        with opened() as writer:
            if keys := queries.first(writer, step.due(writer), CHUNK_ROWS):
                step.perform(operation(ctx, writer, operation_id), keys)
        done += len(keys)
    return done


def _steps(ctx: Context, request: MaintenanceRequest) -> dict[str, _Step]:
    """By the name of their number, in order: what one changes is not counted by one before it."""

    def expired(reader: Reader) -> Sql:
        return queries.expired(reader, view_of(reader, ctx.caller, Filter()), whole=request.whole)

    def closed(reader: Reader) -> Sql:
        return queries.closed_before(reader, plus(reader.now, -request.purge_days * DAY_SECONDS))

    steps = {
        "search_changes": _Step(
            queries.old_changes, lambda op, rows: queries.remove_changes(op.writer, rows)
        ),
        "orphan_vectors": _Step(
            queries.orphans, lambda op, rows: queries.remove_vectors(op.writer, rows), request.prune_vectors
        ),
        "lapsed": _Step(overdue, lapse, request.whole),
        "expired": _Step(expired, partial(_expire, "expired"), request.expire),
        "retention": _Step(queries.beyond_policies, partial(_expire, "retention"), request.whole),
        "purged": _Step(closed, _purge, bool(request.purge_days), erases=True),
    }
    return {name: step for name, step in steps.items() if step.is_wanted}


def _expire(reason: str, op: Operation, memory_ids: Sequence[str]) -> None:
    end_all(op, memory_ids, "expire", reason)


def _purge(op: Operation, memory_ids: Sequence[str]) -> None:
    op.record_all([op.event("purge", id_, 0, reason="closed long ago") for id_ in memory_ids])
    erase(op.writer, memory_ids)


def set_retention(ctx: Context, policy: Policy) -> RetentionResult:
    """Sets an agent's policy, with an event; one that limits nothing takes the policy away.

    Nothing is closed here: maintenance does, and every memory it closes can be brought back.
    """
    doubts = _doubts(ctx, policy)
    with ctx.write() as writer:
        known = {each.agent_id: each for each in queries.policies(writer)}
        before = known.get(policy.agent_id, Policy(policy.agent_id, 0, 0))
        status = "unchanged"
        if policy != before:
            status = "set" if policy.max_memories or policy.ttl_days else "removed"
            event = operation(ctx, writer).record("grant", "", 0, reason=_told(policy))
            queries.put_policy(writer, policy, event)
        would_close = queries.count(writer, queries.beyond(writer, policy))
    return RetentionResult(*policy, status, would_close, doubts)


def _told(policy: Policy) -> str:
    """The policy in words, as its event and the notice of that say it."""
    number, age = counted(policy.max_memories, "memory"), counted(policy.ttl_days, "day")
    limits = {f"at most {number}": policy.max_memories, f"for {age}": policy.ttl_days}
    told = [words for words, limit in limits.items() if limit]
    return f"retention of {policy.agent_id}: {', '.join(told) or 'no limit any more'}"


def _doubts(ctx: Context, policy: Policy) -> list[str]:
    """What a person may not have meant: an agent that nobody has seen."""
    try:
        registry.get(ctx, policy.agent_id)
    except NotFound:
        return [f"no agent {policy.agent_id} has been seen yet: agent_list names those that were"]
    return []
