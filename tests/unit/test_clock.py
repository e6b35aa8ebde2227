from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.clock import (
    BEGINNING,
    FOREVER,
    ManualClock,
    SystemClock,
    later,
    milliseconds,
    plus,
    seconds_between,
    written,
)

NEW_YEAR = "2026-01-01T00:00:00.000000Z"

moments = st.datetimes().map(written)


def test_every_moment_is_written_in_27_characters() -> None:
    assert written(datetime(7, 1, 2)) == "0007-01-02T00:00:00.000000Z"
    for text in (SystemClock().now(), ManualClock().now(), BEGINNING, FOREVER):
        assert len(text) == 27
        assert text.endswith("Z")


def test_a_moment_of_another_zone_is_written_in_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert written(datetime(2026, 1, 1, 9, tzinfo=tokyo)) == NEW_YEAR


@given(st.datetimes(), st.datetimes())
def test_text_sorts_as_time_passes(one: datetime, other: datetime) -> None:
    assert (one < other) == (written(one) < written(other))


def test_the_system_clock_never_goes_back_on_its_monotonic_scale() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    assert clock.monotonic() >= before
    assert BEGINNING < clock.now() < FOREVER


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock()
    assert (clock.now(), clock.monotonic()) == (NEW_YEAR, 0.0)
    clock.advance(1.5)
    assert (clock.now(), clock.monotonic()) == ("2026-01-01T00:00:01.500000Z", 1.5)


def test_a_manual_clock_jumps_back_while_its_monotonic_scale_stays() -> None:
    clock = ManualClock()
    clock.advance(10)
    clock.set("2020-01-01T00:00:00.000000Z")
    assert (clock.now(), clock.monotonic()) == ("2020-01-01T00:00:00.000000Z", 10.0)


def test_a_manual_clock_does_not_let_time_pass_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        ManualClock().advance(-1)


def test_later_is_one_microsecond_by_default() -> None:
    assert later(NEW_YEAR) == "2026-01-01T00:00:00.000001Z"
    assert later(NEW_YEAR, -1) == "2025-12-31T23:59:59.999999Z"


@pytest.mark.parametrize("moment", [NEW_YEAR, BEGINNING, FOREVER])
@pytest.mark.parametrize("seconds", [1e12, 1e15, 1e30])
def test_arithmetic_stops_at_both_ends_of_time(moment: str, seconds: float) -> None:
    assert plus(moment, seconds) == FOREVER
    assert plus(moment, -seconds) == BEGINNING
    assert later(FOREVER) == FOREVER
    assert later(BEGINNING, -1) == BEGINNING


@given(moments, moments)
def test_the_seconds_between_two_moments_lead_from_one_to_the_other(one: str, other: str) -> None:
    back = plus(one, seconds_between(one, other))
    assert abs(seconds_between(back, other)) < 0.001
    assert seconds_between(one, other) == -seconds_between(other, one)


def test_milliseconds_count_from_1970() -> None:
    assert milliseconds("1970-01-01T00:00:01.234567Z") == 1234
    assert milliseconds("1969-12-31T23:59:59.999500Z") == -1
