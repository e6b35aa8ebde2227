from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest

from m3_memory.catalog.params import Compat, MemoryScope, Param, Timestamp, TypeFilter
from m3_memory.catalog.registry import Catalog, catalog_of
from m3_memory.catalog.schema import schema, shape_of
from m3_memory.catalog.tool import Effect, Tool, hints, input_schema, list_entry, output_schema, tool
from m3_memory.context import Context
from m3_memory.kernel.caller import Scope
from tests.unit.catalog_tools import CATALOG, Desk, Note, note_break, note_purge, note_read, note_write

Text = Annotated[str, Param("some text")]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Part:
    name: str
    weight: float | None = None


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    hidden: Part
    colour: Colour


@dataclass(frozen=True)
class Narrowing:
    word: Annotated[str, Param("a word")]
    size: Annotated[int, Param("how many")] = 3
    old: Annotated[str, Compat("old")] = ""


def _finding(ctx: Context, loud: Annotated[bool, Param("loudly")] = False, *, narrowed: Narrowing) -> Note:
    """Find."""
    return Note(f"{narrowed.word} {loud}", narrowed.size)


def _declare(function: Callable[..., object], effect: Effect = Effect.WRITE, **more: Any) -> Tool:
    return tool(effect, domain="memory", title="A title", example={}, **more)(function)


def test_the_list_entry_of_a_tool_is_read_from_its_function() -> None:
    assert list_entry(note_read) == {
        "name": "note_read",
        "title": "Read a note",
        "description": "Read a note.\n\nAnd say what it holds.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "what it says"},
                "size": {
                    "type": "integer",
                    "description": "how many at most",
                    "minimum": 1,
                    "maximum": 100,
                    "default": 8,
                },
                "labels": {"type": "object", "description": "labels of yours; never identity or trust"},
                "as_of": {"type": "string", "description": "moment, ISO 8601"},
                "known_at": {"type": "string", "description": "moment, ISO 8601"},
            },
            "required": ["text"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "size": {"type": "integer"},
                "state": {"type": "string", "enum": ["new", "old"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "labels": {"type": "object"},
                "successor": {"type": "string"},
            },
            "required": ["text", "size", "state", "tags", "labels"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def test_a_tool_without_arguments_advertises_an_empty_object() -> None:
    assert input_schema(note_break) == {"type": "object", "additionalProperties": False}


def test_results_inside_results_are_described_in_place_unless_kept_brief() -> None:
    def whole(ctx: Context) -> Whole:
        """Give the whole."""
        raise NotImplementedError

    part = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "weight": {"type": "number"}},
        "required": ["name"],
    }
    assert output_schema(_declare(whole, brief=["hidden"])) == {
        "type": "object",
        "properties": {
            "parts": {"type": "array", "items": part},
            "hidden": {"type": "object"},
            "colour": {"type": "string", "enum": ["red", "blue"]},
        },
        "required": ["parts", "hidden", "colour"],
    }


def test_a_compatibility_parameter_is_accepted_and_not_advertised() -> None:
    assert "requesting_agent" not in str(input_schema(note_read))
    assert Desk().result("note_read", text="a", requesting_agent="me")["successor"] == "me"


def test_an_optional_compatibility_parameter_is_not_advertised_either() -> None:
    def old(
        ctx: Context,
        one: Annotated[str, Compat("old")] | None = None,
        two: Annotated[Text | None, Compat("old")] = None,
        three: Text | None = None,
    ) -> Note:
        """Take old ones."""
        raise NotImplementedError

    assert [parameter.name for parameter in _declare(old).advertised] == ["three"]


def test_a_parameter_described_again_keeps_the_rules_of_its_type() -> None:
    assert schema(shape_of(Annotated[MemoryScope | None, Param("as the old one")])) == {
        "type": "string",
        "description": "as the old one",
        "enum": ["agent", "session", "user"],
    }


def test_a_long_list_of_choices_stays_out_of_the_schema() -> None:
    assert schema(shape_of(TypeFilter)) == {"type": "string", "description": "only this type"}


@pytest.mark.parametrize(
    ("declared", "destructive"), [(note_write, False), (note_purge, True)], ids=["write", "operate"]
)
def test_the_effect_decides_what_a_client_is_told(declared: Tool, destructive: bool) -> None:
    assert hints(declared)["readOnlyHint"] is False
    assert hints(declared)["destructiveHint"] is destructive
    assert hints(declared)["idempotentHint"] is False


def test_a_writing_tool_can_be_declared_idempotent() -> None:
    def keep(ctx: Context) -> Note:
        """Keep it."""
        raise NotImplementedError

    assert hints(_declare(keep, idempotent=True))["idempotentHint"] is True


def test_a_default_that_is_an_enumeration_is_advertised_as_its_text() -> None:
    def scoped(ctx: Context, scope: MemoryScope = Scope.AGENT) -> Note:
        """Take a scope."""
        raise NotImplementedError

    properties = input_schema(_declare(scoped))["properties"]
    assert isinstance(properties, dict)
    assert isinstance(properties["scope"], dict)
    assert properties["scope"]["default"] == "agent"


def _one_time(ctx: Context, as_of: Timestamp = "") -> Note:
    """Read as of."""
    raise NotImplementedError


def _undocumented(ctx: Context) -> Note:
    raise NotImplementedError


def _undescribed(ctx: Context, text: str) -> Note:
    """Take text."""
    raise NotImplementedError


def _crowded(
    ctx: Context,
    a: Text,
    b: Text,
    c: Text,
    d: Text,
    e: Text,
    f: Text,
    g: Text,
    h: Text,
    i: Text,
    j: Text,
    k: Text,
    m: Text,
    n: Text,
) -> Note:
    """Take thirteen."""
    raise NotImplementedError


def _needs_compat(ctx: Context, old: Annotated[str, Compat("old")]) -> Note:
    """Need what is not shown."""
    raise NotImplementedError


def _takes_dataclass(ctx: Context, part: Annotated[Part, Param("a part")]) -> Note:
    """Take a part."""
    raise NotImplementedError


def _returns_text(ctx: Context) -> str:
    """Return text."""
    raise NotImplementedError


def _takes_bytes(ctx: Context, raw: Annotated[bytes, Param("bytes")]) -> Note:
    """Take bytes."""
    raise NotImplementedError


def _takes_either(ctx: Context, either: Annotated[int | str, Param("either")]) -> Note:
    """Take one of two kinds."""
    raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_undocumented, "docstring"),
        (_undescribed, "description"),
        (_crowded, "12 parameters"),
        (_needs_compat, "default"),
        (_takes_dataclass, "dataclass"),
        (_returns_text, "object"),
        (_takes_bytes, "bytes"),
        (_takes_either, "union"),
    ],
)
def test_a_tool_that_breaks_a_rule_cannot_be_declared(function: Callable[..., object], said: str) -> None:
    function.__name__ = "named_well"
    with pytest.raises(TypeError, match=said):
        _declare(function)


