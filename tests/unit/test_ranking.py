from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.ranking import Bm25, TermStatistics, best_first, inverse_frequency

KNOWN = TermStatistics(
    documents=100, average_length=4.0, documents_with={"rare": 1, "common": 90, "every": 100}
)
WORDS = ["rare", "common", "every", "unseen", "other"]
documents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=20)


def test_a_score_worked_by_hand() -> None:
    """A rare word once in a document of average length: idf times (k1 + 1) / (1 + k1), which is idf."""
    assert Bm25(k1=1.2, b=0.75).score(["rare", "a", "b", "c"], ["rare"], KNOWN) == pytest.approx(
        math.log(1 + 99.5 / 1.5)
    )


@given(documents)
def test_tokens_and_their_counts_score_the_same(tokens: list[str]) -> None:
    bm25 = Bm25()
    assert bm25.score(tokens, WORDS, KNOWN) == bm25.score(Counter(tokens), WORDS, KNOWN)
    assert bm25.score(tokens, WORDS, KNOWN) == bm25.score(dict(Counter(tokens)), WORDS, KNOWN)


@given(documents)
def test_a_score_lies_between_nothing_and_its_bound(tokens: list[str]) -> None:
    terms = ["rare", "common", "every"]
    score = Bm25().score(tokens, terms, KNOWN)
    assert (score > 0) == bool(set(tokens) & set(terms))
    assert score < Bm25().most(terms, KNOWN)


def test_a_rare_word_counts_more_than_a_common_one_and_even_that_counts() -> None:
    rare, common, every = (inverse_frequency(term, KNOWN) for term in ("rare", "common", "every"))
    assert rare > common > every > 0


def test_repetition_counts_and_ever_less() -> None:
    once, twice, thrice = (
        Bm25(b=0.0).score(["rare"] * count + ["other"] * (3 - count), ["rare"], KNOWN) for count in (1, 2, 3)
    )
    assert once < twice < thrice
    assert thrice - twice < twice - once


def test_a_longer_document_scores_lower_unless_length_does_not_count() -> None:
    short, long = ["rare"], ["rare", *["other"] * 30]
    assert Bm25().score(short, ["rare"], KNOWN) > Bm25().score(long, ["rare"], KNOWN)
    assert Bm25(b=0.0).score(short, ["rare"], KNOWN) == Bm25(b=0.0).score(long, ["rare"], KNOWN)


def test_counts_that_lag_behind_the_store_give_a_score_all_the_same() -> None:
    lagging = TermStatistics(documents=0, average_length=0.0, documents_with={"rare": 7})
    assert 0 < Bm25().score(["rare"], ["rare"], lagging) < math.inf


def test_equal_scores_are_ordered_by_id() -> None:
    assert best_first([(3, 0.5), (1, 0.5), (2, 0.9), (0, 0.1)]) == [(2, 0.9), (1, 0.5), (3, 0.5), (0, 0.1)]
    assert best_first([("b", 0.1 + 0.2), ("a", 0.3)]) == [("a", 0.3), ("b", 0.3)]
    assert best_first([(3, 0.5), (1, 0.5), (2, 0.9)], limit=2) == [(2, 0.9), (1, 0.5)]


@given(st.dictionaries(st.integers(), st.floats(0, 1)).map(lambda scores: list(scores.items())))
def test_the_order_in_which_scores_come_decides_nothing(scored: list[tuple[int, float]]) -> None:
    assert best_first(reversed(scored)) == best_first(scored)
