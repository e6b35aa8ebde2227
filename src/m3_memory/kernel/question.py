"""What a question says besides its words: who asks, when it is about, and what of it has a meaning."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from m3_memory.kernel.analyser import analyse

_FORM_WORDS = frozenset(
    """
    what when where which who whom whose why how did do does is are was were be been has have had can could
    would should will may might the a an of in on at to for from with by and or about
    """.split()
)
_EDGES = "?.,!:;()[]{}\"'`’“”"
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine)\b", re.IGNORECASE)
_OF_THE_ASSISTANT = re.compile(
    r"\byou(?:r|rs)?\b|\bassistant\b|\bremind(?:ed)? me\b",
    re.IGNORECASE,
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug"
        "|september sept sep|october oct|november nov|december dec".split("|"),
        1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    r"\b(?P<iso>\d{4}-\d\d-\d\d)\b"
    rf"|\b(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?(?P<month>{_MONTH})\b\.?"
    r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?(?!\d))?(?:,? (?P<year>\d{4}))?"
    r"|\b(?P<only>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_NAMES_MONTH = re.compile(r"\b(?:in|of|by|since|until|during|before|after|last|this) (?:march|may)\b")
_AGO = re.compile(
    r"\b(?P<count>\d{1,3}|an?|one|two|three|four|five|six) (?P<unit>day|week|month|year)s? ago\b"
)
_NAMED = re.compile(r"\b(?:(?P<day>yesterday|today)|(?P<which>last|this) (?P<unit>week|month|year))\b")
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

NEAR_DAYS = 10
"""So many days beside what was named a date counts a third of the full."""
YEAR_WEIGHT = 0.3
"""What a year alone says of a day in it."""


@dataclass(frozen=True, slots=True)
class Days:
    """A stretch of days that a question names, both ends included, and how much it says of a day in it."""

    first: date
    last: date
    weight: float = 1.0

    def near(self, day: date) -> float:
        """From 1 for a day in it down to 0, by NEAR_DAYS; times its weight."""
        apart = max((self.first - day).days, (day - self.last).days, 0)
        return self.weight * math.exp(-apart / NEAR_DAYS)


@dataclass(frozen=True, slots=True)
class Reading:
    """A question read. `asks_of_user`: about what the one who asks has said or done themselves."""

    asks_of_user: bool = False
    days: tuple[Days, ...] = ()

    def when(self, moment: str) -> float:
        """How near a moment, as stored, is to a time the question names, from 0 to 1; 0 if it names none."""
        if not self.days:
            return 0.0
        day = date.fromisoformat(moment[:10])
        return max(each.near(day) for each in self.days)


NOTHING_SAID = Reading()


def read(query: str, now: str) -> Reading:
    """Reads a question that is asked at this moment, as stored. What can't be a date is no sign."""
    asks = bool(_FIRST_PERSON.search(query)) and not _OF_THE_ASSISTANT.search(query)
    return Reading(asks, tuple(_days(query.casefold(), date.fromisoformat(now[:10]))))


def bare(query: str, names: frozenset[str]) -> str:
    """The question without the words that make it one and without these names, given as the analyser gives
    them: what is left to compare by meaning. The question itself if nothing is left.
    """
    kept = [word for word in query.split() if not _is_form(word.strip(_EDGES), names)]
    return " ".join(kept) or query


def _is_form(word: str, names: frozenset[str]) -> bool:
    if word.casefold() in _FORM_WORDS:
        return True
    tokens = analyse(word)
    return bool(tokens) and names.issuperset(tokens)


def _days(query: str, today: date) -> Iterator[Days]:
    for found in _DATE.finditer(query):
        try:
            yield from _dated(found, query, today)
        except ValueError:
            continue
    for found in _AGO.finditer(query):
        back = _COUNTS.get(found["count"]) or int(found["count"])
        yield from _stretch(today, back * _UNIT_DAYS[found["unit"]], _UNIT_DAYS[found["unit"]])
    for found in _NAMED.finditer(query):
        if found["day"]:
            yield from _stretch(today, int(found["day"] == "yesterday"), 1)
        else:
            length = _UNIT_DAYS[found["unit"]]
            yield from _stretch(today, length if found["which"] == "last" else 0, length)


def _stretch(today: date, back: int, length: int) -> Sequence[Days]:
    """What lies so many days back, give or take half of a stretch of that length."""
    try:
        middle = today - timedelta(days=back)
        half = timedelta(days=length // 2)
        return (Days(middle - half, middle + half, 1.0 if length < 100 else YEAR_WEIGHT),)
    except OverflowError:
        return ()


def _dated(found: re.Match[str], query: str, today: date) -> Iterator[Days]:
    if found["iso"]:
        day = date.fromisoformat(found["iso"])
        yield Days(day, day)
    elif found["only"]:
        yield Days(date(int(found["only"]), 1, 1), date(int(found["only"]), 12, 31), YEAR_WEIGHT)
    else:
        month, day = _MONTHS[found["month"]], int(found["before"] or found["after"] or 0)
        is_word = found["month"] in ("march", "may") and not _NAMES_MONTH.search(query)
        if is_word and not (day or found["year"]):
            return
        for year in [int(found["year"])] if found["year"] else range(today.year - 3, today.year + 1):
            if day:
                yield Days(date(year, month, day), date(year, month, day))
            else:
                yield Days(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1) - timedelta(1))
