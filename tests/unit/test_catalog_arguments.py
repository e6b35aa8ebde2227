from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from m3_memory.catalog import params
from m3_memory.catalog.conversion import convert, convert_arguments
from m3_memory.catalog.params import Param
from m3_memory.catalog.schema import shape_of
from m3_memory.catalog.tool import Parameter
from m3_memory.errors import InvalidInput
from m3_memory.kernel.caller import Scope
from m3_memory.toolbox import CATALOG
from tests.unit.catalog_tools import note_read

HINTS = {
    "size": params.Limit,
    "ratio": Annotated[float, Param()],
    "flag": params.Switch,
    "text": params.Label,
    "query": params.Query,
    "content": params.Content,
    "moment": params.Timestamp,
    "end": params.TimestampOrClear,
    "start_of_id": params.MemoryIdOrPrefix,
    "mode": params.SearchMode,
    "type": params.MemoryType,
    "scope": params.MemoryScope,
    "labels": params.Metadata,
    "weight": params.Importance,
    "object": Annotated[dict[str, object], Param()],
    "numbers": Annotated[list[int], Param(max_items=3)],
    "id": params.MemoryId,
}
ABSENT = object()
FULL_ID = "01990a5e-7b1c-7d3e-8f00-00000000000a"


def read(name: str, value: object, *, required: bool = True) -> object:
    """What a parameter of that name makes of a value; ABSENT if it takes its default."""
    default = None if required else ABSENT
    return convert(Parameter(name, shape_of(HINTS[name]), required=required, default=default), value)


def refusal(name: str, value: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        read(name, value)
    return refused.value


@pytest.mark.parametrize(
    ("name", "given_value", "value"),
    [
        ("size", 8, 8),
        ("size", "8", 8),
        ("size", 8.0, 8),
        ("size", "8.0", 8),
        ("ratio", "0.5", 0.5),
        ("ratio", "-1e-3", -0.001),
        ("ratio", 2, 2.0),
        ("flag", True, True),
        ("flag", "true", True),
        ("flag", "False", False),
        ("text", "  kept \n as it is\x1b ", "  kept \n as it is\x1b "),
        ("text", "", ""),
        ("mode", "semantic", "vector"),
        ("mode", "keyword", "keyword"),
        ("scope", "user", Scope.USER),
        ("labels", '{"a": [1, null]}', {"a": [1, None]}),
        ("labels", {"a": None}, {"a": None}),
        ("moment", "2026-03-29", "2026-03-29T00:00:00.000000Z"),
        ("moment", "2026-03-29T04:30:00+02:00", "2026-03-29T02:30:00.000000Z"),
        ("end", "2026-03-29", "2026-03-29T00:00:00.000000Z"),
        ("end", "clear", "clear"),
        ("id", FULL_ID.upper(), FULL_ID),
        ("id", FULL_ID.replace("-", ""), FULL_ID),
        ("start_of_id", FULL_ID[:8], FULL_ID[:8]),
        ("start_of_id", FULL_ID.upper(), FULL_ID),
        ("object", '{"a": 1}', {"a": 1}),
        ("numbers", "[1, 2]", [1, 2]),
        ("numbers", ["1", 2.0], [1, 2]),
    ],
)
def test_a_form_that_loses_nothing_is_read(name: str, given_value: object, value: object) -> None:
    found = read(name, given_value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 8.5),
        ("size", "8.5"),
        ("size", "eight"),
        ("size", "8 "),
        ("size", ""),
        ("size", True),
        ("size", [8]),
        ("size", 0),
        ("size", 101),
        ("size", "101"),
        ("size", float("nan")),
        ("size", float("inf")),
        ("size", "9" * 40),
        ("ratio", "nan"),
        ("ratio", "1e999"),
        ("ratio", float("inf")),
        ("ratio", 10**400),
        ("ratio", False),
        ("flag", 1),
        ("flag", "yes"),
        ("text", 5),
        ("text", ["a"]),
        ("text", {"a": 1}),
        ("query", " \n\t"),
        ("mode", "fuzzy"),
        ("mode", ["hybrid"]),
        ("scope", "*"),
        ("scope", "org"),
        ("object", "[1]"),
        ("object", "{"),
        ("object", "[" * 100_000),
        ("object", 3),
        ("numbers", "1, 2"),
        ("numbers", [1, "two"]),
        ("numbers", [1, None]),
        ("numbers", [1, 2, 3, 4]),
        ("weight", 1.5),
        ("weight", -0.5),
    ],
)
def test_what_was_not_expected_is_refused_by_name(name: str, value: object) -> None:
    refused = refusal(name, value)
    assert refused.code == "invalid_argument"
    assert refused.message.startswith(name)
    assert refused.hint


def test_a_refusal_says_what_was_expected_and_what_came() -> None:
    assert refusal("size", 0).message == "size must be a whole number from 1 to 100; got 0"
    assert refusal("text", 5).message == "text must be text; got 5"
    assert refusal("numbers", [1, "two"]).message == 'numbers[1] must be a whole number; got "two"'
    assert refusal("numbers", [1, 2, 3, 4]).message == "numbers must be a list of at most 3 items; got 4"


