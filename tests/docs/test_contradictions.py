"""The page on contradictions says what a comparison of its own examples answers, and leaves no reason out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from m3_memory.kernel.contradiction import compare
from tests.docs.pages import ROOT, text_of

PAIRS = ROOT / "tests" / "unit" / "pairs"


class Text(NamedTuple):
    content: str
    title: str = ""


class Row(NamedTuple):
    reason: str
    meaning: str
    older: str = ""
    newer: str = ""
    verdict: str = ""


def rows() -> list[Row]:
    """The rows of the page's tables of reasons, without the formatting."""
    found: list[Row] = []
    section = text_of(ROOT / "docs" / "contradictions.md").partition("## Why")[2].partition("\n## ")[0]
    for line in re.findall(r"^\| `.*\|$", section, re.MULTILINE):
        reason, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if reason != "`reason`":
            found.append(Row(reason.strip("`"), *cells))
    return found


def test_each_example_of_a_reason_is_answered_as_the_page_says() -> None:
    shown = [row for row in rows() if row.older]
    assert len(shown) >= 20
    for row in shown:
        answer = compare(Text(row.older), Text(row.newer))
        assert (row.newer, answer.reason, answer.verdict.value) == (row.newer, row.reason, row.verdict)


def test_every_reason_that_pairs_of_texts_are_told_apart_by_is_explained() -> None:
    explained = {row.reason for row in rows()}
    for file in sorted(Path(PAIRS).glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            pair = json.loads(line)
            assert compare(Text(pair["old"]), Text(pair["new"])).reason in explained
