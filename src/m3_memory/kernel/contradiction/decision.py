"""The rules of time: what the comparison of two texts means for two statements with dates and types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from m3_memory.kernel.clock import FOREVER
from m3_memory.kernel.contradiction.comparing import compare
from m3_memory.kernel.contradiction.verdict import Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

EXEMPT_TYPES = frozenset({"conversation", "message", "chat_log", "log", "summary"})
"""Records of events: the same words twice are two of them."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the decision sees it. Times are store-form world times, half open.

    Without content it is compared by its normal hash alone.
    """

    memory_id: str
    type: str
    normal_hash: str
    valid_from: str
    valid_to: str
    title: str = ""
    content: str = ""

    def holds_at(self, *moments: str) -> bool:
        """Whether it holds at any of these moments."""
        return any(self.valid_from <= moment < self.valid_to for moment in moments)

    def overlaps(self, other: Statement) -> bool:
        """Whether there is a moment at which both hold."""
        return self.valid_from < other.valid_to and other.valid_from < self.valid_to


@dataclass(frozen=True, slots=True)
class Decision:
    """What a new statement is to those that stand. Empty throughout: distinct from all of them."""

    duplicate_of: str = ""
    """The memory that the new statement repeats; then nothing else is decided."""
    updates: tuple[tuple[str, Comparison], ...] = ()
    """Memories whose place it takes, each with why."""
    unsure: tuple[tuple[str, Comparison], ...] = ()
    """Memories that it may contradict: a person, or a reader, decides."""
    bounded_by: str = ""
    """For a back-dated statement: the newer memory of the same subject and attribute, at whose beginning its
    own interval ends."""


@dataclass(slots=True)
class _Findings:
    """The verdicts over all that stands, gathered before one of them decides."""

    duplicates: list[Statement] = field(default_factory=list["Statement"])
    updates: list[tuple[str, Comparison]] = field(default_factory=list["tuple[str, Comparison]"])
    unsure: list[tuple[str, Comparison]] = field(default_factory=list["tuple[str, Comparison]"])
    newer: list[Statement] = field(default_factory=list["Statement"])


def decide(new: Statement, standing: Iterable[Statement], now: str = "") -> Decision:
    """What `new` is to the open statements of its own audience, type and variant.

    A duplicate says the same, word for word or in other words, about a time that overlaps; the oldest in
    world time is named. In other words it must hold when `new` begins, or `now` ("": whenever both hold).
    An update begins later than what it ends and has no end of its own; equal beginnings, or an end, make it
    unsure. What began later than `new` is never ended by it, but bounds it.
    """
    if new.type in EXEMPT_TYPES:
        return Decision()
    others = [other for other in standing if other.memory_id != new.memory_id and other.overlaps(new)]
    same = [other for other in others if other.normal_hash == new.normal_hash]
    if same:
        return Decision(duplicate_of=_oldest(same).memory_id)
    found = _Findings()
    for other in others:
        if other.content and new.content:
            _find(found, other, new)
    said = [d for d in found.duplicates if not now or d.holds_at(new.valid_from, now)]
    if said:
        return Decision(duplicate_of=_oldest(said).memory_id)
    bound = _oldest(found.newer).memory_id if found.newer else ""
    return Decision("", tuple(found.updates), tuple(found.unsure), bound)


def _find(found: _Findings, other: Statement, new: Statement) -> None:
    comparison = compare(other, new)
    match comparison.verdict:
        case Verdict.DISTINCT:
            return
        case Verdict.DUPLICATE:
            found.duplicates.append(other)
        case Verdict.UNSURE:
            found.unsure.append((other.memory_id, comparison))
        case Verdict.UPDATE if new.valid_from < other.valid_from:
            found.newer.append(other)
        case Verdict.UPDATE if new.valid_from == other.valid_from:
            found.unsure.append((other.memory_id, comparison.unsure("same_time")))
        case Verdict.UPDATE if new.valid_to != FOREVER:
            found.unsure.append((other.memory_id, comparison.unsure("ends_itself")))
        case Verdict.UPDATE:
            found.updates.append((other.memory_id, comparison))


def _oldest(statements: list[Statement]) -> Statement:
    return min(statements, key=lambda statement: (statement.valid_from, statement.memory_id))
