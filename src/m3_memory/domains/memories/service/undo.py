"""Undo: takes back what events did, as long as nothing was built on it; a write like any other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import ChangeResult
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.standing import state_now
from m3_memory.domains.memories.service.targets import not_found
from m3_memory.domains.memories.service.undo_answers import UndoResult, told
from m3_memory.domains.memories.service.undo_plan import Plan, Why, changes_of, past_of, plan
from m3_memory.domains.memories.service.undoing import perform, rival_warnings
from m3_memory.errors import DuplicateValue, InvalidArgument, M3Error, NeedsOperator, NotFound, UndoBlocked
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Belief
    from m3_memory.domains.memories.queries import Act
    from m3_memory.domains.memories.service.undo_plan import Kept
    from m3_memory.storage.database import Reader

RESTORABLE = ("delete", "expire")

MAX_EVENTS = 10_000
"""So many events of an agent are undone by one call."""


@dataclass(frozen=True, slots=True)
class UndoRequest:
    """What to undo, named in one of four ways: an event, an operation, a memory's last change, an agent's
    acts from `since` on, up to `until`.
    """

    event: int | None = None
    operation_id: str = ""
    memory_id: str = ""
    agent_id: str = ""
    since: str = ""
    until: str = ""
    preview: bool = False


def undo(ctx: Context, request: UndoRequest) -> UndoResult:
    """Takes back one change whole, or all that can be of an agent's acts, in one transaction.

    A preview says the same and changes nothing. Raises NotFound for what lies in no audience the caller
    holds; for a single event, operation or memory also UndoBlocked, DuplicateValue and NeedsOperator, naming
    what is in the way: of a range those changes are kept, and named, and the rest goes on.
    """
    _check(request)
    if request.preview:
        with ctx.read() as reader:
            return told(reader, _planned(ctx, reader, request), "preview")
    with ctx.write() as writer:
        planned = _planned(ctx, writer, request)
        if not request.agent_id:
            _refuse_blocked(planned)
        if not planned.stages:
            return told(writer, planned, "nothing")
        op = operation(ctx, writer)
        answer = told(writer, planned, "undone", op.operation_id)
        perform(op, planned)
        return replace(answer, warnings=[*answer.warnings, *rival_warnings(op, planned)])


def restore(ctx: Context, memory_id: str) -> ChangeResult:
    """Brings back a deleted memory as it was: undo of the event that deleted it.

    Raises NotFound for an id in no audience the caller holds, UndoBlocked where the memory was not deleted,
    DuplicateValue where another memory says the same by now. Time that passed stays passed: what expired or
    ended meanwhile comes back as expired or ended.
    """
    with ctx.write() as writer:
        newest = _newest(ctx, writer, memory_id)
        if newest.closed_by is None or queries.closing_kind(writer, newest.closed_by) not in RESTORABLE:
            state, since = state_now(writer, newest)
            raise UndoBlocked(
                f"memory {memory_id} was not deleted: it is {state} since {since}",
                "memory_history shows what happened to it; memory_undo takes back what was no deletion",
            )
        warnings = _undo_event(ctx, operation(ctx, writer), newest.closed_by)
        return ChangeResult(memory_id, "restored", newest.version, warnings=warnings)


def unsupersede(ctx: Context, memory_id: str) -> ChangeResult:
    """Gives a superseded memory its place back: undo of the superseding, its successor included.

    A successor that stood before it became one stays. Raises as `restore` does.
    """
    with ctx.write() as writer:
        newest = _newest(ctx, writer, memory_id)
        edge = queries.newest_edge_to(writer, memory_id, "supersedes")
        if edge is None:
            state, since = state_now(writer, newest)
            raise UndoBlocked(
                f"memory {memory_id} was not superseded: it is {state} since {since}",
                "give the id of the old memory; memory_undo takes back any other change",
            )
        warnings = _undo_event(ctx, operation(ctx, writer), edge.opened_by)
        return ChangeResult(memory_id, "restored", newest.version, warnings=warnings)


def _newest(ctx: Context, reader: Reader, memory_id: str) -> Belief:
    newest = queries.newest_belief(reader, View(ctx.caller, Filter(), reader.now), memory_id)
    if newest is None:
        raise not_found(memory_id)
    return newest


def _undo_event(ctx: Context, op: Operation, event: int) -> list[str]:
    """Undoes the change an event is part of; returns what to say of it. Raises what is in the way."""
    (act,) = queries.acts(op.writer, [event])
    planned = _plan_for(ctx, op.writer, queries.acts_of_operation(op.writer, act.operation_id), event)
    _refuse_blocked(planned)
    perform(op, planned)
    return rival_warnings(op, planned)


# Which changes are meant.


def _check(request: UndoRequest) -> None:
    named = (request.event is not None, request.operation_id, request.memory_id, request.agent_id)
    if sum(map(bool, named)) != 1:
        raise InvalidArgument(
            "an undo takes one of: event, operation, memory_id, agent",
            "memory_history shows the events of a memory and their operations",
        )
    if request.agent_id and not request.since:
        raise InvalidArgument("an undo of an agent's acts needs the time they began", "give since")
    if not request.agent_id and (request.since or request.until):
        raise InvalidArgument(
            "since and until belong to an agent's acts", "give agent too, or leave them out"
        )


def _planned(ctx: Context, reader: Reader, request: UndoRequest) -> Plan:
    if request.agent_id:
        until = request.until or FOREVER
        acts = queries.acts_of_agent(reader, request.agent_id, request.since, until, MAX_EVENTS + 1)
        if len(acts) > MAX_EVENTS:
            raise InvalidArgument(
                f"{request.agent_id} did more than {MAX_EVENTS:,} things in that time",
                "undo the newest of them first: give a later since",
            )
        past = past_of(reader, acts)
        return plan(reader, ctx.caller, past, changes_of(past, acts))
    if request.operation_id:
        return _plan_for(ctx, reader, queries.acts_of_operation(reader, request.operation_id))
    if request.memory_id:
        _newest(ctx, reader, request.memory_id)
        act = queries.last_change(reader, request.memory_id)
    else:
        act = queries.act_at(reader, request.event or 0)
    if act is None:
        raise _no_such_change()
    return _plan_for(ctx, reader, queries.acts_of_operation(reader, act.operation_id), act.event)


def _plan_for(ctx: Context, reader: Reader, acts: Sequence[Act], event: int = 0) -> Plan:
    """The plan for one call's acts, or for the change alone that holds the event.

    Raises NotFound where the caller holds none of it, UndoBlocked where it can't be undone by its nature.
    """
    past = past_of(reader, acts)
    changes = changes_of(past, acts)
    if event:
        past = replace(past, idle=[])
        changes = [change for change in changes if any(act.event == event for act in change.acts)]
    planned = plan(reader, ctx.caller, past, changes)
    if planned.undone or planned.kept:
        return planned
    view = View(ctx.caller, Filter(), reader.now)
    told = [act for act in acts if not event or act.event == event]
    if changes or not any(queries.newest_belief(reader, view, act.memory_id) for act in told):
        raise _no_such_change()
    raise UndoBlocked(
        f"event {told[0].sequence} ({told[0].kind}) changed nothing that keeps its past",
        "importance, pin and refresh are set again by memory_update, memory_pin and memory_unpin",
    )


def _no_such_change() -> NotFound:
    return NotFound(
        "no such change in what you may see",
        "memory_history shows the events of a memory, each with its sequence and operation",
    )


# What is in the way.


def _refuse_blocked(planned: Plan) -> None:
    """Raises what is in the way of a change that stays; what was undone before is in nobody's way."""
    if blocked := planned.blocked or (planned.kept if not planned.undone else []):
        raise _refusal(blocked[0])


def _refusal(kept: Kept) -> M3Error:
    act, obstacle, by = kept.act, kept.obstacle, kept.obstacle.act
    named = f"event {act.sequence} ({act.kind} of {act.memory_id})"
    match obstacle.why:
        case Why.CHANGED_SINCE:
            later = f"event {by.sequence} ({by.kind} of {by.memory_id} by {by.agent_id})" if by else "another"
            return UndoBlocked(f"{named} was built on since: {later} is in the way", "undo that first")
        case Why.UNDONE_ALREADY:
            return UndoBlocked(f"{named} was undone already", "undo the undo to have it again")
        case Why.DUPLICATE:
            return DuplicateValue(
                f"memory {obstacle.memory_id} says the same by now", "use that one; nothing was restored"
            )
        case Why.NEEDS_OPERATOR:
            return NeedsOperator(f"{named} concerns what a person decided", "ask the person to undo it")
        case Why.ELSEWHERE:
            return UndoBlocked(
                f"a part of {named} lies where you may not change anything", "undo it from where it was made"
            )
