"""A text with comments means what it means without them, and a change adds or takes out one member alone."""

from __future__ import annotations

import json
from typing import Any, NoReturn, cast

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from m3_memory.surfaces.cli.setup import jsonc
from tests.sizes import size

PATH = ("mcpServers", "m3")
ENTRY = {"command": "/home/kim/.m3/bin/m3", "args": ["--agent", "cursor"], "env": {"A": 'é \\ " //'}}

_texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["//", "/* x */", ",}", '"', "\\", "mcpServers", "m3", "a//b,]"]
)
_leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts
)
_values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=12,
)
_objects = st.dictionaries(_texts, _values, max_size=4)
_servers = st.dictionaries(_texts.filter(lambda name: name != "m3"), _objects, min_size=1, max_size=3)
_settings = st.tuples(_objects, _servers, _objects).map(
    lambda parts: (
        parts[0] | {"mcpServers": parts[1]} | {k: v for k, v in parts[2].items() if k != "mcpServers"}
    )
)
_line_ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def _written(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> tuple[str, Any]:
    """A text as a person or an editor writes it, with comments and last commas, and its value."""
    value, line_end = draw(values), draw(_line_ends)
    between = st.sampled_from(
        ["", "", " ", line_end, f"{line_end}\t", "/* , */", f' // }} " {line_end}', f" /* {{ */{line_end}  "]
    )
    comma = st.sampled_from(["", ","])

    def render(inner: Any) -> str:
        match inner:
            case dict():
                held = cast("dict[str, Any]", inner)
                parts = [
                    f"{render(key)}{draw(between)}:{draw(between)}{render(item)}"
                    for key, item in held.items()
                ]
                return "{" + joined(parts) + "}"
            case list():
                return "[" + joined([render(item) for item in cast("list[Any]", inner)]) + "]"
            case _:
                return json.dumps(inner, ensure_ascii=draw(st.booleans()))

    def joined(parts: list[str]) -> str:
        spaced = [f"{draw(between)}{part}{draw(between)}" for part in parts]
        return ",".join(spaced) + (draw(comma) + draw(between) if parts else draw(between))

    return f"{draw(between)}{render(value)}{draw(between)}", value


@st.composite
def _plain(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> tuple[str, Any]:
    """A text as a program writes it: JSON and nothing else."""
    value = draw(values)
    indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (", ", " : ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    return text.replace("\n", draw(_line_ends)), value


def _no_json(name: str) -> NoReturn:
    raise ValueError(name)


@examples(max_examples=size(30, 500))
@given(_plain(_values) | _written(_values))
def test_a_text_is_read_as_json_is_read(given_text: tuple[str, Any]) -> None:
    text, value = given_text
    assert jsonc.read(text) == value


@given(st.text(max_size=40) | st.text(alphabet='{}[]",:/* \n1ab', max_size=30))
def test_what_json_reads_is_read_the_same(text: str) -> None:
    try:
        value = json.loads(text, parse_constant=_no_json)
    except ValueError:
        return
    assert jsonc.read(text) == value


@examples(max_examples=size(30, 500))
@given(_plain(_settings) | _written(_settings))
def test_one_member_is_put_and_nothing_else_changes(given_text: tuple[str, Any]) -> None:
    text, value = given_text
    made = jsonc.put(text, PATH, ENTRY)
    assert jsonc.read(made) == value | {"mcpServers": value["mcpServers"] | {"m3": ENTRY}}
    left = iter(made)
    assert all(character in left for character in text)
    assert jsonc.put(made, PATH, ENTRY) == made or "\n" not in made


@examples(max_examples=size(30, 500))
@given(_plain(_settings) | _written(_settings))
def test_a_member_put_and_dropped_again_leaves_every_byte_as_it_was(given_text: tuple[str, Any]) -> None:
    text, _ = given_text
    assert jsonc.drop(jsonc.put(text, PATH, ENTRY), PATH) == text
    assert jsonc.drop(text, PATH) == text


@examples(max_examples=size(30, 500))
@given(_plain(_settings) | _written(_settings), st.data())
def test_any_member_can_be_dropped_or_replaced_and_the_others_stay(
    given_text: tuple[str, Any], data: st.DataObject
) -> None:
    text, value = given_text
    name = data.draw(st.sampled_from(list(value["mcpServers"])))
    kept = {key: item for key, item in value["mcpServers"].items() if key != name}
    assert jsonc.read(jsonc.drop(text, ("mcpServers", name))) == value | {"mcpServers": kept}
    replaced = jsonc.read(jsonc.put(text, ("mcpServers", name), 7))
    assert replaced == value | {"mcpServers": value["mcpServers"] | {name: 7}}


@pytest.mark.parametrize(
    "text",
    [
        *("", "nonsense", "{", '{"a": 1', '{"a" 1}', '{"a": NaN}', "{} {}", "/* {}", '{"a": "\n"}', "[1, 2"),
        "[" * 100_000,
        '{"a": tru // e\n}',
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        jsonc.read(text)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '"mcpServers"',
        '{"mcpServers": []}',
        '{"mcpServers": {}, "mcpServers": {}}',
        '{"mcpServers": null}',
    ],
)
def test_a_text_that_has_no_one_place_for_a_member_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        jsonc.put(text, PATH, ENTRY)
