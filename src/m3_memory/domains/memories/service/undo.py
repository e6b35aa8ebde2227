"""Undo: takes back what events did, as long as nothing was built on it; a write like any other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import ChangeResult, Edge, State
from m3_memory.domains.memories.service.operations import operation
from m3_memory.domains.memories.service.outcomes import quoted
from m3_memory.domains.memories.service.standing import state_now
from m3_memory.domains.memories.service.targets import not_found
from m3_memory.domains.memories.service.tombstones import record_attempts, writing
from m3_memory.domains.memories.service.undo_plan import KeptChange, Plan, Why, decisions_in, plan
from m3_memory.domains.memories.service.undoing import perform
from m3_memory.errors import (
    DuplicateValue,
    InvalidArgument,
    M3Error,
    NeedsOperator,
    NotFound,
    Tombstoned,
    UndoBlocked,
)
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage.predicates import Filter, View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Belief
    from m3_memory.domains.memories.queries import Act
    from m3_memory.domains.memories.service.undo_plan import Turn
    from m3_memory.storage.database import Reader

RESTORABLE = ("delete", "expire")

MAX_EVENTS = 10_000
"""So many events of an agent are undone by one call."""

SHOWN = 100
"""So many memories and obstacles an answer names; it counts all."""

SHOWN_CHARACTERS = 80
"""How much of a memory's text stands in a list."""

_STATE_FIELDS = frozenset(State.__dataclass_fields__)


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


@dataclass(frozen=True)
class UndoneMemory:
    """What becomes of one memory. `effect`: withdrawn, restored, reverted (to what it said before), or
    unchanged where only edges of it are closed or reopened.
    """

    id: str
    effect: str
    events: list[int]
    text: str


@dataclass(frozen=True)
class UndoResult:
    """The answer to an undo: what was, or in a preview would be, taken back, and what stays."""

    status: str
    withdrawn: int
    restored: int
    reverted: int
    edges_closed: int
    edges_reopened: int
    already_undone: int
    kept_total: int
    memories: list[UndoneMemory]
    kept: list[KeptChange] = field(default_factory=list[KeptChange])
    operation_id: str | None = None
    warnings: list[str] = field(default_factory=list[str])

    def headline(self) -> str:
        counts = ("withdrawn", "restored", "reverted", "edges_closed", "edges_reopened")
        told = [f"{count} {name.replace('_', ' ')}" for name in counts if (count := getattr(self, name))]
        kept = f"; {self.kept_total} kept" if self.kept_total else ""
        return (
            f"{'Would undo' if self.status == 'preview' else 'Undone'}: {', '.join(told) or 'nothing'}{kept}"
        )


def undo(ctx: Context, request: UndoRequest) -> UndoResult:
    """Takes back one change whole, or all that can be of an agent's acts, in one transaction.

    A preview says and raises the same, and changes nothing. Raises NotFound for what lies in no audience the
    caller holds; for a single event, operation or memory also UndoBlocked, DuplicateValue and NeedsOperator,
    naming what is in the way: of a range those changes are kept, and named, and the rest goes on.
    """
    _check(request)
    if request.preview:
        with ctx.read() as reader:
            planned = _possible(ctx, reader, request)
            return _told(reader, planned, "preview" if _does_anything(ctx, planned) else "nothing")
    with writing(ctx) as writer:
        planned = _possible(ctx, writer, request)
        op = operation(ctx, writer)
        record_attempts(op, [_buried(kept) for kept in planned.kept if kept.why == Why.TOMBSTONED])
        if not _does_anything(ctx, planned):
            return _told(writer, planned, "nothing")
        answer = _told(writer, planned, "undone", op.operation_id)
        return replace(answer, warnings=[*answer.warnings, *perform(op, planned)])


def restore(ctx: Context, memory_id: str) -> ChangeResult:
    """Brings back a deleted memory as it was: undo of the event that deleted it.

    Raises NotFound for an id in no audience the caller holds, UndoBlocked where the memory was not deleted,
    DuplicateValue where another memory says the same by now. Time that passed stays passed: what expired or
    ended meanwhile comes back as expired or ended.
    """

    def deletion(reader: Reader, newest: Belief) -> int | None:
        event = newest.closed_by
        return event if event and queries.closing_kind(reader, event) in RESTORABLE else None

    hint = "memory_history shows what happened to it; memory_undo takes back what was no deletion"
    return _brought_back(ctx, memory_id, deletion, "deleted", hint)


