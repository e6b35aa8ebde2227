"""Timelines: what a belief or an edge went through, and what undoing some of it leaves; no I/O.

A thing is a memory's belief, of which one at most is open, or an edge between two memories. Every event that
touched it is a step from one stage to the next; a step that undid others leads back to the stage before the
oldest of them, so that a stage is the same one however often it was left and come back to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.domains.memories.model import Belief, Edge

if TYPE_CHECKING:
    from collections.abc import Iterable

Row: TypeAlias = Belief | Edge


@dataclass(frozen=True, slots=True)
class Step:
    """What one event did to a thing: `row` is what it left open, None for nothing.

    `undid` names the events that an undo took back, of this thing and others; None for every other kind.
    """

    event: int
    row: Row | None
    undid: frozenset[int] | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """Where a thing stands: after `event` (0 before any), on top of `under`. Compared by identity."""

    event: int
    row: Row | None
    under: Stage | None

    @cached_property
    def events(self) -> frozenset[int]:
        """Every event that this stage rests on."""
        found, stage = set[int](), self
        while stage:
            found.add(stage.event)
            stage = stage.under
        return frozenset(found)


class Timeline:
    """One thing's steps, given oldest first."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.now = Stage(0, None, None)
        self._before: dict[int, Stage] = {}
        self._after: dict[int, Stage] = {}
        self._undone = set[int]()
        self._last = 0
        for step in steps:
            self._before[step.event] = self.now
            if step.undid is None:
                self.now = Stage(step.event, step.row, self.now)
            else:  # one of an earlier version does not say what it undid: that was the last step
                undone = step.undid & self._before.keys() or {self._last}
                self._undone |= undone
                self.now = self._before[min(undone)]
            self._after[step.event] = self.now
            self._last = step.event

    def undoing(self, events: Iterable[int]) -> tuple[Stage, dict[int, int | None]]:
        """The stage after these steps are undone, newest first; each only if nothing stands on it by then.

        With it come those that stay, each with the event in its way, or None where it was undone before.
        """
        stage, staying = self.now, dict[int, int | None]()
        for event in sorted(events, reverse=True):
            if self._after[event] is stage:
                stage = self._before[event]
            else:
                was_undone = event in self._undone and event not in stage.events
                staying[event] = None if was_undone else stage.event or self._last
        return stage, staying
