from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.errors import InvalidArgument, InvalidContent, InvalidMetadata
from m3_memory.kernel.limits import (
    MAX_CONTENT_CHARACTERS,
    MAX_METADATA_CHARACTERS,
    MAX_METADATA_DEPTH,
    MAX_METADATA_INTEGER,
    MIN_METADATA_INTEGER,
    JsonValue,
    checked_metadata,
    checked_text,
)


def content(text: str) -> str:
    return checked_text(text, "content", MAX_CONTENT_CHARACTERS)


@pytest.mark.case("B07")
@pytest.mark.parametrize(
    "text",
    ["", "   ", "\n\t", "\u3000", "\u00a0\u2003", "\u200b\u200d\ufeff", "\u202e \u2066", "\u3164", "\x1b"],
)
def test_a_text_in_which_nothing_can_be_seen_is_refused(text: str) -> None:
    with pytest.raises(InvalidContent, match="content is empty"):
        content(text)


@pytest.mark.case("B08")
def test_the_limit_counts_characters_and_is_named() -> None:
    longest = "é" * MAX_CONTENT_CHARACTERS
    assert content(longest) == longest
    with pytest.raises(InvalidContent, match="50,001 characters; the limit is 50,000"):
        content(f"{longest}é")


@pytest.mark.case("B05")
@pytest.mark.parametrize("text", ["a\x00b", "\x00", "half \ud83d", "\udc00 half"])
def test_what_no_store_can_keep_is_refused(text: str) -> None:
    with pytest.raises(InvalidContent, match="NUL or half of a surrogate pair"):
        content(text)


@pytest.mark.case("B05")
@pytest.mark.parametrize(
    "text", ["\x1b[31mred\x1b[0m", "line\u2028line", " kept \r\n", "e\u0301", "👩‍👩‍👧‍👦", ".", "’"]
)
def test_everything_else_is_kept_as_written(text: str) -> None:
    assert content(text) == text


def test_other_arguments_are_refused_as_arguments() -> None:
    for text in ("", "a\x00", "abcd"):
        with pytest.raises(InvalidArgument, match="query"):
            checked_text(text, "query", 3)
    with pytest.raises(InvalidContent, match="title"):
        checked_text("", "title", 3)


texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=20)
numbers = st.integers(MIN_METADATA_INTEGER, MAX_METADATA_INTEGER) | st.floats(
    allow_nan=False, allow_infinity=False
)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts.map(lambda key: f"x{key}"), values, max_size=4)


@pytest.mark.case("B11")
@given(objects)
def test_metadata_is_kept_as_an_object_or_as_its_json_text(given_object: dict[str, JsonValue]) -> None:
    assert checked_metadata(given_object) == given_object
    assert checked_metadata(json.dumps(given_object)) == given_object


@pytest.mark.parametrize("nothing", [None, "", {}, "{}", " {} "])
def test_no_metadata_is_an_empty_object(nothing: object) -> None:
    assert checked_metadata(nothing) == {}


def test_checked_metadata_is_a_copy() -> None:
    given_object: dict[str, JsonValue] = {"list": [1]}
    checked = checked_metadata(given_object)
    cast("list[JsonValue]", given_object["list"]).append(2)
    assert checked == {"list": [1]}


def nested(levels: int) -> dict[str, JsonValue]:
    value: JsonValue = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return cast("dict[str, JsonValue]", value)


