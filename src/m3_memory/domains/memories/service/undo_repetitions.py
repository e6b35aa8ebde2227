"""What an undo would have said twice: text that comes back while another memory says it by now."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Standing
from m3_memory.kernel.contradiction import EXEMPT_TYPES, Statement, Verdict, decide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from m3_memory.domains.memories.model import Belief
    from m3_memory.storage.database import Reader

_Place: TypeAlias = "tuple[int, str, str, str]"
"""Audience, variant, type, and the normal form's digest."""


def repetitions(
    reader: Reader, reopened: Iterable[Belief], stays: Callable[[str], bool]
) -> Iterator[tuple[Belief, str]]:
    """Those of the beliefs that come back which another memory repeats by then, with its id.

    `stays` tells of a memory that stands now whether the undo leaves it as it is. Two that once stood side by
    side may do so again.
    """
    beliefs = sorted((b for b in reopened if b.type not in EXEMPT_TYPES), key=lambda belief: belief.belief)
    hashes = queries.normal_hashes(reader, [belief.item for belief in beliefs])
    near = _near(reader, beliefs, hashes.values(), stays)
    for belief in beliefs:
        coming = _coming(belief, hashes[belief.item])
        alike = near[_place(coming)]
        if repeated := _repeated(reader, coming, alike):
            yield belief, repeated
        else:
            alike.append(coming)


def _near(
    reader: Reader, beliefs: Iterable[Belief], hashes: Iterable[str], stays: Callable[[str], bool]
) -> dict[_Place, list[Standing]]:
    found = defaultdict[_Place, list[Standing]](list)
    audiences = sorted({belief.audience for belief in beliefs})
    for part in queries.in_parts(sorted(set(hashes))):
        for other in queries.standing_with(reader, audiences, part):
            if stays(other.statement.memory_id):
                found[_place(other)].append(other)
    return found


def _repeated(reader: Reader, coming: Standing, alike: Iterable[Standing]) -> str:
    said = coming.statement
    others = [
        other.statement
        for other in alike
        if (coming.is_candidate or not other.is_candidate)
        and other.statement.holds_at(said.valid_from, reader.now)
        and not _stood_together(reader, said, other.statement)
    ]
    decision = decide(said, others)
    return decision.of if decision.verdict is Verdict.DUPLICATE else ""


def _stood_together(reader: Reader, one: Statement, other: Statement) -> bool:
    """Whether the store once believed both of these at a time."""
    rows = queries.beliefs_of(reader, {one.memory_id, other.memory_id})
    hashes = queries.normal_hashes(reader, {row.item for row in rows})
    ours, theirs = (
        [row for row in rows if _coming(row, hashes[row.item]).statement == said] for said in (one, other)
    )
    return any(
        mine.recorded_from < its.recorded_to and its.recorded_from < mine.recorded_to
        for mine in ours
        for its in theirs
    )


def _coming(belief: Belief, normal_hash: str) -> Standing:
    statement = Statement(belief.memory_id, belief.type, normal_hash, belief.valid_from, belief.valid_to)
    return Standing(belief.audience, belief.variant, belief.trust_state == "candidate", statement)


def _place(standing: Standing) -> _Place:
    said = standing.statement
    return standing.audience, standing.variant, said.type, said.normal_hash
