"""English stems, as in M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980).

Two letters or fewer stay as they are, as in the author's own programs.
"""

from __future__ import annotations

from functools import lru_cache

_VOWELS = frozenset("aeiou")

_STEP_1A = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
_STEP_2 = (
    ("ational", "ate"), ("ization", "ize"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("tional", "tion"), ("biliti", "ble"), ("entli", "ent"), ("ousli", "ous"), ("ation", "ate"),
    ("alism", "al"), ("aliti", "al"), ("iviti", "ive"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("ator", "ate"), ("eli", "e"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""),
    ("ful", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive",
    "ize", "al", "er", "ic", "ou",
)  # fmt: skip
_RESTORED = (("at", "ate"), ("bl", "ble"), ("iz", "ize"))


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The stem of one word of lower-case letters a to z."""
    if len(word) <= 2:
        return word
    word = _replaced(word, _STEP_1A, least_measure=None)
    word = _without_past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, _STEP_2, least_measure=1)
    word = _replaced(word, _STEP_3, least_measure=1)
    return _without_final(_without_ending(word))


def _replaced(word: str, rules: tuple[tuple[str, str], ...], least_measure: int | None) -> str:
    """Applies the longest rule that fits the end; rules stand longest first."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + replacement if least_measure is None or _measure(rest) >= least_measure else word
    return word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest != word:
            return _mended(rest) if _has_vowel(rest) else word
    return word


def _mended(rest: str) -> str:
    for ending, restored in _RESTORED:
        if rest.endswith(ending):
            return rest[: -len(ending)] + restored
    if _ends_double(rest) and rest[-1] not in "lsz":
        return rest[:-1]
    return f"{rest}e" if _measure(rest) == 1 and _ends_short(rest) else rest


def _without_ending(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            fits = _measure(rest) > 1 and (suffix != "ion" or rest.endswith(("s", "t")))
            return rest if fits else word
    return word


def _without_final(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _shape(word: str) -> str:
    """One letter a letter: v for a vowel, c for a consonant; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        is_vowel = letter in _VOWELS or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape


def _measure(word: str) -> int:
    """The paper's m: how often a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


def _ends_short(word: str) -> bool:
    """The paper's *o: consonant, vowel, consonant, the last not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
