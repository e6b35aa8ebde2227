from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.errors import InvalidTime
from m3_memory.kernel.clock import FOREVER, written
from m3_memory.kernel.interval import ACCEPTED_FORMS, Interval, parse_moment, parse_time, shown

ACCEPTED = {
    "2026-03-29": "2026-03-29T00:00:00.000000Z",
    "2024-02-29": "2024-02-29T00:00:00.000000Z",
    "0001-01-01": "0001-01-01T00:00:00.000000Z",
    "2026-03-29T02:30": "2026-03-29T02:30:00.000000Z",
    "2026-03-29T02:30:00": "2026-03-29T02:30:00.000000Z",
    "2026-03-29T02:30Z": "2026-03-29T02:30:00.000000Z",
    "2026-03-29T02:30:15.5Z": "2026-03-29T02:30:15.500000Z",
    "2026-03-29T02:30:15.123456": "2026-03-29T02:30:15.123456Z",
    "2026-03-29T02:30:15.123456000Z": "2026-03-29T02:30:15.123456Z",
    "2026-03-29T02:30:00+09:00": "2026-03-28T17:30:00.000000Z",
    "2026-03-29T02:30-01:30": "2026-03-29T04:00:00.000000Z",
    "2026-03-29T02:30:00-00:00": "2026-03-29T02:30:00.000000Z",
    FOREVER: FOREVER,
}

REFUSED = (
    *(
        "",
        " ",
        "yesterday",
        "now",
        "1774752000",
        "1774752000.5",
        "20260329",
        "29/03/2026",
        "2026-3-29",
        "26-03-29",
    ),
    *("2026-03", "2026", "2026-W13-7", "2026-088", "+2026-03-29", "-2026-03-29", "12026-03-29"),
    *("2026-02-30", "2026-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "0000-01-01"),
    *("2026-03-29T24:00", "2026-03-29T23:60", "2026-03-29T23:59:60", "2026-03-29T02", "2026-03-29T0230"),
    *(
        "2026-03-29 02:30",
        "2026-03-29t02:30",
        "2026-03-29T02:30z",
        "2026-03-29T02:30.5",
        "2026-03-29T02:30:00,5",
    ),
    *("2026-03-29T02:30:00.", "2026-03-29T02:30:00.1234567", "2026-03-29T02:30:00 Z", "2026-03-29Z"),
    *("2026-03-29T02:30+0900", "2026-03-29T02:30+09", "2026-03-29T02:30+24:00", "2026-03-29T02:30+09:60"),
    *("0001-01-01T00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-03-29\n", " 2026-03-29"),
    *("２０２６-03-29", "٢٠٢٦-٠٣-٢٩", "2026−03−29", "2026-03-29T02:30:00Z; DROP TABLE memory_items"),
)


@pytest.mark.case("B20")
@pytest.mark.parametrize(("text", "moment"), ACCEPTED.items())
def test_an_accepted_form_becomes_utc(text: str, moment: str) -> None:
    assert parse_time(text) == moment


@pytest.mark.case("B20")
@pytest.mark.parametrize("text", REFUSED)
def test_any_other_form_is_refused_with_the_list_of_accepted_ones(text: str) -> None:
    with pytest.raises(InvalidTime) as refusal:
        parse_time(text)
    assert ACCEPTED_FORMS in refusal.value.message
    assert refusal.value.hint


def test_a_refusal_does_not_repeat_a_long_text() -> None:
    with pytest.raises(InvalidTime) as refusal:
        parse_time("9" * 10_000)
    assert len(refusal.value.message) < 300


offsets = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
everyday = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=offsets)


@given(everyday)
def test_what_a_program_writes_in_iso_form_is_read_as_the_same_moment(moment: datetime) -> None:
    assert parse_time(moment.isoformat()) == written(moment)


@given(st.datetimes().map(written))
def test_our_own_text_is_read_back_unchanged(text: str) -> None:
    assert parse_time(text) == text


def test_an_open_end_is_shown_as_absent() -> None:
    assert shown(FOREVER) is None
    assert shown("2026-03-29T00:00:00.000000Z") == "2026-03-29T00:00:00.000000Z"


JANUARY, FEBRUARY = (f"2026-0{month}-01T00:00:00.000000Z" for month in (1, 2))


@pytest.mark.parametrize(("start", "end"), [(JANUARY, JANUARY), (FEBRUARY, JANUARY), (FOREVER, FOREVER)])
def test_an_empty_or_inverted_interval_is_refused(start: str, end: str) -> None:
    with pytest.raises(InvalidTime, match=r"empty|inverted"):
        Interval(start, end)


def test_the_open_end_is_no_moment() -> None:
    assert parse_moment("2026-03-29") == parse_time("2026-03-29")
    assert parse_moment("9999-12-31T23:59:59.999998Z") < FOREVER
    for text in (FOREVER, "9999-12-31T23:59:59.999999", "9999-12-31T22:59:59.999999-01:00"):
        with pytest.raises(InvalidTime, match="open end"):
            parse_moment(text)
