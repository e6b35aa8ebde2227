"""Importance fades with the time that passed, whatever ran meanwhile, and never to nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.clock import plus
from m3_memory.kernel.decay import DAY_SECONDS, HALF_LIFE_DAYS, LEAST_PART, Importance

START = "2026-01-01T00:00:00.000000Z"
DAYS = st.floats(0, 200_000)


def after(
    days: float, stored: float = 0.8, *, pinned: bool = False, uses: int = 0, half_life: float = 138.0
) -> float:
    of = Importance(stored, pinned, uses, START)
    return of.effective(plus(START, days * DAY_SECONDS), half_life)


def test_half_of_what_can_fade_is_gone_after_a_half_life() -> None:
    least = 0.8 * LEAST_PART
    assert after(HALF_LIFE_DAYS) == pytest.approx(least + (0.8 - least) / 2)
    assert after(2 * HALF_LIFE_DAYS) == pytest.approx(least + (0.8 - least) / 4)


def test_nothing_changes_within_a_day_and_much_in_a_year() -> None:
    assert after(0.99) == after(0) == 0.8
    assert after(1) < 0.8
    assert after(365) < 0.3


@given(stored=st.floats(0.001, 1), days=DAYS, more=DAYS, uses=st.integers(0, 10**6))
def test_it_only_falls_and_never_to_nothing(stored: float, days: float, more: float, uses: int) -> None:
    earlier, later = after(days, stored, uses=uses), after(days + more, stored, uses=uses)
    assert stored * LEAST_PART <= later <= earlier <= stored


@given(days=st.floats(1, 5_000), uses=st.integers(0, 10_000))
def test_each_use_slows_it_by_less_than_the_one_before(days: float, uses: int) -> None:
    """The half-life grows with the logarithm of the uses."""
    lives = [1 / _rate(uses + more) for more in range(3)]
    assert lives[1] - lives[0] >= lives[2] - lives[1] > 0
    assert after(days, uses=uses + 1) >= after(days, uses=uses)


def _rate(uses: int) -> float:
    """How fast it falls at first, from what is left after one day."""
    left = (after(1, 1.0, uses=uses) - LEAST_PART) / (1 - LEAST_PART)
    return 1 - left


def test_a_use_starts_the_time_anew() -> None:
    now = plus(START, 400 * DAY_SECONDS)
    unused = Importance(0.8, pinned=False, use_count=1, since=START).effective(now)
    used = Importance(0.8, pinned=False, use_count=2, since=plus(now, -DAY_SECONDS / 2)).effective(now)
    assert unused < used == 0.8


def test_the_pinned_do_not_fade_and_nothing_does_without_a_half_life() -> None:
    assert after(10_000, pinned=True) == after(10_000, half_life=0) == 0.8
    assert after(10_000) < 0.1


def test_a_clock_that_went_back_counts_as_no_time() -> None:
    assert after(-50) == 0.8
