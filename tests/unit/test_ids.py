from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.errors import InvalidId
from m3_memory.kernel.clock import milliseconds, written
from m3_memory.kernel.ids import IdSeries, new_id, parse_full, parse_id, parse_prefix

KNOWN = "01a22d51-f890-71fd-98d1-4d12fca8de93"
NEW_YEAR = "2026-01-01T00:00:00.000000Z"

NO_IDS = (
    *("", " ", "0", "not-an-id", KNOWN[:-1], f"{KNOWN}0", f" {KNOWN}", f"{KNOWN}\n", f"{{{KNOWN}}}"),
    *(f"urn:uuid:{KNOWN}", KNOWN.replace("-", "_"), KNOWN.replace("a", "g"), "0" * 31, "٠" * 32, "%", "*"),
    KNOWN.replace("-", "", 1),
)


@given(st.lists(st.datetimes().map(written), min_size=2, max_size=30))
def test_new_ids_grow_whatever_the_clock_does(moments: list[str]) -> None:
    series = IdSeries()
    made = [series.next(moment) for moment in moments]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_a_new_id_is_a_lower_case_uuid_of_version_7() -> None:
    made = new_id(NEW_YEAR)
    parsed = uuid.UUID(made)
    assert (parsed.version, parsed.variant, str(parsed)) == (7, uuid.RFC_4122, made)


@pytest.mark.parametrize("moment", ["1970-01-01T00:00:00.001000Z", NEW_YEAR, "9999-12-31T23:59:59.999999Z"])
def test_an_id_begins_with_its_milliseconds(moment: str) -> None:
    assert int(IdSeries().next(moment).replace("-", "")[:12], 16) == milliseconds(moment)


def test_a_moment_before_1970_has_an_id_too() -> None:
    assert uuid.UUID(IdSeries().next("1969-12-31T23:59:59.000000Z")).version == 7


def test_ids_of_the_same_moment_and_the_same_random_bytes_differ() -> None:
    series = IdSeries()
    made = {series.next(NEW_YEAR, lambda size: b"\xff" * size) for _ in range(1_000)}
    assert len(made) == 1_000


def test_threads_never_make_the_same_id() -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(new_id, [NEW_YEAR] * 2_000))
    assert len(set(made)) == len(made)


@given(st.uuids())
def test_a_full_id_of_any_version_is_accepted_in_either_case(value: uuid.UUID) -> None:
    for parse in (parse_id, parse_full, parse_prefix):
        assert parse(str(value)) == str(value)
        assert parse(str(value).upper()) == str(value)
        assert parse(value.hex) == str(value)


@pytest.mark.parametrize("text", NO_IDS)
def test_anything_else_is_no_id(text: str) -> None:
    with pytest.raises(InvalidId) as refusal:
        parse_id(text)
    assert refusal.value.hint


def test_a_change_says_that_it_needs_the_full_id() -> None:
    with pytest.raises(InvalidId) as refusal:
        parse_full(KNOWN[:13])
    assert "full id" in refusal.value.hint


@given(st.uuids(), st.integers(8, 36))
def test_the_start_of_an_id_is_a_prefix_with_dashes_or_without(value: uuid.UUID, length: int) -> None:
    start = str(value)[:length]
    assert parse_prefix(start.upper()) == start.rstrip("-")
    assert parse_prefix(start.replace("-", "")) == start.rstrip("-")


@pytest.mark.parametrize(
    "text", [KNOWN[:7], "01a22d5-1f", "01a22d51f-890", "01a22d51--f8", "-01a22d51", "01a22d5g", "%" * 8]
)
def test_a_short_or_misplaced_prefix_is_refused(text: str) -> None:
    with pytest.raises(InvalidId, match="neither an id nor the start of one"):
        parse_prefix(text)
