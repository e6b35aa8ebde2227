"""VectorCache: nearest items from a mapped file that follows the database, or from the database alone.

The rows of `memory_embeddings` are the truth. Whatever is wrong with the file, or merely not ready, the
answer is then computed from the rows: the file only makes it quick.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from m3_memory.storage.predicates import audience_numbers
from m3_memory.storage.vectors import rows, scan, search
from m3_memory.storage.vectors.files import (
    Home,
    PrivateHome,
    SharedHome,
    Slots,
    blocks_for,
    write_header,
    write_slots,
)
from m3_memory.storage.vectors.layout import CHECKPOINTS_KEPT, Checkpoint, Header, Integers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from m3_memory.storage.database import Reader
    from m3_memory.storage.dialect import Found, Near
    from m3_memory.storage.predicates import View
    from m3_memory.storage.vectors.layout import Records
    from m3_memory.storage.vectors.rows import Moment
    from m3_memory.storage.vectors.search import Question, Windows

TAIL_LIMIT = 4096
"""So many changes are read from the database beside the file; with more of them the file has to catch up."""


@dataclass(frozen=True, slots=True)
class _Usable:
    """A mapped file that shares this reader's past up to `base`; newer slots are to be read from the rows."""

    slots: Slots
    header: Header
    base: Checkpoint
    gap: int

    @property
    def can_replay(self) -> bool:
        return self.base == self.header.checkpoints[-1]


class VectorCache:
    """The cache of one database; threads share it, and processes share its files.

    `mismatches` counts slots that the file let through and the database did not: each is a bug of ours.
    With `private` every process keeps its own in memory: for a folder where none may be mapped.
    """

    def __init__(self, database: Path, *, private: bool = False) -> None:
        self.mismatches = 0
        self._database = database
        self._private = private
        self._homes: dict[int, Home] = {}
        self._mapped: dict[int, Slots] = {}
        self._changing = threading.Lock()

    def nearest(self, reader: Reader, view: View, near: Near) -> list[Found]:
        """For each vector the visible items nearest to it, each by its best window, exactly.

        Raises ValueError for a vector of another dimension than the space.
        """
        now = rows.moment(reader, near.space)
        if now is None:
            return [[] for _ in near.vectors]
        asked = search.question(near, now.dimension)
        usable = None if view.filter.known_at else self._current(reader, now)
        if usable is None:
            return search.over_rows(
                asked, rows.all_visible_items(reader, view), partial(rows.windows, reader, now)
            )
        through = _Through(self, reader, view, now, usable)
        return [found for part in asked.parts(usable.header.count) for found in through.nearest(part)]

    def _current(self, reader: Reader, now: Moment) -> _Usable | None:
        """The file, caught up with this reader if that can be done at once; None if it is of no use now."""
        if not now.sequence:
            return None
        usable = self._usable(reader, now)
        behind = usable is None or (usable.gap and usable.can_replay) or usable.gap > TAIL_LIMIT
        if behind and now.is_committed and self._changing.acquire(blocking=False):
            try:
                self._catch_up(reader, now)
            finally:
                self._changing.release()
            usable = self._usable(reader, now)
        return usable if usable and usable.gap <= TAIL_LIMIT else None

    def _home(self, space: int) -> Home:
        beside = self._database.with_name(f"{self._database.name}.vectors-{space}")
        if space not in self._homes:
            self._homes[space] = PrivateHome() if self._private else SharedHome(beside)
        return self._homes[space]

    def _usable(self, reader: Reader, now: Moment) -> _Usable | None:
        slots = self._mapped.get(now.space)
        if slots is None or slots.identity != self._home(now.space).identity() or not slots.is_whole():
            return None
        header = slots.header()
        if header is None or (header.origin, header.space, header.dimension) != (
            now.origin,
            now.space,
            now.dimension,
        ):
            return None
        base = _shared(reader, now, header)
        slots = self._covering(slots, header)
        if base is None or slots is None:
            return None
        newest = max(now.sequence, header.checkpoints[-1].sequence)
        return _Usable(slots, header, base, newest - base.sequence)

    def _covering(self, slots: Slots, header: Header) -> Slots | None:
        """The same file mapped as far as it has grown; None if another has taken its place."""
        if header.count <= slots.capacity:
            return slots
        grown = self._home(header.space).mapped(header.dimension)
        if grown is None or grown.identity != slots.identity or header.count > grown.capacity:
            return None
        self._mapped[header.space] = grown
        return grown

    def _catch_up(self, reader: Reader, now: Moment) -> None:
        """Replays or rebuilds the file if no other process is at it; in memory where it can't be written."""
        try:
            self._refresh(self._home(now.space), reader, now)
        except OSError:
            with suppress(OSError):
                self._homes[now.space] = PrivateHome()
                self._refresh(self._homes[now.space], reader, now)

    def _refresh(self, home: Home, reader: Reader, now: Moment) -> None:
        with home.writing() as file:
            if file is None:
                return
            self._open(home, now)
            usable = self._usable(reader, now)
            if usable is not None and _followed(file, reader, now, usable):
                return
            with home.replacing() as fresh:
                if fresh is None:
                    return
                _built(fresh, reader, now)
            mapped = home.mapped(now.dimension)
            if mapped is not None:
                self._mapped[now.space] = mapped

    def _open(self, home: Home, now: Moment) -> None:
        """Maps the file at its place, unless that is the one we have; a damaged one is left out."""
        slots = self._mapped.get(now.space)
        if slots is not None and slots.identity == home.identity() and slots.is_whole():
            return
        self._mapped.pop(now.space, None)
        found = home.mapped(now.dimension)
        if found is not None and found.is_intact():
            self._mapped[now.space] = found


