"""How much an importance still counts as time passes: a number computed at read, and stored nowhere.

It halves toward a least part with every half-life in which a memory was neither used nor changed, whatever
ran or did not run meanwhile. Each use starts that time anew and makes the half-life
longer, by less each time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from m3_memory.kernel.clock import seconds_between

DAY_SECONDS = 24 * 60 * 60

LEAST_PART = 0.1
"""What stays of an importance however long nobody used it: nothing falls to 0, nothing is hidden by age."""

HALF_LIFE_DAYS = 138.0
"""Half a per cent a day: what was decided a quarter ago counts for three fifths of what was decided today."""


@dataclass(frozen=True, slots=True)
class Importance:
    """A stored importance, 0 to 1, and what slows its decay. `since` is the last use or change."""

    stored: float
    pinned: bool
    use_count: int
    since: str

    def effective(self, now: str, half_life_days: float = HALF_LIFE_DAYS) -> float:
        """What it counts at that moment: `stored` at first, LEAST_PART of it in the end.

        Only whole days count, so that nothing flickers; a moment before `since` is no time at all. The
        pinned do not decay, and nothing does at a half-life of 0.
        """
        days = max(0.0, seconds_between(self.since, now)) // DAY_SECONDS
        if self.pinned or not half_life_days or not days:
            return self.stored
        half_lives = days / (half_life_days * (1 + math.log1p(self.use_count)))
        return self.stored * (LEAST_PART + (1 - LEAST_PART) * 0.5**half_lives)
