from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.ranking import (
    PASSAGE_TOKENS,
    Bm25,
    TermStatistics,
    best_first,
    bm25_for,
    document,
    inverse_frequency,
    passages,
    together,
)

KNOWN = TermStatistics(
    documents=100, average_length=4.0, documents_with={"rare": 1, "common": 90, "every": 100}
)
TERMS = ["rare", "common", "every"]
WORDS = [*TERMS, "unseen", "other"]
documents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=PASSAGE_TOKENS)


def _score(tokens: Sequence[str], terms: Sequence[str], known: TermStatistics = KNOWN) -> float:
    return bm25_for(terms, known).score(document(tokens, frozenset(terms)))


def test_a_score_worked_by_hand() -> None:
    """The only term, once, in a document of average length: 1 of 1 + k1."""
    assert Bm25({"rare": 1.0}, 4.0, k1=1.2, b=0.75).score(
        document(["rare", "a", "b", "c"], frozenset({"rare"}))
    ) == pytest.approx(1 / 2.2)


def test_an_inverse_frequency_worked_by_hand() -> None:
    assert inverse_frequency("rare", KNOWN) == pytest.approx(math.log(1 + 99.5 / 1.5))


@given(documents)
def test_a_score_lies_between_nothing_and_one(tokens: list[str]) -> None:
    score = _score(tokens, TERMS)
    assert (score > 0) == bool(set(tokens) & set(TERMS))
    assert score < 1


@given(documents)
def test_what_is_kept_of_a_document_is_its_length_and_its_terms(tokens: list[str]) -> None:
    found = document(tokens, frozenset(TERMS))
    assert found.length == len(tokens)
    assert found.held == set(tokens) & set(TERMS)
    assert [counts for _, counts in found.passages] == [
        {term: tokens.count(term) for term in found.held} for _ in found.passages
    ]


def test_a_rare_word_counts_more_than_a_common_one_and_even_that_counts() -> None:
    rare, common, every = (inverse_frequency(term, KNOWN) for term in TERMS)
    assert rare > common > every > 0
    assert _score(["rare", "other"], TERMS) > _score(["common", "other"], TERMS) > 0


def test_repetition_counts_and_ever_less() -> None:
    once, twice, thrice = (
        _score(["rare"] * count + ["other"] * (3 - count), ["rare"]) for count in (1, 2, 3)
    )
    assert once < twice < thrice
    assert thrice - twice < twice - once


def test_a_longer_document_scores_lower_unless_length_does_not_count() -> None:
    short, long = (
        document(["rare", *["other"] * more], frozenset({"rare"})) for more in (0, PASSAGE_TOKENS // 2)
    )
    assert Bm25({"rare": 1.0}, 4.0).score(short) > Bm25({"rare": 1.0}, 4.0).score(long)
    assert Bm25({"rare": 1.0}, 4.0, b=0.0).score(short) == Bm25({"rare": 1.0}, 4.0, b=0.0).score(long)


def test_a_long_document_is_as_good_as_its_best_passage() -> None:
    other = ["other"] * PASSAGE_TOKENS
    good = ["rare", "common", *["other"] * (PASSAGE_TOKENS - 2)]
    assert passages(len(good) * 3) == 3
    assert _score([*other, *good, *other], TERMS) == _score(good, TERMS)
    apart = [*good[1:], "other", *other, "rare", *other[1:]]
    assert _score(apart, TERMS) < _score(good, TERMS)


@given(st.integers(0, 100 * PASSAGE_TOKENS))
def test_passages_are_about_as_long_as_they_should_be(length: int) -> None:
    count = passages(length)
    assert count >= 1
    assert length / count <= 1.5 * PASSAGE_TOKENS


def test_counts_that_lag_behind_the_store_give_a_score_all_the_same() -> None:
    lagging = TermStatistics(documents=0, average_length=0.0, documents_with={"rare": 7})
    assert 0 < _score(["rare"], ["rare"], lagging) < 1


def test_equal_scores_are_ordered_by_id() -> None:
    assert best_first([(3, 0.5), (1, 0.5), (2, 0.9), (0, 0.1)]) == [(2, 0.9), (1, 0.5), (3, 0.5), (0, 0.1)]
    assert best_first([("b", 0.1 + 0.2), ("a", 0.3)]) == [("a", 0.3), ("b", 0.3)]
    assert best_first([(3, 0.5), (1, 0.5), (2, 0.9)], limit=2) == [(2, 0.9), (1, 0.5)]


@given(st.dictionaries(st.integers(), st.floats(0, 1)).map(lambda scores: list(scores.items())))
def test_the_order_in_which_scores_come_decides_nothing(scored: list[tuple[int, float]]) -> None:
    assert best_first(reversed(scored)) == best_first(scored)


def test_statistics_of_several_stores_are_those_of_one_with_all_their_documents() -> None:
    one = TermStatistics(3, 4.0, {"lamp": 2, "quay": 1})
    other = TermStatistics(1, 8.0, {"lamp": 1, "mole": 1})
    both = together([one, other])
    assert (both.documents, both.average_length) == (4, 5.0)
    assert dict(both.documents_with) == {"lamp": 3, "quay": 1, "mole": 1}
    assert together([one]) == one
    assert together([]).documents == 0
