"""Carrying out an undo: closing what is open, opening copies of what was, with one event a memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Belief, Edge
from m3_memory.domains.memories.model.holding import digestible
from m3_memory.domains.memories.service.reviews import follow_undo
from m3_memory.domains.memories.service.succession import rivals
from m3_memory.domains.memories.service.trusting import settle_values
from m3_memory.domains.memories.service.undo_plan import decisions_in, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.domains.memories.service.timelines import Row
    from m3_memory.domains.memories.service.undo_plan import Plan, Turn
    from m3_memory.storage.history import Event


def perform(op: Operation, planned: Plan) -> list[str]:
    """Does what the plan says, in the caller's transaction.

    Returns what to say of memories that took the place of one that came back.
    """
    back: list[str] = []
    for part in queries.in_parts(planned.turns):
        events = op.record_all(_events(op, part))
        rows = [(*row, event) for turn, event in zip(part, events, strict=True) for row in turn.rows]
        _close(op, [(now, event) for now, _, event in rows if now])
        _open(op, [(then, event) for _, then, event in rows if then])
        back += [then.memory_id for _, then, _ in rows if isinstance(then, Belief)]
        settle_values(op, [(turn.now, turn.then) for turn in part], "an undo")
        follow_undo(op, [act for turn in part for act in turn.undone], [turn.memory_id for turn in part])
    follow_undo(op, decisions_in(planned.left, op.caller), [])
    return [
        f"memory {rival} took the same place meanwhile and stands too; delete or supersede one"
        for memory_id in back
        for rival in rivals(op.writer, op.caller, memory_id)
    ]


def _events(op: Operation, part: Sequence[Turn]) -> list[Event]:
    items = sorted({belief.item for turn in part for belief in (turn.now, turn.then) if belief})
    versions = queries.versions_of(op.writer, items)
    states = queries.states_of(op.writer, [turn.memory_id for turn in part])

    def said(belief: Belief | None) -> str:
        if belief is None:
            return ""
        return digestible(versions[belief.item], belief, states[belief.memory_id])

    return [
        op.event(
            "undo",
            turn.memory_id,
            turn.belief.version,
            other_id=_other(turn),
            reason=reason_of(turn.undone),
            before=said(turn.now),
            after=said(turn.then),
        )
        for turn in part
    ]


def _other(turn: Turn) -> str:
    """The one other memory that all that is undone names, if it is one."""
    others = {act.other_id for act in turn.undone}
    return others.pop() if len(others) == 1 else ""


def _close(op: Operation, rows: Sequence[tuple[Row, int]]) -> None:
    beliefs = [(row, event) for row, event in rows if isinstance(row, Belief)]
    closed = queries.close_beliefs(op.writer, [(row.belief, event) for row, event in beliefs])
    assert closed == len(beliefs), "the owner's lock is held: nobody else can have closed one"
    queries.note_changes(op.writer, [(row.item, "belief") for row, _ in beliefs])
    queries.close_edges(
        op.writer, [(row.relationship, event) for row, event in rows if isinstance(row, Edge)]
    )


def _open(op: Operation, rows: Sequence[tuple[Row, int]]) -> None:
    beliefs = [
        replace(row, opened_by=event, closed_by=None) for row, event in rows if isinstance(row, Belief)
    ]
    queries.insert_beliefs(op.writer, beliefs)
    queries.note_changes(op.writer, [(belief.item, "belief") for belief in beliefs])
    queries.open_edges(op.writer, [(row.between, event) for row, event in rows if isinstance(row, Edge)])
