"""Lists in answers: whole items, as many as fit."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from m3_memory.catalog.answers import compact, fitting, plain, size_bytes


@dataclass(frozen=True)
class Entry:
    text: str
    note: str | None = None


def test_items_that_fit_are_all_kept() -> None:
    items = [Entry("a"), Entry("b", "c")]
    assert fitting(items) == items
    assert fitting([]) == []


def test_the_first_item_is_kept_however_large() -> None:
    items = [Entry("x" * 1_000), Entry("y")]
    assert fitting(items, 100) == items[:1]


@given(st.lists(st.builds(Entry, st.text(), st.none() | st.text()), min_size=1), st.integers(0, 300))
def test_what_is_kept_fits_and_one_more_would_not(items: list[Entry], budget: int) -> None:
    kept = fitting(items, budget)
    sizes = [len(compact(plain(item)).encode("utf-8", "replace")) for item in items]
    assert list(kept) == items[: len(kept)]
    assert len(kept) == 1 or sum(sizes[: len(kept)]) <= budget
    assert len(kept) == len(items) or sum(sizes[: len(kept) + 1]) > budget


def test_the_size_is_that_of_the_bytes_sent() -> None:
    assert size_bytes(Entry("\U0001f600")) == len('{"text":"\U0001f600"}'.encode())
