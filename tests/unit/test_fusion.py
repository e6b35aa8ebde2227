from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.fusion import discounted, fused, meaning

shares = st.floats(0, 1)


@given(shares, st.floats(-1, 1), st.integers(1, 1000))
def test_a_score_runs_from_nothing_to_one(words: float, cosine: float, length: int) -> None:
    assert 0 <= discounted(fused(words, meaning(cosine)), length) <= 1


@given(shares, shares, shares)
def test_more_of_either_is_never_less(words: float, near: float, more: float) -> None:
    assert fused(max(words, more), near) >= fused(words, near)
    assert fused(words, max(near, more)) >= fused(words, near)


def test_both_together_are_better_than_either() -> None:
    assert fused(1, 1) == pytest.approx(1)
    assert fused(1, 0) > fused(0, 1) > fused(0, 0) == 0


def test_an_opposite_is_as_far_as_a_stranger() -> None:
    assert meaning(-0.7) == meaning(0) == 0
    assert meaning(1 + 1e-9) == 1


def test_the_best_of_many_passages_is_worth_less_than_a_single_one() -> None:
    assert discounted(0.5, 1) == 0.5
    assert 0.5 > discounted(0.5, 2) > discounted(0.5, 100) > 0.3
