"""Carrying out an undo: closing what is open, opening copies of what was, with one event a memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Belief, digestible
from m3_memory.domains.memories.service.succession import rivals
from m3_memory.domains.memories.service.undo_plan import reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.queries import Act
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.domains.memories.service.undo_plan import Plan, Thing
    from m3_memory.storage.history import Event


@dataclass(frozen=True, slots=True)
class Turn:
    """What changes with one memory: the events undone, newest first, its belief, and edges they touched."""

    memory_id: str
    undone: list[Act]
    things: list[Thing]


def turns(planned: Plan) -> list[Turn]:
    """The plan by memory, the one that changed last first. Each thing changes once."""
    found: dict[str, Turn] = {}
    waiting = set(planned.stages)
    for act in planned.undone:
        touched = planned.past.touched[act.event]
        if not planned.stages.keys() & touched:
            continue
        turn = found.setdefault(act.memory_id, Turn(act.memory_id, [], []))
        turn.undone.append(act)
        turn.things.extend(thing for thing in touched if thing in waiting)
        waiting.difference_update(touched)
    return list(found.values())


def perform(op: Operation, planned: Plan) -> None:
    """Does what the plan says, in the caller's transaction."""
    for part in queries.in_parts(turns(planned)):
        events = op.record_all(_events(op, planned, part))
        by_thing = {thing: event for turn, event in zip(part, events, strict=True) for thing in turn.things}
        _close(op, planned, by_thing)
        _open(op, planned, by_thing)


def turned(planned: Plan, memory_id: str) -> tuple[Belief | None, Belief | None]:
    """The belief of a memory that is closed, and the one that is opened again."""
    stage = planned.stages.get(memory_id)
    if stage is None:
        return None, None
    now = planned.past.open_row(memory_id)
    return (now if isinstance(now, Belief) else None), (stage.row if isinstance(stage.row, Belief) else None)


def last_belief(planned: Plan, memory_id: str) -> Belief:
    """The last thing the store came to believe of a memory, open or not."""
    newest = planned.past.rows[memory_id][-1]
    assert isinstance(newest, Belief)
    return newest


def rival_warnings(op: Operation, planned: Plan) -> list[str]:
    """What to say of memories that took the place of one that came back."""
    back = [thing for thing, stage in planned.stages.items() if isinstance(thing, str) and stage.row]
    return [
        f"memory {rival} took the same place meanwhile and stands too; delete or supersede one"
        for memory_id in back
        for rival in rivals(op.writer, op.caller, memory_id)
    ]


def _events(op: Operation, planned: Plan, part: Sequence[Turn]) -> list[Event]:
    pairs = [turned(planned, turn.memory_id) for turn in part]
    items = sorted({belief.item for pair in pairs for belief in pair if belief})
    versions = queries.versions_of(op.writer, items)
    states = queries.states_of(op.writer, [turn.memory_id for turn in part])

    def said(belief: Belief | None) -> str:
        if belief is None:
            return ""
        return digestible(versions[belief.item], belief.valid_from, belief.valid_to, states[belief.memory_id])

    return [
        op.event(
            "undo",
            turn.memory_id,
            (then or now or last_belief(planned, turn.memory_id)).version,
            other_id=_other(turn),
            reason=reason_of(turn.undone),
            before=said(now),
            after=said(then),
        )
        for turn, (now, then) in zip(part, pairs, strict=True)
    ]


def _other(turn: Turn) -> str:
    """The one other memory that all that is undone names, if it is one."""
    others = {act.other_id for act in turn.undone}
    return others.pop() if len(others) == 1 else ""


def _close(op: Operation, planned: Plan, by_thing: dict[Thing, int]) -> None:
    """Closes what is open of each thing."""
    rows = [(row, event) for thing, event in by_thing.items() if (row := planned.past.open_row(thing))]
    beliefs = [(row, event) for row, event in rows if isinstance(row, Belief)]
    closed = queries.close_beliefs(op.writer, [(row.belief, event) for row, event in beliefs])
    assert closed == len(beliefs), "the owner's lock is held: nobody else can have closed one"
    queries.note_changes(op.writer, [(row.item, "belief") for row, _ in beliefs])
    edges = [(row.relationship, event) for row, event in rows if not isinstance(row, Belief)]
    queries.close_edges(op.writer, edges)


def _open(op: Operation, planned: Plan, by_thing: dict[Thing, int]) -> None:
    """Opens again what the plan goes back to."""
    rows = [(row, event) for thing, event in by_thing.items() if (row := planned.stages[thing].row)]
    beliefs = [
        replace(row, opened_by=event, closed_by=None) for row, event in rows if isinstance(row, Belief)
    ]
    queries.insert_beliefs(op.writer, beliefs)
    queries.note_changes(op.writer, [(belief.item, "belief") for belief in beliefs])
    queries.open_edges(
        op.writer, [(*row.between, event) for row, event in rows if not isinstance(row, Belief)]
    )