def test_a_refusal_of_an_unknown_choice_lists_the_legal_ones_and_names_a_near_one() -> None:
    refused = refusal("type", "decison")
    assert "decision" in refused.hint
    assert all(name in refused.message for name in ("auto", "fact", "windows_only"))


def test_a_refusal_never_repeats_a_long_value_whole() -> None:
    assert len(refusal("mode", "x" * 10_000).message) < 300


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("content", 5, "invalid_content"),
        ("moment", 1774742400, "invalid_time"),
        ("labels", "[1]", "invalid_metadata"),
        ("labels", '{"a": NaN}', "invalid_metadata"),
        ("labels", '{"a": 1e400}', "invalid_metadata"),
        ("labels", '{"a": 1, "a": 2}', "invalid_metadata"),
        ("labels", {"user_id": "bob"}, "invalid_metadata"),
        ("id", 7, "invalid_id"),
        ("id", "zz", "invalid_id"),
        ("id", FULL_ID[:8], "invalid_id"),
        ("id", "", "invalid_id"),
        ("start_of_id", "0199", "invalid_id"),
        ("moment", "yesterday", "invalid_time"),
        ("moment", "", "invalid_time"),
        ("moment", "clear", "invalid_time"),
        ("end", "cleared", "invalid_time"),
    ],
)
@pytest.mark.case("B11")
def test_a_refusal_has_the_code_of_what_the_parameter_means(name: str, value: object, code: str) -> None:
    refused = refusal(name, value)
    assert refused.code == code
    assert refused.message.startswith(name if name != "labels" else "metadata")


def test_a_refused_moment_is_told_the_accepted_forms() -> None:
    assert "YYYY-MM-DD" in refusal("moment", 1774742400).message


@pytest.mark.case("B05")
@pytest.mark.parametrize("value", ["a\x00b", "\ud800", "a\udfffb"])
def test_text_that_no_store_can_keep_is_refused(value: str) -> None:
    assert refusal("text", value).code == "invalid_argument"
    assert refusal("content", value).code == "invalid_content"
    refusal("text", value).message.encode()


@pytest.mark.parametrize("name", HINTS)
def test_null_stands_for_an_argument_left_out(name: str) -> None:
    assert read(name, None, required=False) is ABSENT
    with pytest.raises(InvalidInput, match=f"{name} is missing"):
        read(name, None)


@pytest.mark.parametrize(
    "name", ["mode", "type", "scope", "labels", "object", "numbers", "moment", "end", "id"]
)
def test_the_empty_text_of_an_old_client_is_absence_where_it_could_be_nothing_else(name: str) -> None:
    assert read(name, "", required=False) is ABSENT


@pytest.mark.parametrize("name", ["text", "content"])
def test_the_empty_text_is_passed_on_where_it_is_text(name: str) -> None:
    assert read(name, "", required=False) == ""


@pytest.mark.parametrize("value", [-1, -1.0, "-1"])
def test_an_importance_of_minus_one_is_absence(value: object) -> None:
    assert read("weight", value, required=False) is ABSENT
    assert read("weight", 0, required=False) == 0.0


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match='note_read takes no argument "sise"') as refused:
        convert_arguments(note_read.name, note_read.parameters, {"text": "a", "sise": 3})
    assert refused.value.hint == "did you mean size?"


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("memory_supersede", "id", "old_id"),
        ("memory_supersede", "memory_id", "old_id"),
        ("memory_get", "memory_id", "id"),
        ("memory_history", "id", "memory_id"),
        ("memory_write", "text", "content"),
        ("memory_search", "limit", "k"),
        ("memory_history", "k", "limit"),
        ("memory_search", "types", "type_filter"),
    ],
)
def test_an_argument_by_the_name_that_another_tool_gives_it_is_told_its_own(
    tool: str, given: str, meant: str
) -> None:
    taker = CATALOG.find(tool)
    with pytest.raises(InvalidInput, match=f'{tool} takes no argument "{given}"') as refused:
        convert_arguments(tool, taker.parameters, {given: "x"})
    assert refused.value.hint == f"did you mean {meant}?"


def test_an_unknown_argument_like_no_other_is_told_all_names() -> None:
    with pytest.raises(InvalidInput) as refused:
        convert_arguments(note_read.name, note_read.parameters, {"zzzzzz": 3})
    assert "labels" in refused.value.hint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(sorted(HINTS)), JSON)
def test_any_value_is_read_or_refused_by_name_and_nothing_else(name: str, value: object) -> None:
    refused = None
    try:
        read(name, value)
    except InvalidInput as error:
        refused = error
    assert refused is None or (refused.message and (refused.message + refused.hint).encode())


@given(st.integers(1, 100))
def test_every_lossless_form_of_a_number_is_the_same_number(number: int) -> None:
    assert {read("size", form) for form in (number, str(number), float(number), f"{number}.0")} == {number}