REFUSED_METADATA: dict[str, object] = {
    "list": [1],
    "number": 7,
    "list as text": "[1]",
    "null as text": "null",
    "no JSON": "{a: 1}",
    "cut JSON": '{"a": 1',
    "NaN as text": '{"a": NaN}',
    "infinity as text": '{"a": [-Infinity]}',
    "1e400 as text": '{"a": 1e400}',
    "NaN": {"a": float("nan")},
    "infinity": {"a": {"b": [float("inf")]}},
    "a key twice": '{"a": 1, "a": 2}',
    "a deep key twice": '{"b": {"a": 1, "a": 1}}',
    "an integer beyond 64 bits": {"a": 2**64},
    "thousands of digits": '{"a": ' + "9" * 5_000 + "}",
    "a NUL": '{"a": "b\\u0000"}',
    "a NUL in a key": {"a\x00": 1},
    "a lone surrogate": '{"a": ["\\ud800"]}',
    "a key that is no text": {1: "a"},
    "a value that is no JSON": {"a": b"bytes"},
    "a tuple": {"a": (1, 2)},
    "too many levels": nested(MAX_METADATA_DEPTH + 1),
    "a hundred thousand brackets": '{"a": ' + "[" * 15_000 + "]" * 15_000 + "}",
    "too long": {"a": "x" * MAX_METADATA_CHARACTERS},
    "too long as text": '{"a": "' + "x" * 50_000 + '"}',
}


@pytest.mark.case("B11")
@pytest.mark.parametrize("value", REFUSED_METADATA.values(), ids=REFUSED_METADATA.keys())
def test_metadata_that_could_break_a_read_is_refused(value: object) -> None:
    with pytest.raises(InvalidMetadata) as refusal:
        checked_metadata(value)
    assert refusal.value.hint
    assert len(refusal.value.message) < 200


def test_metadata_up_to_the_limits_is_accepted() -> None:
    assert checked_metadata(nested(MAX_METADATA_DEPTH)) == nested(MAX_METADATA_DEPTH)
    largest: dict[str, JsonValue] = {"a": "x" * (MAX_METADATA_CHARACTERS - len('{"a":""}'))}
    assert checked_metadata(largest) == largest


@pytest.mark.case("B35")
@pytest.mark.parametrize(
    "key",
    [
        *(
            "user_id",
            "agent_id",
            "scope",
            "trust",
            "trust_state",
            "confidence",
            "verified",
        ),
        *("importance", "audience", "circle", "owner_id", "verified_by"),
        *("USER_ID", "userId", "user-id", "User Id", "ｕｓｅｒ＿ｉｄ", "trust\u200bState"),
    ],
)
def test_metadata_cannot_set_identity_or_trust(key: str) -> None:
    with pytest.raises(InvalidMetadata) as refusal:
        checked_metadata({"ticket": "LED-4102", key: "human"})
    assert repr(key) in refusal.value.message


@pytest.mark.case("B35")
def test_such_a_key_deeper_inside_is_an_ordinary_one() -> None:
    value: dict[str, JsonValue] = {"request": {"user_id": 7}, "user": "kim", "statuses": []}
    assert checked_metadata(value) == value


@pytest.mark.case("B35")
def test_words_of_everyday_records_are_ordinary_labels() -> None:
    value: dict[str, JsonValue] = {
        "status": "open",
        "owner": "kim",
        "created_by": "human",
        "updated_by": "ci",
    }
    assert checked_metadata(value) == value


@pytest.mark.parametrize("mark", ["\u0301", "\u0f73", "\u0315\u0300", "\uff9e\u0301"])
def test_more_combining_marks_in_a_row_than_any_script_needs_are_refused(mark: str) -> None:
    assert content(f"x{(mark * 64)[:64]}y{(mark * 64)[:64]}")
    for marks in ((mark * 65)[:65], (mark * 49_990)[:49_990]):
        with pytest.raises(InvalidContent, match="content has more than 64 combining marks in a row"):
            content(f"x{marks}")
    with pytest.raises(InvalidMetadata, match="combining marks"):
        checked_metadata({f"x{mark * 9_000}": 1})


@pytest.mark.parametrize("text", ["한국어" * 9_000, "…" * 9_000, "नमस्ते" * 5_000, "☀️" * 9_000])
def test_long_texts_of_other_scripts_and_signs_are_no_marks(text: str) -> None:
    assert content(text) == text
