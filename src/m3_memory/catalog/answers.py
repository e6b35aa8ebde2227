"""Answers as JSON, and how much of a list one of them carries: whole items, as many as fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TypeVar, cast

LIST_BYTES = 400_000
"""What the items of one answer may take as JSON.

MCP carries an answer twice, as text and as structure: so it stays under a megabyte, the least that any known
host takes. Whoever has more items says how many are left and how to get them.
"""

Item = TypeVar("Item")


_JSON_ALREADY = frozenset({str, int, float, bool, type(None)})


def plain(value: object) -> object:
    """JSON values of a result: members of a dataclass that are None are left out, all else is kept."""
    if type(value) in _JSON_ALREADY:  # most of what a long answer holds
        return value
    match value:
        case Enum():
            return value.value
        case dict():
            return {str(key): plain(item) for key, item in cast("dict[object, object]", value).items()}
        case list() | tuple():
            return [plain(item) for item in cast("list[object]", value)]
        case _ if is_dataclass(value):
            members = ((member.name, cast(object, getattr(value, member.name))) for member in fields(value))
            return {name: plain(item) for name, item in members if item is not None}
        case _:
            return value


def compact(value: object) -> str:
    """JSON text in its shortest form. Raises ValueError for numbers that are not finite."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def size_bytes(value: object) -> int:
    """How many bytes of JSON a result or a part of one takes, or a little less."""
    return len(compact(plain(value)).encode("utf-8", "replace"))


def fitting(items: Sequence[Item], budget_bytes: int = LIST_BYTES) -> Sequence[Item]:
    """The first items, as many as fit the budget together; one at the least, if there is one."""
    spent = 0
    for count, item in enumerate(items):
        spent += size_bytes(item)
        if count and spent > budget_bytes:
            return items[:count]
    return items
