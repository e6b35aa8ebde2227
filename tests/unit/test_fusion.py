from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.fusion import (
    WEIGHTS,
    Around,
    alone,
    calibrated,
    discounted,
    meaning,
    preferred,
    with_neighbours,
)

shares = st.floats(0, 1)
parts = st.fixed_dictionaries(dict.fromkeys(WEIGHTS, shares))


@given(parts, shares)
def test_a_score_lies_between_nothing_and_one(given_parts: dict[str, float], importance: float) -> None:
    worth = with_neighbours({1: alone(given_parts)}, {1: Around()})[1]
    assert 0 < calibrated(preferred(worth, importance)) < 1


@given(parts, st.sampled_from(sorted(WEIGHTS)), shares)
def test_more_of_any_part_is_never_less(given_parts: dict[str, float], name: str, more: float) -> None:
    assert alone(given_parts | {name: max(given_parts[name], more)}) >= alone(given_parts)


def test_an_opposite_is_as_far_as_a_stranger() -> None:
    assert meaning(-0.7) == meaning(0) == 0
    assert meaning(1 + 1e-9) == 1


def test_the_best_of_many_passages_is_worth_less_than_a_single_one() -> None:
    assert discounted(0.5, 1) == 0.5
    assert 0.5 > discounted(0.5, 2) > discounted(0.5, 100) > 0.3


@given(shares)
def test_a_text_that_stands_alone_is_worth_what_speaks_for_it_by_itself(score: float) -> None:
    assert with_neighbours({1: score}, {1: Around()})[1] == pytest.approx(score)
    only_turn = Around("talk", (), stands_alone=True)
    assert with_neighbours({1: score}, {1: only_turn})[1] == pytest.approx(score)


def test_a_good_turn_helps_those_beside_it_most_then_its_conversation_and_nothing_else() -> None:
    around = {
        1: Around("talk", (2,), stands_alone=False),
        2: Around("talk", (1,), stands_alone=False),
        3: Around("talk", (), stands_alone=False),
        4: Around("other", (5,), stands_alone=False),
        5: Around("other", (4,), stands_alone=False),
    }
    worth = with_neighbours({1: 0.9, 2: 0.1, 3: 0.1, 4: 0.1, 5: 0.1}, around)
    assert worth[1] > worth[2] > worth[3] > worth[4] == worth[5]


@given(st.dictionaries(st.integers(0, 9), shares, min_size=1))
def test_neighbours_that_are_not_among_the_candidates_say_nothing(scores: dict[int, float]) -> None:
    around = {item: Around("talk", (99,), stands_alone=False) for item in scores}
    assert with_neighbours(scores, around).keys() == scores.keys()
