"""A tool: one typed function, and everything about it that can be read from the function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import StrEnum
from types import UnionType
from typing import Annotated, Required, TypedDict, Union, Unpack, get_args, get_origin, get_type_hints

from m3_memory.catalog.schema import Compat, Kind, Schema, Shape, schema, shape_of
from m3_memory.kernel.limits import JsonValue

MAX_PARAMETERS = 12
"""Advertised parameters of one tool; those that exist for compatibility are not counted."""

_NAME = re.compile(r"[a-z][a-z0-9_]{2,47}")


class Effect(StrEnum):
    """The least a call of the tool may need; the service asks for more by target."""

    READ = "read"
    WRITE = "write"
    DESTROY = "destroy"
    OPERATE = "operate"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument. One for compatibility is accepted and documented, but in no schema."""

    name: str
    shape: Shape
    required: bool = True
    default: object = None
    compat: bool = False

    @property
    def description(self) -> str:
        return self.shape.rules.description or ""


class Declared(TypedDict, total=False):
    """What `@tool` is told, because no signature says it.

    domain  the domain that lists it. title  for people. example  arguments that fit the schema.
    essential  in the first list of every connection.
    idempotent  the same call twice leaves what one leaves; reading tools always are.
    timeless  why a reading tool takes no `as_of` and `known_at`.
    dispatchable  whether m3_call may run it; true unless said.
    brief  members of the result whose inside the schema leaves out, to save room; the reference has it.
    """

    domain: Required[str]
    title: Required[str]
    example: Required[Mapping[str, JsonValue]]
    essential: bool
    idempotent: bool
    timeless: str
    dispatchable: bool
    brief: Sequence[str]


@dataclass(frozen=True, slots=True)
class Tool:
    """A declared tool: plain data, and the function it was made from."""

    name: str
    effect: Effect
    description: str
    parameters: tuple[Parameter, ...]
    result: Shape
    function: Callable[..., object]
    domain: str
    title: str
    example: Mapping[str, JsonValue]
    essential: bool = False
    idempotent: bool = False
    timeless: str = ""
    dispatchable: bool = True
    brief: Sequence[str] = ()

    @property
    def advertised(self) -> tuple[Parameter, ...]:
        return tuple(parameter for parameter in self.parameters if not parameter.compat)


def tool(effect: Effect, **declared: Unpack[Declared]) -> Callable[[Callable[..., object]], Tool]:
    """Declares a function as a tool: its name, parameters and result as typed, described by its docstring.

    The first parameter is the Context, injected and never in the schema. Raises TypeError for a declaration
    that breaks a rule of the catalog, so that no such tool can be imported.

    A parameter that is a dataclass stands for as many arguments as it has fields, each typed and described
    like a parameter; the function gets them as one value.
    """

    def declare(function: Callable[..., object]) -> Tool:
        types = get_type_hints(function, include_extras=True)
        signature = list(inspect.signature(function).parameters.values())[1:]
        groups = {p.name: group for p in signature if (group := _dataclass(types[p.name]))}
        made = Tool(
            name=function.__name__,
            effect=effect,
            description=inspect.cleandoc(function.__doc__ or ""),
            parameters=tuple(made for p in signature for made in _parameters(p, types[p.name])),
            result=shape_of(types["return"]),
            function=_gathering(function, groups) if groups else function,
            **declared,
        )
        if broken := list(_broken_rules(made)):
            raise TypeError(f"{made.name}: {'; '.join(broken)}")
        return made

    return declare


def input_schema(of: Tool) -> Schema:
    """The schema of the advertised arguments."""
    properties: Schema = {parameter.name: _property(parameter) for parameter in of.advertised}
    required: list[JsonValue] = [parameter.name for parameter in of.advertised if parameter.required]
    found: Schema = {"type": "object"}
    if properties:
        found["properties"] = properties
    if required:
        found["required"] = required
    return found | {"additionalProperties": False}


