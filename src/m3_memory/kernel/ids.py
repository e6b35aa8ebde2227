"""Ids of memories: made here as UUID version 7 (RFC 9562), accepted in any version from elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import lru_cache
from threading import Lock

from m3_memory.errors import InvalidId
from m3_memory.kernel.clock import milliseconds

MIN_PREFIX_CHARACTERS = 8

_RANDOM_BITS = 74
_DASHED = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEX = re.compile(r"[0-9a-f]{8,32}")
_GROUPS = (8, 12, 16, 20, 32)
_milliseconds = lru_cache(8)(milliseconds)


class IdSeries:
    """Ids that grow: each is greater than every one this series made before, from any thread.

    While the clock stands still or jumps back, ids go on from the last one.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = (-1, 0)  # milliseconds, random part

    def next(self, now: str, random_bytes: Callable[[int], bytes] = os.urandom) -> str:
        """A lower-case UUID version 7 of the moment `now`, the clock's text."""
        wanted = int.from_bytes(random_bytes(10)) >> (80 - _RANDOM_BITS)
        at_milliseconds, drawn = self._advanced(max(0, _milliseconds(now)), wanted)
        high, low = drawn >> 62, drawn & ((1 << 62) - 1)
        time, rest = f"{at_milliseconds:012x}", f"{1 << 63 | low:016x}"
        return f"{time[:8]}-{time[8:]}-{0x7000 | high:04x}-{rest[:4]}-{rest[4:]}"

    def _advanced(self, at_milliseconds: int, drawn: int) -> tuple[int, int]:
        with self._lock:
            last_at, last_drawn = self._last
            if at_milliseconds <= last_at:
                at_milliseconds, drawn = last_at, last_drawn + 1 + drawn % (1 << 32)
            if drawn >> _RANDOM_BITS:
                at_milliseconds, drawn = at_milliseconds + 1, drawn - (1 << _RANDOM_BITS)
            self._last = (at_milliseconds, drawn)
            return self._last


_of_this_process = IdSeries()


def new_id(now: str, random_bytes: Callable[[int], bytes] = os.urandom) -> str:
    """The next id of this process's one series."""
    return _of_this_process.next(now, random_bytes)


def parse_id(text: str) -> str:
    """A full id in canonical form, lower case. Raises InvalidId."""
    return _full(text, "give the whole id, 8-4-4-4-12 hexadecimal characters, as answers show it")


def parse_full(text: str) -> str:
    """The full id a change needs. Raises InvalidId for a prefix as for anything else."""
    return _full(text, "changes need the full id; memory_get and memory_search give it")


def parse_prefix(text: str) -> str:
    """A full id, or its first eight hexadecimal characters or more, with dashes where the id has them.

    Dashes may all be left out. Raises InvalidId.
    """
    folded = text.lower()
    plain = folded.replace("-", "")
    canonical = _dashed(plain)
    if _HEX.fullmatch(plain) and folded in (plain, canonical, f"{canonical}-"):
        return canonical
    raise InvalidId(
        f"{_named(text)} is neither an id nor the start of one",
        f"give a full id, or at least its first {MIN_PREFIX_CHARACTERS} hexadecimal characters",
    )


def _full(text: str, hint: str) -> str:
    folded = text.lower()
    if len(folded) == 32 and _HEX.fullmatch(folded):
        return _dashed(folded)
    if _DASHED.fullmatch(folded):
        return folded
    raise InvalidId(f"{_named(text)} is not a full id", hint)


def _dashed(plain: str) -> str:
    parts = [plain[start:end] for start, end in zip((0, *_GROUPS), _GROUPS, strict=False)]
    return "-".join(part for part in parts if part)


def _named(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
