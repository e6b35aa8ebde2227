"""Time as this product writes it: fixed-width UTC ISO text, which sorts as it passes."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

BEGINNING = "0001-01-01T00:00:00.000000Z"
FOREVER = "9999-12-31T23:59:59.999999Z"
"""An interval's open end, as stored: later than every moment anybody names."""

_EPOCH = datetime(1970, 1, 1)


class Clock(Protocol):
    """Where the product learns the time."""

    def now(self) -> str:
        """The moment as text of 27 characters, such as `2026-03-29T02:30:00.000000Z`."""
        ...

    def monotonic(self) -> float:
        """Seconds on a scale that never goes back; only differences mean something."""
        ...


class SystemClock:
    """The host's clock."""

    def now(self) -> str:
        return written(datetime.now(UTC))

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told to, backwards too; for tests, ours and our users'."""

    def __init__(self, now: str = "2026-01-01T00:00:00.000000Z") -> None:
        self._now = written(_read(now))
        self._monotonic_seconds = 0.0

    def now(self) -> str:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic_seconds

    def set(self, now: str) -> None:
        """Jumps to a moment, earlier or later; the monotonic scale stays where it is."""
        self._now = written(_read(now))

    def advance(self, seconds: float) -> None:
        """Lets time pass on both scales; raises ValueError for a negative number."""
        if seconds < 0:
            raise ValueError("time does not pass backwards; use set() for a clock that jumps")
        self._now = plus(self._now, seconds)
        self._monotonic_seconds += seconds


def written(moment: datetime) -> str:
    """A moment as our text; one without a zone is read as UTC. OverflowError outside years 1 to 9999."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='microseconds')}Z"


def later(text: str, microseconds: int = 1) -> str:
    """The moment that many microseconds later (earlier if negative), within BEGINNING to FOREVER."""
    return _shifted(text, timedelta(microseconds=microseconds))


def plus(text: str, seconds: float) -> str:
    """The moment that many seconds later (earlier if negative), within BEGINNING to FOREVER."""
    try:
        return _shifted(text, timedelta(seconds=seconds))
    except OverflowError:
        return FOREVER if seconds > 0 else BEGINNING


def seconds_between(start: str, end: str) -> float:
    """How many seconds `end` is after `start`; negative if it is before."""
    return (_read(end) - _read(start)).total_seconds()


def milliseconds(text: str) -> int:
    """Whole milliseconds since 1970, negative before it."""
    return (_read(text) - _EPOCH) // timedelta(milliseconds=1)


def _read(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


def _shifted(text: str, by: timedelta) -> str:
    try:
        return written(_read(text) + by)
    except OverflowError:
        return FOREVER if by > timedelta(0) else BEGINNING
