"""What an undo would have said twice: text that comes back while another memory says it by now."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Standing
from m3_memory.domains.memories.service.tombstones import one_place
from m3_memory.kernel.contradiction import EXEMPT_TYPES, Statement, decide

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from m3_memory.domains.memories.model import Belief
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader


def repetitions(
    reader: Reader, caller: Caller, reopened: Iterable[Belief], changing: Container[object]
) -> Iterator[tuple[Belief, str]]:
    """Those of the beliefs that come back which another memory repeats by then, with its id.

    It may do so under another name of the project. `changing` are the memories that the undo does not leave
    as they are. Two that once stood side by side may do so again.
    """
    beliefs = sorted((b for b in reopened if b.type not in EXEMPT_TYPES), key=lambda belief: belief.belief)
    hashes = queries.normal_hashes(reader, [belief.item for belief in beliefs])
    alike = defaultdict[object, list[Standing]](list)
    places = one_place(reader, caller, {belief.audience for belief in beliefs})
    audiences = sorted(frozenset[int]().union(*places.values()))
    for part in queries.in_parts(sorted(set(hashes.values()))):
        for other in queries.standing_with(reader, audiences, part):
            if other.statement.memory_id not in changing:
                alike[_said(other)].append(other)
    for belief in beliefs:
        coming = _standing(belief, hashes[belief.item])
        together = [other for other in alike[_said(coming)] if other.audience in places[belief.audience]]
        if repeated := _repeated(reader, coming, together):
            yield belief, repeated
        else:
            alike[_said(coming)].append(coming)


def _repeated(reader: Reader, coming: Standing, alike: Iterable[Standing]) -> str:
    said = coming.statement
    others = [
        other.statement
        for other in alike
        if (coming.is_candidate or not other.is_candidate)
        and other.statement.holds_at(said.valid_from, reader.now)
        and not _stood_together(reader, coming, other.statement)
    ]
    return decide(said, others).duplicate_of


def _stood_together(reader: Reader, coming: Standing, other: Statement) -> bool:
    """Whether the store once believed both of these at a time, the one that comes back as it comes back."""
    one = coming.statement
    rows = queries.beliefs_of(reader, {one.memory_id, other.memory_id})
    hashes = queries.normal_hashes(reader, {row.item for row in rows})
    ours, theirs = (
        [
            row
            for row in rows
            if _standing(row, hashes[row.item]).statement == replace(it, title="", content="")
        ]
        for it in (one, other)
    )
    return any(
        mine.recorded_from < its.recorded_to and its.recorded_from < mine.recorded_to
        for mine in ours
        for its in theirs
        if mine.trust_state != "rejected" and (mine.trust_state == "candidate") == coming.is_candidate
    )


def _standing(belief: Belief, normal_hash: str) -> Standing:
    statement = Statement(belief.memory_id, belief.type, normal_hash, belief.valid_from, belief.valid_to)
    return Standing(belief.audience, belief.variant, belief.trust_state, statement)


def _said(standing: Standing) -> tuple[str, str, str]:
    said = standing.statement
    return standing.variant, said.type, said.normal_hash
