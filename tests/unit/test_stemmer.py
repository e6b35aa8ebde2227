from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.stemmer import stem

FROM_THE_PAPER = """
caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre,
plastered plaster, bled bled, motoring motor, sing sing, conflated conflat, troubled troubl,
sized size, hopping hop, tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail,
filing file, happy happi, sky sky, relational relat, conditional condit, rational ration,
valenci valenc, digitizer digit, radicalli radic, differentli differ, vileli vile,
analogousli analog, vietnamization vietnam, predication predic, operator oper, feudalism feudal,
decisiveness decis, hopefulness hope, callousness callous, formaliti formal, sensitiviti sensit,
sensibiliti sensibl, triplicate triplic, formative form, formalize formal, electriciti electr,
electrical electr, hopeful hope, goodness good, revival reviv, allowance allow, inference infer,
airliner airlin, gyroscopic gyroscop, adjustable adjust, defensible defens, irritant irrit,
replacement replac, adjustment adjust, dependent depend, adoption adopt, homologou homolog,
communism commun, activate activ, angulariti angular, homologous homolog, effective effect,
bowdlerize bowdler, probate probat, rate rate, cease ceas, controll control, roll roll,
generalizations gener, oscillators oscil
"""
PAIRS = [(words.split()[0], words.split()[1]) for words in FROM_THE_PAPER.split(",")]


@pytest.mark.parametrize(("word", "expected"), PAIRS)
def test_the_examples_of_the_paper(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize("word", ["", "a", "is", "by", "ed"])
def test_the_shortest_words_stay_as_they_are(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    "forms", ["connect connected connecting connection connections", "cache caches cached caching"]
)
def test_forms_of_one_word_meet(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=40))
def test_a_stem_is_never_empty_and_never_longer(word: str) -> None:
    assert 0 < len(stem(word)) <= len(word)
