"""The type of a memory by rules."""

from __future__ import annotations

import pytest

from m3_memory.kernel.classification import classify
from m3_memory.kernel.limits import MAX_CONTENT_CHARACTERS


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("* [ ] TODO: rotate the keys", "to_do"),
        ("Before\n\n  1. stop it\n  2. start it", "procedure"),
        ("To deploy the site,\nfirst to build the image run make image", "procedure"),
        ("The sea is blue", "note"),
    ],
)
def test_the_first_rule_that_fits_decides(content: str, kind: str) -> None:
    assert classify(content) == kind


@pytest.mark.parametrize("part", ["\n", "to build ", " \t", "a_", "A_", "- ", "1", "http", "see ", "`"])
def test_the_longest_text_is_judged_whatever_it_repeats(part: str) -> None:
    longest = f"x{part * MAX_CONTENT_CHARACTERS}"[: MAX_CONTENT_CHARACTERS - 1]
    assert classify(f"{longest}x") == "note"


def test_only_the_beginning_of_a_text_decides() -> None:
    assert classify("We decided so. " + "x " * 5000) == "decision"
    assert classify("x " * 5000 + "We decided so.") == "note"