def unsupersede(ctx: Context, memory_id: str) -> ChangeResult:
    """Gives a superseded memory its place back: undo of the superseding, its successor included.

    A successor that stood before it became one stays. Raises as `restore` does.
    """

    def superseding(reader: Reader, newest: Belief) -> int | None:
        edge = queries.newest_edge_to(reader, newest.memory_id, "supersedes")
        return edge.opened_by if edge else None

    hint = "give the id of the old memory; memory_undo takes back any other change"
    return _brought_back(ctx, memory_id, superseding, "superseded", hint)


def _brought_back(
    ctx: Context, memory_id: str, cause: Callable[[Reader, Belief], int | None], was: str, hint: str
) -> ChangeResult:
    """Undoes the change that the event is part of which took the memory away."""
    with writing(ctx) as writer:
        newest = _newest(ctx, writer, memory_id)
        event = cause(writer, newest)
        if event is None:
            state, since = state_now(writer, newest)
            raise UndoBlocked(f"memory {memory_id} was not {was}: it is {state} since {since}", hint)
        (act,) = queries.acts(writer, [event])
        planned = _plan_for(ctx, writer, queries.acts_of_operation(writer, act.operation_id), event)
        _refuse_blocked(planned)
        others = [_undone(writer, turn) for turn in planned.turns if turn.memory_id != memory_id]
        told = [
            f"memory {other.id} was {other.effect} with it; it says {quoted(other.text)}"
            for other in others
            if other.effect != "unchanged"
        ]
        told += perform(operation(ctx, writer), planned)
        return ChangeResult(memory_id, "restored", newest.version, warnings=told)


def _newest(ctx: Context, reader: Reader, memory_id: str) -> Belief:
    newest = queries.newest_belief(reader, View(ctx.caller, Filter(), reader.now), memory_id)
    if newest is None:
        raise not_found(memory_id)
    return newest


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


def _possible(ctx: Context, reader: Reader, request: UndoRequest) -> Plan:
    """The plan; a single change of which a part can't be undone is refused."""
    planned = _planned(ctx, reader, request)
    if not request.agent_id:
        _refuse_blocked(planned)
    return planned


def _does_anything(ctx: Context, planned: Plan) -> bool:
    return bool(planned.turns or decisions_in(planned.left, ctx.caller))


def _planned(ctx: Context, reader: Reader, request: UndoRequest) -> Plan:
    if request.agent_id:
        until = request.until or FOREVER
        acts = queries.acts_of_agent(reader, request.agent_id, request.since, until, MAX_EVENTS + 1)
        if len(acts) > MAX_EVENTS:
            raise InvalidArgument(
                f"{request.agent_id} did more than {MAX_EVENTS:,} things in that time",
                "undo the newest of them first: give a later since",
            )
        return plan(reader, ctx.caller, acts)
    if request.operation_id:
        return _plan_for(ctx, reader, queries.acts_of_operation(reader, request.operation_id))
    if request.memory_id:
        _newest(ctx, reader, request.memory_id)
        view = View(ctx.caller, Filter(), reader.now)
        act = queries.last_change(reader, view, request.memory_id)
    else:
        act = queries.act_at(reader, request.event or 0)
    acts = queries.acts_of_operation(reader, act.operation_id) if act else []
    return _plan_for(ctx, reader, acts, act.event if act else 0)


def _plan_for(ctx: Context, reader: Reader, acts: Sequence[Act], event: int = 0) -> Plan:
    """The plan for one call's acts, or for the change alone that holds the event.

    Raises NotFound where the caller holds none of it, UndoBlocked where it can't be undone by its nature.
    """
    planned = plan(reader, ctx.caller, acts, event)
    if planned.undone or planned.kept or decisions_in(planned.left, ctx.caller):
        return planned
    if not planned.left:
        raise NotFound(
            "no such change in what you may see",
            "memory_history shows the events of a memory, each with its sequence and operation",
        )
    raise UndoBlocked(
        f"event {planned.left[0].sequence} ({planned.left[0].kind}) changed nothing that keeps its past",
        "importance, pin and refresh are set again by memory_update, memory_pin and memory_unpin",
    )


