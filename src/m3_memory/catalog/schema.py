"""From a Python type to its shape, and from a shape to JSON Schema.

The types a tool may use are a closed set: text, whole numbers, numbers, booleans, JSON objects, lists of
these, closed choices (`Literal` or `StrEnum`), each plain or optional; results also use dataclasses of these.
Schemas are written inline, without `$ref`: every client can read them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from m3_memory.errors import InvalidInput
from m3_memory.kernel.limits import JsonValue

Schema: TypeAlias = dict[str, JsonValue]


class Kind(StrEnum):
    """What a value is, by its name in JSON Schema."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    OBJECT = "object"
    LIST = "array"


@dataclass(frozen=True, slots=True)
class Param:
    """What `Annotated` says about a value beyond its type; of several, the later ones win field by field.

    description  for the model, one short phrase.
    minimum, maximum  inclusive bounds of a number. max_items  of a list.
    choices  the legal texts; hidden_choices keeps a long list out of the schema, not out of errors and docs.
    aliases  pairs of another name and the choice it stands for.
    absent  values, as text, that old clients send to mean that they sent none.
    visible_text  refuses text of nothing but white space.
    expected  what to say was expected, instead of what follows from the above.
    error  the class raised when the value does not fit; InvalidArgument unless said.
    parse  reads a text into what the tool is given; of an object, whatever came; raises InvalidInput.
    """

    description: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    max_items: int | None = None
    choices: tuple[str, ...] | None = None
    hidden_choices: bool | None = None
    aliases: tuple[tuple[str, str], ...] | None = None
    absent: tuple[str, ...] | None = None
    visible_text: bool | None = None
    expected: str | None = None
    error: type[InvalidInput] | None = None
    parse: Callable[[Any], object] | None = None


@dataclass(frozen=True, slots=True)
class Compat(Param):
    """What `Annotated` says about a parameter that is accepted and documented, but not advertised."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One value: its kind, its rules, and what it is made of.

    `fields` are an object's members, left out of the answer when None; it is empty for one with any members.
    `item` is the shape of a list's items; `member` is the enumeration a chosen text becomes.
    """

    kind: Kind
    rules: Param = Param()
    optional: bool = False
    item: Shape | None = None
    fields: Mapping[str, Shape] = field(default_factory=dict[str, "Shape"])
    member: type[StrEnum] | None = None


_PLAIN: dict[object, Kind] = {
    str: Kind.TEXT,
    int: Kind.INTEGER,
    float: Kind.NUMBER,
    bool: Kind.BOOLEAN,
    dict: Kind.OBJECT,
}


def shape_of(hint: object) -> Shape:
    """The shape of a type, given as `typing.get_type_hints(…, include_extras=True)` gives it.

    Raises TypeError for a type outside the closed set.
    """
    origin = get_origin(hint)
    parts = get_args(hint)
    if origin is Annotated:
        base = shape_of(parts[0])
        return replace(base, rules=_merged([base.rules, *parts[1:]]))
    if origin in (Union, types.UnionType):
        return _optional(hint, parts)
    if origin is Literal:
        return Shape(Kind.TEXT, Param(choices=parts))
    if origin in (list, tuple):
        return Shape(Kind.LIST, item=shape_of(parts[0]))
    return _plain(dict if origin is dict else hint)


def schema(shape: Shape) -> Schema:
    """JSON Schema (2020-12) of a shape; says nothing of nulls, since none is ever sent."""
    found: Schema = {"type": str(shape.kind)} | _rules_schema(shape.rules)
    if shape.item is not None:
        found["items"] = schema(shape.item)
    if shape.fields:
        found["properties"] = {name: schema(of) for name, of in shape.fields.items()}
        required: list[JsonValue] = [name for name, of in shape.fields.items() if not of.optional]
        if required:
            found["required"] = required
    return found


def _rules_schema(rules: Param) -> Schema:
    said: Schema = {
        "description": rules.description,
        "enum": None if rules.hidden_choices or rules.choices is None else list(rules.choices),
        "minimum": rules.minimum,
        "maximum": rules.maximum,
        "maxItems": rules.max_items,
    }
    return {word: value for word, value in said.items() if value is not None}


def _optional(hint: object, parts: Sequence[object]) -> Shape:
    kinds = [part for part in parts if part is not type(None)]
    if len(kinds) != 1 or len(kinds) == len(parts):
        raise TypeError(f"{hint} is a union of several kinds; a value has one kind, or none")
    return replace(shape_of(kinds[0]), optional=True)


def _plain(hint: object) -> Shape:
    if hint in _PLAIN:
        return Shape(_PLAIN[hint])
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return Shape(Kind.TEXT, Param(choices=tuple(str(member) for member in hint)), member=hint)
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return Shape(Kind.OBJECT, fields={of.name: shape_of(hints[of.name]) for of in fields(hint)})
    raise TypeError(f"{hint} is no type a tool can take or return")


def _merged(marks: Sequence[object]) -> Param:
    rules = Param()
    for mark in marks:
        if isinstance(mark, Param):
            rules = replace(rules, **_said(mark))
    return rules


def _said(rules: Param) -> dict[str, Any]:
    said = {of.name: getattr(rules, of.name) for of in fields(rules)}
    return {name: value for name, value in said.items() if value is not None}
