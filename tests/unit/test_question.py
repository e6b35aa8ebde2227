from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.kernel.question import Reading, bare, read

NOW = "2026-06-15T12:00:00.000000Z"


def when(query: str, day: str) -> float:
    return read(query, NOW).when(f"{day}T09:30:00.000000Z")


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("What broke on 8 May 2025?", "2025-05-08"),
        ("What broke on May 8, 2025?", "2025-05-08"),
        ("what broke on the 8th of may 2025", "2025-05-08"),
        ("What broke on 2025-05-08?", "2025-05-08"),
        ("What did we decide in March 2026?", "2026-03-20"),
        ("What did we decide in Dec?", "2025-12-31"),
        ("what did we ship yesterday", "2026-06-14"),
        ("what did we ship last week", "2026-06-08"),
        ("What changed two months ago?", "2026-04-16"),
        ("what changed a year ago", "2025-06-15"),
    ],
)
def test_a_day_that_a_question_names_speaks_for_what_holds_from_it(query: str, day: str) -> None:
    far = date.fromisoformat(day).replace(year=2011).isoformat()
    assert when(query, day) > when(query, far)


def test_the_further_from_the_day_the_less_it_says() -> None:
    there, near, far = (when("on 8 May 2025", f"2025-05-{day}") for day in ("08", "12", "30"))
    assert 1 == there > near > far > 0


def test_a_year_alone_says_less_than_a_day() -> None:
    assert 0 < when("in 2025", "2025-05-08") < when("on 8 May 2025", "2025-05-08")


@pytest.mark.parametrize(
    "query",
    [
        "may we deploy on Fridays?",
        "Which port does the proxy listen on?",
        "What happened on 31 February 2025?",
        "what happened on 2025-13-40",
        "error 1899 of the march command",
        "",
    ],
)
def test_what_names_no_day_is_no_sign(query: str) -> None:
    assert when(query, "2025-03-08") == 0


@given(st.text(max_size=200))
def test_any_text_can_be_read(query: str) -> None:
    assert 0 <= when(query, "2025-05-08") <= 1
    assert isinstance(bare(query, frozenset()), str)


@pytest.mark.parametrize("query", ["Where do I live?", "What is my dog called?", "mine or hers?"])
def test_a_question_about_the_one_who_asks_is_told_from_others(query: str) -> None:
    assert read(query, NOW).asks_of_user


@pytest.mark.parametrize(
    "query", ["What did you recommend to me?", "What was your advice for my dog?", "Which port is open?"]
)
def test_a_question_about_the_assistant_or_the_world_is_not(query: str) -> None:
    assert not read(query, NOW).asks_of_user


def test_what_is_compared_by_meaning_is_without_form_words_and_known_names() -> None:
    assert bare("When did Caroline go to the harbour?", frozenset({"carolin"})) == "go harbour?"
    assert bare("When did Caroline go to the harbour?", frozenset()) == "Caroline go harbour?"


def test_a_question_of_form_words_alone_stays_as_it_is() -> None:
    assert bare("Who is it about?", frozenset({"it"})) == "Who is it about?"


def test_a_reading_of_nothing_says_nothing() -> None:
    assert Reading().when(NOW) == 0