# What is in the way.


def _refuse_blocked(planned: Plan) -> None:
    """Raises what is in the way of a change that stays; what was undone before is in nobody's way."""
    if blocked := planned.blocked or (planned.kept if not planned.undone else []):
        raise _refusal(blocked[0])


def _refusal(kept: KeptChange) -> M3Error:
    named = f"event {kept.event} ({kept.kind} of {kept.memory_id})"
    match kept.why:
        case Why.CHANGED_SINCE:
            later = f"event {kept.by_event} ({kept.by_kind} of {kept.by_memory_id} by {kept.by_agent_id})"
            return UndoBlocked(f"{named} was built on since: {later} is in the way", "undo that first")
        case Why.UNDONE_ALREADY:
            return UndoBlocked(f"{named} was undone already", "undo the undo to have it again")
        case Why.DUPLICATE:
            told = f"memory {kept.by_memory_id} says the same by now"
            return DuplicateValue(told, "use that one; nothing was restored")
        case Why.TOMBSTONED:
            return _buried(kept)
        case Why.NEEDS_OPERATOR:
            return NeedsOperator(f"{named} concerns what a person decided", "ask the person to undo it")
        case _:
            told = f"a part of {named} lies where you may not change anything"
            return UndoBlocked(told, "undo it from where it was made")


def _buried(kept: KeptChange) -> Tombstoned:
    return Tombstoned(
        f"memory {kept.memory_id} says what a person rejected, or erased; it was not brought back",
        "ask the person, who may lift that",
        kept.by_memory_id or "",
    )


# What is answered.


def _told(reader: Reader, planned: Plan, status: str, operation_id: str = "") -> UndoResult:
    """The answer to an undo of this plan; read before it is carried out."""
    effects = [_effect(turn) for turn in planned.turns]
    rows = [pair for turn in planned.turns for pair in turn.rows]
    blocked = planned.blocked
    return UndoResult(
        status=status,
        withdrawn=effects.count("withdrawn"),
        restored=effects.count("restored"),
        reverted=effects.count("reverted"),
        edges_closed=sum(isinstance(now, Edge) for now, _ in rows),
        edges_reopened=sum(isinstance(then, Edge) for _, then in rows),
        already_undone=len(planned.kept) - len(blocked),
        kept_total=len(blocked),
        memories=[_undone(reader, turn) for turn in planned.turns[:SHOWN]],
        kept=blocked[:SHOWN],
        operation_id=operation_id or None,
        warnings=_warnings(planned),
    )


def _effect(turn: Turn) -> str:
    if turn.now and turn.then:
        return "reverted"
    return "withdrawn" if turn.now else "restored" if turn.then else "unchanged"


def _undone(reader: Reader, turn: Turn) -> UndoneMemory:
    """What becomes of a memory, with the beginning of what it says then, or said last, in one line."""
    line = ""
    if turn.belief.trust_state != "rejected":
        version = queries.version_of(reader, turn.belief.item)
        line = " ".join((version.title or version.content).split())
    if len(line) > SHOWN_CHARACTERS:
        line = f"{line[:SHOWN_CHARACTERS]}…"
    return UndoneMemory(turn.memory_id, _effect(turn), [act.sequence for act in turn.undone], line)


def _warnings(planned: Plan) -> list[str]:
    found: list[str] = []
    left = sum(act.kind != "review" for act in planned.left)
    left += sum(bool(_STATE_FIELDS & {*act.reason.split(",")}) for act in planned.undone)
    if left:
        found.append(f"{left} changes of importance, pin or refresh stay: those keep no past")
    for count, what in ((len(planned.turns), "memories"), (len(planned.blocked), "kept changes")):
        if count > SHOWN:
            found.append(f"the first {SHOWN} of {count:,} {what} are listed")
    return found
