"""How a cache file is laid out: one header page, then blocks of 512 slots, each block column by column.

A slot is one window of one item: an int8 vector with what is needed to bound its true cosine, the filter
columns of the item's open belief, and the stamp: the sequence of the change the slot was last written for.
A slot keeps its place and its item for ever; a freed slot has audience 0, which nobody holds.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from m3_memory.errors import StoreDamaged
from m3_memory.storage.transaction import PUT_BACK

if TYPE_CHECKING:
    from collections.abc import Sequence

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Records: TypeAlias = NDArray[np.void]
"""Slots or blocks, by the types below."""

SLOTS_PER_BLOCK = 512
HEADER_BYTES = 4096
CHECKPOINTS_KEPT = 16
TRUST_CODES = {"candidate": 1, "accepted": 2, "verified": 3, "rejected": 4}
TEXT_COLUMNS = ("type", "agent", "conversation", "variant")
TIME_COLUMNS = ("valid_from", "valid_to", "expires_at")

_MAGIC = b"m3 vectors 2\n"
_COLUMNS = (
    ("stamp", "<i8"),
    ("item", "<i8"),
    ("audience", "<i8"),
    *((name, "<i8") for name in TEXT_COLUMNS),
    *((name, "<i8") for name in TIME_COLUMNS),
    ("scale", "<f4"),
    ("slack", "<f4"),
    ("trust", "u1"),
)
NAMES = (*(name for name, _ in _COLUMNS), "row")
"""Every column, the stamp first."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place in a store's past: the last change and the last event at some moment, and what they are.

    Two snapshots that agree on a checkpoint agree on everything before it: the event's hash is chained, and
    `recent` is a digest of the last changes, some of which have no event.
    """

    sequence: int
    recent: str
    event: int
    event_hash: str


@dataclass(frozen=True, slots=True)
class Header:
    """What a file is a cache of, how many slots count, how far it has replayed; newest checkpoint last."""

    origin: str
    space: int
    dimension: int
    count: int
    checksum: int
    checkpoints: tuple[Checkpoint, ...]

    def encoded(self) -> bytes:
        body = json.dumps(asdict(self)).encode()
        page = b"%s%s %s\n" % (_MAGIC, _digest(body), body)
        assert len(page) <= HEADER_BYTES, len(page)
        return page.ljust(HEADER_BYTES, b"\0")


def decoded(page: bytes) -> Header | None:
    """The header on a page; None for a torn, foreign or damaged one."""
    digest, _, body = page.removeprefix(_MAGIC).rstrip(b"\0").removesuffix(b"\n").partition(b" ")
    if not page.startswith(_MAGIC) or digest != _digest(body):
        return None
    fields = cast("dict[str, Any]", json.loads(body))
    points = tuple(Checkpoint(**point) for point in fields.pop("checkpoints"))
    return Header(**fields, checkpoints=points)


@cache
def block_type(dimension: int) -> np.dtype[np.void]:
    """512 slots, column by column."""
    columns = [(name, kind, (SLOTS_PER_BLOCK,)) for name, kind in _COLUMNS]
    return np.dtype([*columns, ("row", "<i1", (SLOTS_PER_BLOCK, dimension))])


@cache
def slot_type(dimension: int) -> np.dtype[np.void]:
    """One slot with the same columns, as it is read and written."""
    return np.dtype([*_COLUMNS, ("row", "<i1", (dimension,))])


@lru_cache(maxsize=1 << 16)
def hashed(text: str) -> int:
    """A text as a number to compare by; two that collide are told apart by the join with visible()."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def microseconds(times: Sequence[str]) -> Integers:
    """Store-form times as whole microseconds since 1970. Raises StoreDamaged for what is no time."""
    try:
        return np.array([time[:26] for time in times], dtype="datetime64[us]").astype(np.int64)
    except ValueError as error:
        raise StoreDamaged("a time in the store is no time", PUT_BACK) from error


def quantised(unit: Doubles, records: Records) -> None:
    """Fills row, scale and slack: the cosine with any unit query is within `slack` of scale · row · query."""
    scale = np.maximum(np.abs(unit).max(axis=1), 1e-9).astype(np.float32) / np.float32(127)
    records["row"] = np.clip(np.rint(unit / scale[:, None]), -127, 127)
    error = unit - records["row"].astype(np.float64) * scale[:, None]
    records["scale"] = scale
    # The length of what quantising lost (Cauchy and Schwarz), and room for single-precision sums.
    records["slack"] = np.sqrt((error * error).sum(axis=1)) + 2e-5


def normalised(vectors: Doubles) -> Doubles:
    """Each row at length one; a row of zeros stays, and what is no finite number counts as zero."""
    vectors = np.where(np.isfinite(vectors), vectors, 0.0)
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors / np.maximum(lengths, 1e-12)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=8).hexdigest().encode()