def _shared(reader: Reader, now: Moment, header: Header) -> Checkpoint | None:
    """The newest checkpoint that this reader can see, if its store has the same past up to there."""
    for point in reversed(header.checkpoints):
        if point.sequence <= now.sequence and point.event <= now.event:
            return point if rows.checkpoint(reader, point.sequence, point.event) == point else None
    return None


def _built(file: int, reader: Reader, now: Moment) -> None:
    """Fills an empty file from the rows."""
    count = checksum = 0
    for records in rows.all_slots(reader, now):
        checksum += write_slots(file, count, np.arange(count, count + len(records)), records)
        count += len(records)
    point = rows.checkpoint(reader, now.sequence, now.event)
    write_header(file, Header(now.origin, now.space, now.dimension, count, checksum, (point,)))


def _followed(file: int, reader: Reader, now: Moment, usable: _Usable) -> bool:
    """Brings the file up to this reader; False if it is better built anew."""
    if not usable.can_replay:
        return usable.gap <= TAIL_LIMIT
    if usable.gap > max(TAIL_LIMIT, usable.header.count):
        return False
    changed = rows.changed_items(reader, usable.base.sequence)
    items, count, checksum = sorted(changed), usable.header.count, usable.header.checksum
    for first in range(0, len(items), search.ITEMS_PER_READ):
        piece = items[first : first + search.ITEMS_PER_READ]
        records = rows.slots_of(reader, now, piece)
        places, records, taken = _placed(usable, records, piece, count)
        records["stamp"] = [changed[item] for item in records["item"].tolist()]
        checksum += write_slots(file, count, places, records)
        count = taken
    point = rows.checkpoint(reader, now.sequence, now.event)
    points = (*usable.header.checkpoints, point)[-CHECKPOINTS_KEPT:]
    write_header(file, replace(usable.header, count=count, checksum=checksum, checkpoints=points))
    return not _is_sparse(usable)


def _placed(usable: _Usable, records: Records, items: list[int], count: int) -> tuple[Integers, Records, int]:
    """Where each record goes, with records that free the slots left over, and how many slots count then.

    An item's slots are used again for its own windows and for nothing else; what does not fit is appended.
    """
    known = usable.slots.blocks["item"].reshape(-1)[: usable.header.count]
    owned: dict[int, list[int]] = {}
    for place in np.flatnonzero(np.isin(known, items)).tolist():
        owned.setdefault(int(known[place]), []).append(place)
    places: list[int] = []
    for item in records["item"].tolist():
        if owned.get(item):
            places.append(owned[item].pop())
        else:
            places.append(count)
            count += 1
    left = [(place, item) for item, free in owned.items() for place in free]
    freed = np.zeros(len(left), records.dtype)
    freed["item"] = [item for _, item in left]
    places += [place for place, _ in left]
    return np.array(places, np.int64), np.concatenate([records, freed]), count


def _is_sparse(usable: _Usable) -> bool:
    """Whether more than half of a file of some size is slots of no use."""
    count = usable.header.count
    free = np.count_nonzero(usable.slots.blocks["audience"].reshape(-1)[:count] == 0)
    return count > TAIL_LIMIT and 2 * int(free) > count


@dataclass(frozen=True, slots=True)
class _Through:
    """Questions answered through the mapped file, and what is newer or surer from the rows."""

    cache: VectorCache
    reader: Reader
    view: View
    now: Moment
    usable: _Usable

    def nearest(self, asked: Question) -> list[Found]:
        usable, count = self.usable, self.usable.header.count
        blocks = usable.slots.blocks[: blocks_for(count)]
        mask = scan.admitted(blocks, self.view, audience_numbers(self.reader, self.view))
        mask.reshape(-1)[count:] = False
        bounds = scan.upper_bounds(blocks, mask, asked.vectors)
        items = blocks["item"].reshape(-1)
        # Stamps are read last: whatever another process wrote while we scanned is stamped by now.
        stale = set(items[:count][blocks["stamp"].reshape(-1)[:count] > usable.base.sequence].tolist())
        if usable.gap:
            stale |= rows.changed_items(self.reader, usable.base.sequence).keys()
        if stale:
            newer, theirs = search.columns(asked, sorted(stale), partial(self._windows, stale))
            items, bounds = np.concatenate([items, newer]), np.concatenate([bounds, theirs], axis=1)
        return search.nearest(asked, items, bounds, partial(self._windows, stale))

    def _windows(self, stale: set[int], items: Sequence[int]) -> Windows:
        """The windows of those of the items that are visible; all are, but for what the file can't know."""
        shown = rows.visible_items(self.reader, self.view, items)
        self.cache.mismatches += len(set(items) - stale - set(shown))
        return rows.windows(self.reader, self.now, shown)
