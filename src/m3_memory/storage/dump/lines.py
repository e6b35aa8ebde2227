"""The lines of a dump: a heading, one row a line, and an ending that vouches for every line before it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, cast

from m3_memory.errors import DamagedExport, StoreTooNew

FORMAT = "m3-store"
VERSION = 1

Lines: TypeAlias = Callable[[], Iterable[bytes]]
"""A dump that can be read as often as need be: its lines, each with its line feed."""

RECOVER = "nothing was written; use another copy of the export"


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


_CANONICAL = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False, default=_base64
)


def encoded(value: object) -> bytes:
    """One canonical line; bytes as base64."""
    return f"{_CANONICAL.encode(value)}\n".encode()


def decoded(line: bytes) -> dict[str, Any]:
    """The object on a line. Raises ValueError."""
    try:
        found: object = json.loads(line)
    except RecursionError:
        found = None
    if isinstance(found, dict):
        return cast("dict[str, Any]", found)
    raise ValueError("it is no JSON object")


@dataclass(frozen=True, slots=True)
class Heading:
    """Which store a dump is of. `seal` holds its secret key, for who knows how to open it; or is empty."""

    schema: int
    origin: str
    created_at: str
    seal: dict[str, Any]

    def line(self) -> bytes:
        return encoded({"format": FORMAT, "version": VERSION, **asdict(self)})


class Tally:
    """Counts and digests lines as they pass, under the store's key: without it none is changed unseen."""

    def __init__(self, secret_key: bytes) -> None:
        self._digest = hmac.new(secret_key, b"m3-memory dump\n", hashlib.sha256)
        self._lines = 0

    def add(self, line: bytes) -> None:
        self._digest.update(line)
        self._lines += 1

    def ending(self) -> bytes:
        """The last line; the first one is no row."""
        return encoded({"rows": self._lines - 1, "digest": self._digest.hexdigest()})


def heading_of(lines: Lines) -> Heading:
    """The first line of a dump. Raises DamagedExport for what is none, StoreTooNew for a newer format."""
    first = next(iter(lines()), b"")
    with suppress(ValueError):
        found = decoded(first)
        if found.get("format") == FORMAT and found.get("version") != VERSION:
            raise StoreTooNew("the export is in a newer form", "upgrade: pip install --upgrade m3-memory")
        match found:
            case {"schema": int(schema), "origin": str(origin), "created_at": str(made), "seal": dict()}:
                heading = Heading(schema, origin, made, found["seal"])
                if heading.line() == first:
                    return heading
            case _:
                pass
    raise DamagedExport("this is no export of a whole store", "m3 import takes what one caller exported")


def rows_of(lines: Lines, secret_key: bytes) -> Iterator[bytes]:
    """The lines between the first and the last, which must be what an export under this key ends with.

    Raises DamagedExport at the end where it is not: nothing is to be kept of what came before.
    """
    tally, held = Tally(secret_key), b""
    for place, line in enumerate(lines()):
        if place:
            tally.add(held)
        if place > 1:
            yield held
        held = line
    if held != tally.ending():
        raise DamagedExport("the export is not whole, or was changed since it was written", RECOVER)
