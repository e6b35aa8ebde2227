"""From the arguments of a call to the values a tool's function takes, losing nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Never, cast

from m3_memory.catalog.schema import Kind, Param, Shape
from m3_memory.catalog.tool import Parameter
from m3_memory.errors import InvalidArgument, InvalidInput
from m3_memory.kernel.limits import UNSTORABLE
from m3_memory.kernel.suggestion import did_you_mean, likely

_INTEGER = re.compile(r"[+-]?\d{1,30}(?:\.0{1,30})?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}\.?\d{0,30}|\.\d{1,30})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_MAX_SHOWN_CHARACTERS = 60
_MAX_SHOWN_NUMBER = 10**30
_MAX_INTEGER = 2**53 - 1
"""Larger ones not every reader of JSON keeps exactly; a store still adds and multiplies these."""


class _UnfitError(Exception):
    """The value is none that was expected; says what came, if that is not plain from the value."""


def convert_arguments(
    taker: str, parameters: Sequence[Parameter], given: Mapping[str, object]
) -> dict[str, object]:
    """A value for every parameter of what takes them, named `taker`. Null counts as left out.

    Raises InvalidArgument, or the parameter's own InvalidInput, naming the first argument that is unknown,
    missing, or not what was expected, with what was expected and what came.
    """
    legal = [parameter.name for parameter in parameters]
    for name in given:
        if name not in legal:
            raise InvalidArgument(
                f"{taker} takes no argument {shown(name)}",
                did_you_mean(likely(name, legal))
                or (f"it takes {', '.join(legal)}" if legal else "it takes no arguments"),
            )
    return {
        parameter.name: convert(parameter, given.get(parameter.name))
        if parameter.required or parameter.name in given
        else parameter.default
        for parameter in parameters
    }


def convert(parameter: Parameter, value: object) -> object:
    """The value for one parameter, or its default if `value` says that none was sent."""
    if not _is_absent(parameter, value):
        return _converted(parameter.name, parameter.shape, value)
    if parameter.required:
        raise InvalidArgument(f"{parameter.name} is missing", f"give {expected(parameter.shape)}")
    return parameter.default


def expected(shape: Shape) -> str:
    """What a caller may give, in words."""
    rules = shape.rules
    if rules.expected:
        return rules.expected
    if rules.choices:
        return f"one of {', '.join(rules.choices)}"
    most = f"at most {rules.max_items} " if rules.max_items else ""
    return {
        Kind.TEXT: "text",
        Kind.INTEGER: f"a whole number{_bounds(rules)}",
        Kind.NUMBER: f"a number{_bounds(rules)}",
        Kind.BOOLEAN: "true or false",
        Kind.OBJECT: "a JSON object",
        Kind.LIST: f"a list of {most}items",
    }[shape.kind]


def shown(value: object) -> str:
    """A value as an error message names it: JSON, plain ASCII, cut when long."""
    match value:
        case str():
            cut = value if len(value) <= _MAX_SHOWN_CHARACTERS else f"{value[:_MAX_SHOWN_CHARACTERS]}…"
            return json.dumps(cut)
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case int() if abs(value) > _MAX_SHOWN_NUMBER:
            return "a very large number"
        case None | bool() | int() | float():
            return json.dumps(value)
        case _:
            return f"a {type(value).__name__}"


def _is_absent(parameter: Parameter, value: object) -> bool:
    shape = parameter.shape
    if value is None:
        return True
    if parameter.required or isinstance(value, bool):
        return False
    rules = shape.rules
    blank_means_absent = rules.choices or rules.parse or shape.kind in (Kind.OBJECT, Kind.LIST)
    return bool(blank_means_absent and value == "") or str(value) in (rules.absent or ())


def _converted(name: str, shape: Shape, value: object) -> object:
    rules = shape.rules
    error = rules.error or InvalidArgument
    if rules.parse is not None and shape.kind is Kind.OBJECT:
        return rules.parse(value)
    try:
        return _KINDS[shape.kind](name, shape, value)
    except _UnfitError as unfit:
        came = str(unfit) or f"got {shown(value)}"
        near = did_you_mean(likely(value, rules.choices)) if rules.choices and isinstance(value, str) else ""
        raise error(
            f"{name} must be {expected(shape)}; {came}", near or "nothing was done; correct it and call again"
        ) from None


def _text(name: str, shape: Shape, value: object) -> object:
    rules = shape.rules
    if not isinstance(value, str):
        raise _UnfitError
    if UNSTORABLE.search(value):
        raise (rules.error or InvalidArgument)(
            f"{name} holds a NUL or half of a surrogate pair, which no store can keep",
            "remove it and send again",
        )
    if rules.visible_text and not value.strip():
        raise _UnfitError("it is blank")
    if rules.choices is None:
        return _read(name, rules, value)
    chosen = dict(rules.aliases or ()).get(value, value)
    if chosen not in rules.choices:
        raise _UnfitError
    return shape.member(chosen) if shape.member else chosen


def _read(name: str, rules: Param, value: str) -> object:
    if rules.parse is None:
        return value
    try:
        return rules.parse(value)
    except InvalidInput as error:
        raise type(error)(f"{name}: {error.message}", error.hint) from None


def _integer(_name: str, shape: Shape, value: object) -> object:
    match value:
        case bool():
            raise _UnfitError
        case int():
            number = value
        case float() if value.is_integer():
            number = int(value)
        case str() if _INTEGER.fullmatch(value):
            number = int(value.partition(".")[0])
        case _:
            raise _UnfitError
    if abs(number) > _MAX_INTEGER:
        raise _UnfitError(f"{shown(value)} is beyond {_MAX_INTEGER}")
    return _within(shape.rules, number)


def _number(_name: str, shape: Shape, value: object) -> object:
    if isinstance(value, bool):
        raise _UnfitError
    if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value)):
        try:
            number = float(value)
        except OverflowError:
            raise _UnfitError from None
        if math.isfinite(number):
            return _within(shape.rules, number)
    raise _UnfitError


def _boolean(_name: str, _shape: Shape, value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _UnfitError


def _object(_name: str, _shape: Shape, value: object) -> object:
    """Members are passed on as they came: who takes them checks them."""
    found = _parsed(value)
    if not isinstance(found, dict):
        raise _UnfitError
    return cast("dict[str, object]", found)


def _list(name: str, shape: Shape, value: object) -> object:
    found = _parsed(value)
    if not isinstance(found, list) or shape.item is None:
        raise _UnfitError
    items = cast("list[object]", found)
    most = shape.rules.max_items
    if most is not None and len(items) > most:
        raise _UnfitError(f"got {len(items)}")
    return [_converted(f"{name}[{index}]", shape.item, item) for index, item in enumerate(items)]


_KINDS: dict[Kind, Callable[[str, Shape, object], object]] = {
    Kind.TEXT: _text,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.BOOLEAN: _boolean,
    Kind.OBJECT: _object,
    Kind.LIST: _list,
}


def _within(rules: Param, number: float) -> object:
    """The number, if it is in bounds; one that came as text is named as the number it says."""
    if rules.minimum is not None and number < rules.minimum:
        raise _UnfitError(f"got {shown(number)}")
    if rules.maximum is not None and number > rules.maximum:
        raise _UnfitError(f"got {shown(number)}")
    return number


def _bounds(rules: Param) -> str:
    match rules.minimum, rules.maximum:
        case None, None:
            return ""
        case None, most:
            return f" up to {most}"
        case least, None:
            return f" from {least}"
        case least, most:
            return f" from {least} to {most}"


def _parsed(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _UnfitError from None


def _no_constant(_name: str) -> Never:
    raise _UnfitError