def output_schema(made: Tool) -> Schema:
    """The schema of the structured result."""
    members = {name: _closed(of) if name in made.brief else of for name, of in made.result.fields.items()}
    return schema(replace(made.result, fields=members))


def hints(of: Tool) -> Schema:
    """The MCP hints, as the effect says; of a tool that reads, the two that MCP gives a meaning."""
    if of.effect is Effect.READ:
        return {"readOnlyHint": True, "openWorldHint": False}
    return {
        "readOnlyHint": False,
        "destructiveHint": of.effect is not Effect.WRITE,
        "idempotentHint": of.idempotent,
        "openWorldHint": False,
    }


def list_entry(of: Tool) -> Schema:
    """The tool as `tools/list` shows it."""
    return {
        "name": of.name,
        "title": of.title,
        "description": of.description,
        "inputSchema": input_schema(of),
        "outputSchema": output_schema(of),
        "annotations": hints(of),
    }


def _closed(shape: Shape) -> Shape:
    return replace(shape, fields={}, item=_closed(shape.item) if shape.item else None)


def _property(parameter: Parameter) -> Schema:
    found = schema(parameter.shape)
    match parameter.default:
        case None | "" | False:
            return found
        case str() as text:
            return found | {"default": str(text)}
        case bool() | int() | float() as number:
            return found | {"default": number}
        case _:
            return found


def _dataclass(hint: object) -> type | None:
    return hint if isinstance(hint, type) and is_dataclass(hint) else None


def _parameters(given: inspect.Parameter, hint: object) -> Iterator[Parameter]:
    if group := _dataclass(hint):
        hints = get_type_hints(group, include_extras=True)
        for member in fields(group):
            yield _parameter(member.name, hints[member.name], member.default)
    else:
        yield _parameter(given.name, hint, given.default)


def _parameter(name: str, hint: object, default: object) -> Parameter:
    required = default in (inspect.Parameter.empty, MISSING)
    return Parameter(
        name=name,
        shape=shape_of(hint),
        required=required,
        default=None if required else default,
        compat=any(isinstance(mark, Compat) for mark in _marks(hint)),
    )


def _gathering(function: Callable[..., object], groups: Mapping[str, type]) -> Callable[..., object]:
    """The function, called with each field of the dataclasses among its parameters by itself."""

    def gathered(ctx: object, **given: object) -> object:
        values = {name: of(**{f.name: given.pop(f.name) for f in fields(of)}) for name, of in groups.items()}
        return function(ctx, **given, **values)

    return gathered


def _marks(hint: object) -> Iterator[object]:
    """What a hint is annotated with, inside an optional one too."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated or origin in (Union, UnionType):
        for part in parts[:1] if origin is Annotated else parts:
            yield from _marks(part)
        yield from parts[1:] if origin is Annotated else ()


def _broken_rules(made: Tool) -> Iterator[str]:
    names = {parameter.name for parameter in made.parameters}
    timed = {"as_of", "known_at"} <= names or bool(made.timeless)
    rules = {
        "a name is 3 to 48 of a-z, 0-9 and _": _NAME.fullmatch(made.name),
        "the docstring is the description and may not be empty": made.description,
        "a reading tool takes as_of and known_at, or says why it is timeless": made.effect is not Effect.READ
        or timed,
        f"at most {MAX_PARAMETERS} parameters are advertised": len(made.advertised) <= MAX_PARAMETERS,
        "every parameter has a description": all(parameter.description for parameter in made.parameters),
        "a compatibility parameter has a default": not any(p.required and p.compat for p in made.parameters),
        "no argument is a dataclass": not any(map(_has_fields, made.parameters)),
        "what is brief is a member of the result": {*made.brief} <= made.result.fields.keys(),
        "the result is an object": made.result.kind is Kind.OBJECT and not made.result.optional,
    }
    return (rule for rule, kept in rules.items() if not kept)


def _has_fields(parameter: Parameter) -> bool:
    shape = parameter.shape
    return bool(shape.fields or (shape.item and shape.item.fields))
