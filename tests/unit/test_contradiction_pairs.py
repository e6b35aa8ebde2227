"""Pairs of three readers, the third's never tuned on, and of statements both true though one tells of a
change: what may never be ended, and what is found.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from m3_memory.kernel.contradiction import Verdict, compare

PAIRS = Path(__file__).parent / "pairs"


class Text(NamedTuple):
    content: str
    title: str = ""


def pairs() -> list[dict[str, Any]]:
    files = sorted(PAIRS.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@cache
def verdicts() -> Counter[tuple[str, Verdict]]:
    return Counter((p["label"], compare(Text(p["old"]), Text(p["new"])).verdict) for p in pairs())


def test_no_true_statement_is_ended() -> None:
    ended = [
        p["id"]
        for p in pairs()
        if p["label"] != "update" and compare(Text(p["old"]), Text(p["new"])).verdict is Verdict.UPDATE
    ]
    assert ended == []


def test_no_update_and_no_other_statement_is_taken_for_a_repetition() -> None:
    assert verdicts()["update", Verdict.DUPLICATE] == verdicts()["distinct", Verdict.DUPLICATE] == 0


def test_few_of_the_others_are_put_before_a_person() -> None:
    assert verdicts()["distinct", Verdict.UNSURE] + verdicts()["duplicate", Verdict.UNSURE] <= 8


def test_updates_are_found() -> None:
    closed = verdicts()["update", Verdict.UPDATE]
    assert closed >= 24
    assert closed + verdicts()["update", Verdict.UNSURE] >= 52
