"""Timelines: what a belief or an edge went through, and what undoing some of it leaves; no I/O.

A thing is a memory's belief, of which one at most is open, or an edge between two memories. Every event that
touched it is a step from one stage to the next; a step that undid others leads back to the stage before the
oldest of them, so that a stage is the same one however often it was left and come back to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Step(Generic[Row]):
    """What one event did to a thing: `row` is what it left open, None for nothing.

    `undid` names the events that an undo took back, of this thing and others; None for every other kind.
    """

    event: int
    row: Row | None
    undid: frozenset[int] | None = None


@dataclass(frozen=True, eq=False)
class Stage(Generic[Row]):
    """Where a thing stands: after `event` (0 before any), on top of `under`. Compared by identity."""

    event: int
    row: Row | None
    under: Stage[Row] | None

    @cached_property
    def events(self) -> frozenset[int]:
        """Every event that this stage rests on."""
        found = set[int]()
        stage: Stage[Row] | None = self
        while stage:
            found.add(stage.event)
            stage = stage.under
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Undoing(Generic[Row]):
    """What undoing some events of one thing comes to.

    `obstacles` maps an event that stays to the one in its way, or to None where it was undone before.
    """

    stage: Stage[Row]
    obstacles: dict[int, int | None]


class Timeline(Generic[Row]):
    """One thing's steps, given oldest first."""

    def __init__(self, steps: Iterable[Step[Row]]) -> None:
        self.now = Stage[Row](0, None, None)
        self._before: dict[int, Stage[Row]] = {}
        self._after: dict[int, Stage[Row]] = {}
        self._undone = set[int]()
        self._last = 0
        for step in steps:
            self._take(step)

    def undoing(self, events: Iterable[int]) -> Undoing[Row]:
        """The stage after these steps are undone, newest first; each only if nothing stands on it by then."""
        stage, obstacles = self.now, dict[int, int | None]()
        for event in sorted(events, reverse=True):
            if self._after[event] is stage:
                stage = self._before[event]
            else:
                obstacles[event] = self._obstacle(event, stage)
        return Undoing(stage, obstacles)

    def _take(self, step: Step[Row]) -> None:
        self._before[step.event] = self.now
        if step.undid is None:
            self.now = Stage(step.event, step.row, self.now)
        else:  # one of an earlier version does not say what it undid: that was the last step
            undone = step.undid & self._before.keys() or {self._last}
            self._undone |= undone
            self.now = self._before[min(undone)]
        self._after[step.event] = self.now
        self._last = step.event

    def _obstacle(self, event: int, stage: Stage[Row]) -> int | None:
        if event in self._undone and event not in stage.events:
            return None
        return stage.event or self._last
