"""Cuts a long text into overlapping windows that a model can take whole."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from m3_memory.inference.wordpiece import Word


def windows(text: str, words: Sequence[Word], capacity: int, overlap: int) -> list[str]:
    """`text` as pieces of at most `capacity` word pieces; the text itself if it fits.

    Neighbours share at most `overlap` word pieces. Both ends lie at white space where there is any near,
    never inside a word. Every character is in some window. No word may have more than `capacity` pieces.
    """
    if not words:
        return [text]
    spans = list(_spans(text, words, capacity, overlap))
    starts = [0, *(words[first].start for first, _ in spans[1:])]
    ends = [*(words[after].start for _, after in spans[:-1]), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _spans(text: str, words: Sequence[Word], capacity: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Half-open ranges of `words`, each as long as may be, or up to a quarter shorter to end at a space."""
    before = [0, *accumulate(len(word.pieces) for word in words)]
    first = 0
    while before[-1] - before[first] > capacity:
        fits = bisect_right(before, before[first] + capacity) - 1
        soonest = max(bisect_left(before, before[first] + capacity * 3 // 4), first + 1)
        after = next((end for end in range(fits, soonest - 1, -1) if _is_at_space(text, words[end])), fits)
        yield first, after
        again = max(bisect_left(before, before[after] - overlap), first + 1)
        first = next((start for start in range(again, after) if _is_at_space(text, words[start])), again)
    yield first, len(words)


def _is_at_space(text: str, word: Word) -> bool:
    """Whether there is white space before the word; some tokenizers count it as the word's own."""
    return any(map(str.isspace, text[max(0, word.start - 1) : word.start + 1]))
