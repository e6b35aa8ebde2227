"""Setting: one row of the settings table, and how a value for it is checked and shown."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from m3_memory.errors import InvalidSettings

Raw: TypeAlias = "str | int | float | bool | list[Any] | dict[str, Any]"


_PASSWORD = re.compile(r"(://[^:@/]*:).*(?=@)|(password=)[^&]*")


class Setting(NamedTuple):
    """One row of the settings table; the last three are read from the declaration it stands in.

    `low` and `high` bound a number, or the length of a text. A setting with a `prefix` is an address that may
    hold a password: it is never shown whole; a secret is not shown at all. A verbatim text keeps spaces at
    its ends, and may have several lines.
    """

    meaning: str
    variable: str = ""
    low: float = 0
    high: float = 500
    prefix: str = ""
    in_file: bool = True
    is_secret: bool = False
    is_verbatim: bool = False
    name: str = ""
    default: str | float = ""
    choices: tuple[str, ...] = ()


def checked(row: Setting, raw: Raw, source: str) -> str | float:
    """The value for a row, if it may be one. Raises InvalidSettings, naming the source and not the value."""
    if isinstance(row.default, str):
        return _checked_text(row, raw, source)
    number = raw if isinstance(raw, int | float) and not isinstance(raw, bool) else None
    if number is None or not row.low <= number <= row.high:
        raise _wrong(row, source, f"must be a number from {row.low:g} to {row.high:g}")
    return float(number)


def _checked_text(row: Setting, raw: Raw, source: str) -> str:
    if not isinstance(raw, str):
        raise _wrong(row, source, "must be a text in quotes")
    if row.choices and raw not in row.choices:
        raise _wrong(row, source, f"must be one of {', '.join(row.choices)}")
    shown = raw.replace("\n", "") if row.is_verbatim else raw
    is_plain = shown.isprintable() and (row.is_verbatim or raw == raw.strip())
    if not row.low <= len(raw) <= row.high or not is_plain or (row.is_secret and not raw.isascii()):
        raise _wrong(row, source, f"must be {row.low:g} to {row.high:g} plain characters")
    if raw and not raw.startswith(row.prefix):
        raise _wrong(row, source, f"must begin with {row.prefix}")
    return raw


def _wrong(row: Setting, source: str, rule: str) -> InvalidSettings:
    return InvalidSettings(f"{source}: {row.name} {rule}", row.meaning)


def visible(row: Setting, value: object) -> str | float:
    """The value as people see it: without passwords, and a secret only as that there is one."""
    if isinstance(value, float):
        return value
    if row.is_secret:
        return "***" if value else ""
    return without_password(str(value)) if row.prefix else str(value)


def without_password(location: str) -> str:
    """An address whose password, if it has one, is hidden; a path as it is."""
    return _PASSWORD.sub(r"\1\2***", location)


def expanded(path: str) -> Path:
    """The path with `~` replaced by a home folder; where there is none it stays, and so is not absolute."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib's raises