@pytest.mark.parametrize("name", ["Search", "a", "with-dash", "x" * 49])
def test_a_tool_has_a_name_every_client_takes(name: str) -> None:
    def function(ctx: Context) -> Note:
        """Do well."""
        raise NotImplementedError

    function.__name__ = name
    with pytest.raises(TypeError, match="name"):
        _declare(function)


def test_only_a_member_of_the_result_can_be_kept_brief() -> None:
    def whole(ctx: Context) -> Whole:
        """Give the whole."""
        raise NotImplementedError

    with pytest.raises(TypeError, match="brief"):
        _declare(whole, brief=["elsewhere"])


def test_a_reading_tool_takes_both_times_or_says_why_not() -> None:
    _one_time.__name__ = "one_time"
    with pytest.raises(TypeError, match="timeless"):
        _declare(_one_time, Effect.READ)
    assert _declare(_one_time, Effect.READ, timeless="it is its own clock").name == "one_time"
    assert _declare(_one_time, Effect.WRITE).name == "one_time"


def test_twelve_advertised_parameters_are_allowed_and_compatibility_ones_are_not_counted() -> None:
    def full(
        ctx: Context,
        a: Text,
        b: Text,
        c: Text,
        d: Text,
        e: Text,
        f: Text,
        g: Text,
        h: Text,
        i: Text,
        j: Text,
        k: Text,
        m: Text,
        n: Annotated[str, Compat("old")] = "",
    ) -> Note:
        """Take many."""
        raise NotImplementedError

    assert len(_declare(full).parameters) == 13


def test_a_catalog_refuses_two_tools_of_one_name() -> None:
    with pytest.raises(ValueError, match="note_read"):
        catalog_of([note_read], [note_read])


def test_a_catalog_refuses_a_tool_of_no_known_domain() -> None:
    def lost(ctx: Context) -> Note:
        """Be lost."""
        raise NotImplementedError

    with pytest.raises(ValueError, match="lost"):
        catalog_of([tool(Effect.WRITE, domain="nowhere", title="Lost", example={})(lost)])


def test_a_retired_name_runs_the_tool_that_took_over() -> None:
    desk = Desk(Catalog(CATALOG.tools, {"old_read": "note_read"}))
    assert desk.result("old_read", text="a") == desk.result("note_read", text="a")


def test_a_retired_name_must_lead_to_a_tool() -> None:
    with pytest.raises(ValueError, match="gone"):
        Catalog(CATALOG.tools, {"old_read": "gone"})


def test_a_parameter_that_is_a_dataclass_stands_for_its_fields() -> None:
    _finding.__name__ = "note_find"
    made = _declare(_finding)
    assert [(each.name, each.required, each.compat) for each in made.parameters] == [
        ("loud", False, False),
        ("word", True, False),
        ("size", False, False),
        ("old", False, True),
    ]
    assert made.function(None, loud=True, word="tea", size=3, old="") == Note("tea True", 3)
