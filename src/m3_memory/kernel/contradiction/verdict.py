"""What a comparison answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Verdict(StrEnum):
    """What a new statement is to one that stands."""

    DUPLICATE = "duplicate"
    UPDATE = "update"
    DISTINCT = "distinct"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict, why (a stable short code), and the values that differ."""

    verdict: Verdict
    reason: str
    old_value: str = ""
    new_value: str = ""

    def unsure(self, reason: str) -> Comparison:
        """The same values, but for a person to decide."""
        return replace(self, verdict=Verdict.UNSURE, reason=reason)
