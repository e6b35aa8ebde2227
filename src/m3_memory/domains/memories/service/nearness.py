"""What is near a draft in meaning: looked for before the lock, and again only if the store went on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Near
from m3_memory.kernel.contradiction import EXEMPT_TYPES
from m3_memory.kernel.vocabulary import MEMORY_TYPES
from m3_memory.storage import embeddings
from m3_memory.storage.neighbourhood import NEIGHBOURS_AT_ONCE, nearest_all, similar_within
from m3_memory.storage.predicates import ADMITTED, Filter, View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.domains.memories.model import Draft
    from m3_memory.kernel.caller import Caller
    from m3_memory.kernel.fingerprint import Fingerprint
    from m3_memory.storage.database import Reader

NEIGHBOURS = 20
"""So many of the nearest are compared."""

_STATEMENTS = tuple(sorted(set(MEMORY_TYPES) - EXEMPT_TYPES))
_OF_EVERY_TYPE = 2 * NEIGHBOURS
"""So many of the nearest of all these types are read: those of another type are only told of."""

_FLOORS = {"hashing": 0.4}
_FLOOR = 0.40
"""The cosine below which nothing is looked at, by the name of the embedding space."""

_COMPARED = ("candidate", *ADMITTED)
_REJECTED = ("rejected",)

_Asked: TypeAlias = "tuple[Fingerprint, Filter]"


def near_all(reader: Reader, caller: Caller, drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with what is near them in every audience the caller holds, and what is rejected of any type.

    Looked at is what holds from the earliest of their beginnings on, what holds now, and what holds when the
    draft begins; by all of a draft's vectors.
    """
    asked = defaultdict[_Asked, list[int]](list)
    wanted = {place for place, draft in enumerate(drafts) if draft.vectors.space and draft.vectors.vectors}
    if not wanted:
        return [*drafts]
    seen, has_rejected = queries.progress(reader), queries.has_rejected(reader)
    since = min([reader.now, *filter(None, (drafts[place].valid_from for place in wanted))])
    for place in sorted(wanted):
        for of in _asked_of(drafts[place], reader.now, since, has_rejected):
            asked[of].append(place)
    found = defaultdict[int, dict[int, None]](dict)
    for of, places in asked.items():
        for place, item in _nearest(reader, caller, of, [(n, drafts[n].vectors.vectors) for n in places]):
            found[place][item] = None
    return [
        replace(draft, near=Near(tuple(found[place]), seen)) if place in wanted else draft
        for place, draft in enumerate(drafts)
    ]


def _asked_of(draft: Draft, now: str, since: str, has_rejected: bool) -> Iterator[_Asked]:
    space, said = (
        draft.vectors.space,
        Filter(variant=draft.variant, trust_states=_COMPARED, types=_STATEMENTS),
    )
    if space is None:
        return
    if draft.type not in EXEMPT_TYPES:
        yield space, replace(said, whenever=True, valid_since=since)
        moments = [draft.valid_from, ""] if since < now else [draft.valid_from]
        yield from ((space, replace(said, as_of=moment)) for moment in moments if moment or since < now)
    if has_rejected:
        yield space, replace(said, trust_states=_REJECTED, types=(), whenever=True)


def _nearest(
    reader: Reader, caller: Caller, of: _Asked, given: Sequence[tuple[int, Sequence[bytes]]]
) -> Iterator[tuple[int, int]]:
    """The items near each of these, by its vectors: (its number, item), nearest first."""
    fingerprint, narrowed = of
    space = embeddings.space_of(reader, fingerprint)
    if space is None:
        return
    view = View(caller.as_operator(), narrowed, reader.now)
    windows = [(place, vector) for place, vectors in given for vector in vectors]
    for start in range(0, len(windows), NEIGHBOURS_AT_ONCE):
        part = windows[start : start + NEIGHBOURS_AT_ONCE]
        vectors = [vector for _, vector in part]
        near = nearest_all(reader, view, space, vectors, _OF_EVERY_TYPE, _floor(fingerprint))
        for (place, _), items in zip(part, near, strict=True):
            yield from ((place, item) for item, _ in items)


def near_now(reader: Reader, caller: Caller, drafts: Sequence[Draft]) -> list[Draft]:
    """The same drafts, looked at again if anything was written since; the lock is held."""
    marks = {draft.near.seen for draft in drafts} - {""}
    if not marks or marks == {queries.progress(reader)}:
        return [*drafts]
    fresh = iter(near_all(reader, caller, [draft for draft in drafts if draft.near.seen]))
    return [next(fresh) if draft.near.seen else draft for draft in drafts]


def near_within(drafts: Sequence[Draft]) -> list[set[int]]:
    """For each draft the places of those of the same batch that are near it, of its type and variant."""
    groups = defaultdict[tuple["Fingerprint", str, str, str], list[tuple[int, bytes]]](list)
    for place, draft in enumerate(drafts):
        if draft.near.seen and draft.vectors.space and draft.type not in EXEMPT_TYPES:
            key = draft.vectors.space, draft.type, draft.variant, draft.scope
            groups[key] += [(place, vector) for vector in draft.vectors.vectors]
    found: list[set[int]] = [set() for _ in drafts]
    for (space, *_), windows in groups.items():
        if len({place for place, _ in windows}) > 1:
            near = similar_within([vector for _, vector in windows], _floor(space), NEIGHBOURS)
            for (place, _), others in zip(windows, near, strict=True):
                found[place] |= {windows[other][0] for other, _ in others} - {place}
    return found


def _floor(space: Fingerprint) -> float:
    return _FLOORS.get(space.name, _FLOOR)
