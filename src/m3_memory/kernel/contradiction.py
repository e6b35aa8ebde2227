"""The decision every write passes: what a new statement is to the ones that stand.

Part of the correction design (similarity proposes, evidence decides). Today two verdicts are given: the same
statement, or another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

EXEMPT_TYPES = frozenset({"conversation", "message", "chat_log", "log", "summary"})
"""Records of events: the same words twice are two of them."""


class Verdict(StrEnum):
    DUPLICATE = "duplicate"
    DISTINCT = "distinct"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the decision sees it. Times are store-form world times, half open."""

    memory_id: str
    type: str
    normal_hash: str
    valid_from: str
    valid_to: str

    def holds_at(self, *moments: str) -> bool:
        """Whether it holds at any of these moments."""
        return any(self.valid_from <= moment < self.valid_to for moment in moments)


@dataclass(frozen=True, slots=True)
class Decision:
    verdict: Verdict
    of: str = ""
    """The memory that the new statement repeats."""


def decide(new: Statement, standing: Iterable[Statement]) -> Decision:
    """What `new` is to the open statements of its own audience, type and variant.

    A duplicate says the same in normal form about a time that overlaps; the oldest in world time is named.
    """
    if new.type in EXEMPT_TYPES:
        return Decision(Verdict.DISTINCT)
    same = [
        other
        for other in standing
        if other.normal_hash == new.normal_hash
        and other.memory_id != new.memory_id
        and other.valid_from < new.valid_to
        and new.valid_from < other.valid_to
    ]
    if not same:
        return Decision(Verdict.DISTINCT)
    return Decision(
        Verdict.DUPLICATE, min(same, key=lambda other: (other.valid_from, other.memory_id)).memory_id
    )
