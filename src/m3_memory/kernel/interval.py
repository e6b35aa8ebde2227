"""Moments as callers may write them, and half-open intervals of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from m3_memory.errors import InvalidTime
from m3_memory.kernel.clock import FOREVER, written

ACCEPTED_FORMS = (
    "YYYY-MM-DD, or YYYY-MM-DDTHH:MM[:SS[.f]] with Z, with an offset as +HH:MM, or with neither (UTC)"
)

_FORM = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:T(?P<minutes>\d\d:\d\d)(?::(?P<seconds>\d\d)(?:\.(?P<fraction>\d{1,6})0*)?)?(?P<zone>Z|[+-]\d\d:[0-5]\d)?)?",
    re.ASCII,
)


def parse_time(text: str) -> str:
    """The moment a caller named, as fixed-width UTC text; a date is its first instant.

    Up to six digits of a second's fraction; more only if they are zeros, so that nothing is cut silently.
    Raises InvalidTime, its message listing the accepted forms, for everything else: epoch numbers, other
    orders, words, dates that do not exist, 24:00, and offsets that lead out of the years 0001 to 9999.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise _refused(text, "is not a date this product reads")
    seconds = f"{form['minutes'] or '00:00'}:{form['seconds'] or '00'}"
    fraction = (form["fraction"] or "").ljust(6, "0")
    zone = (form["zone"] or "Z").replace("Z", "+00:00")
    try:
        return written(datetime.fromisoformat(f"{form['date']}T{seconds}.{fraction}{zone}"))
    except (ValueError, OverflowError):
        raise _refused(text, "names no moment of the years 0001 to 9999") from None


def parse_moment(text: str) -> str:
    """As parse_time, for what must be a moment: the open end of intervals is none. Raises InvalidTime."""
    moment = parse_time(text)
    if moment == FOREVER:
        raise _refused(text, "is the open end of time and no moment")
    return moment


def shown(text: str) -> str | None:
    """A stored moment as answers give it: an open end is absent."""
    return None if text == FOREVER else text


@dataclass(frozen=True, slots=True)
class Interval:
    """From `start`, to just before `end`. Raises InvalidTime if that is empty or inverted."""

    start: str
    end: str = FOREVER

    def __post_init__(self) -> None:
        if self.start >= self.end:
            what = "empty" if self.start == self.end else "inverted"
            raise InvalidTime(
                f"the interval from {self.start} to {self.end} is {what}",
                "give an end that is later than the start, or no end",
            )


def _refused(text: str, what: str) -> InvalidTime:
    named = text if len(text) <= 40 else f"{text[:40]}…"
    return InvalidTime(
        f"{named!r} {what}; accepted: {ACCEPTED_FORMS}", "for example 2026-03-29 or 2026-03-29T02:30:00Z"
    )
