"""Trust: what a person decides of a memory, and what follows from it for its value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.service.derived import retire_derived
from m3_memory.domains.memories.service.operations import operation
from m3_memory.domains.memories.service.reads import resolve
from m3_memory.domains.memories.service.standing import state_now
from m3_memory.domains.memories.service.targets import Target, not_found
from m3_memory.domains.memories.service.tombstones import (
    Burial,
    bury,
    lift,
    one_place,
    refusal,
    returning,
    tombstoned,
)
from m3_memory.domains.memories.service.undo_repetitions import repetitions
from m3_memory.errors import DuplicateValue, NotCurrent
from m3_memory.kernel.normal import normal_hash
from m3_memory.storage.predicates import REJECTED, Filter, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Belief
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.storage.database import Reader

Judgement = tuple[Target, str]
"""A memory, and the trust state it gets."""


@dataclass(frozen=True)
class TrustResult:
    """The answer to a change of trust: `status` is changed, or unchanged where it stood so already.

    `also_rejected` said the same in the same place; `retired` was derived from what was rejected.
    """

    id: str
    status: str
    before: str
    trust_state: str
    also_rejected: list[str]
    retired: list[str]

    def headline(self) -> str:
        return f"{self.id}: {self.before} -> {self.trust_state} ({self.status})"


def set_trust(ctx: Context, id_or_prefix: str, state: str, reason: str) -> TrustResult:
    """Sets how far one memory is trusted. The caller is the operator.

    Raises NotFound, AmbiguousId, NotCurrent, and what `set_trust_all` raises.
    """
    with ctx.write() as writer:
        op = operation(ctx, writer)
        of = judged(writer, View(op.caller, Filter(), writer.now), id_or_prefix)
        also, retired = set_trust_all(op, [(of, state)], reason)
    before = of.belief.trust_state
    status = "unchanged" if before == state else "changed"
    return TrustResult(of.belief.memory_id, status, before, state, also, retired)


def set_trust_all(op: Operation, judgements: Sequence[Judgement], reason: str) -> tuple[list[str], list[str]]:
    """Gives memories these trust states: accepted, verified or rejected; no memory is named twice.

    A rejection keeps the value from coming back, rejects what says the same in the same place, and retires
    what was derived from it; another state lifts that. Returns the ids of these two kinds. Raises
    DuplicateValue where another memory says by now what would be trusted again, and Tombstoned where that
    value was erased.
    """
    twins = _twins(op, [of for of, state in judgements if state == REJECTED])
    named = {of.belief.memory_id for of, _ in judgements}
    also = [(of, REJECTED) for of in twins if of.belief.memory_id not in named]
    changed = [(of, state) for of, state in [*judgements, *also] if of.belief.trust_state != state]
    _refuse_returning(op, changed)
    states = queries.states_of(op.writer, [of.belief.memory_id for of, _ in changed])
    after = [replace(of.belief, trust_state=state) for of, state in changed]
    events = op.record_all(
        [
            op.event(
                "trust",
                of.belief.memory_id,
                of.belief.version,
                reason=f"{of.belief.trust_state} -> {new.trust_state}" + (f": {reason}" if reason else ""),
                before=of.digestible(states[of.belief.memory_id]),
                after=Target(new, of.version).digestible(states[of.belief.memory_id]),
            )
            for (of, _), new in zip(changed, after, strict=True)
        ]
    )
    closed = queries.close_beliefs(
        op.writer, [(of.belief.belief, event) for (of, _), event in zip(changed, events, strict=True)]
    )
    assert closed == len(changed), "the owner's lock is held: nobody else can have closed any"
    queries.insert_beliefs(
        op.writer, [replace(new, opened_by=event) for new, event in zip(after, events, strict=True)]
    )
    queries.note_changes(op.writer, [(new.item, "belief") for new in after])
    settle_values(op, [(of.belief, new) for (of, _), new in zip(changed, after, strict=True)], reason)
    rejected = [new.memory_id for new in after if new.trust_state == REJECTED]
    return [of.belief.memory_id for of, _ in also], retire_derived(op, rejected, REJECTED)


def judged(reader: Reader, view: View, id_or_prefix: str) -> Target:
    """The memory a change of trust names: any that the store holds, a candidate or a rejected one too."""
    memory_id = resolve(reader, view, id_or_prefix)
    belief = queries.newest_belief(reader, view, memory_id)
    if belief is None:
        raise not_found(memory_id)
    if not belief.is_open or belief.expires_at <= reader.now:
        state, since = state_now(reader, belief)
        raise NotCurrent(
            f"memory {memory_id} is not current: {state} since {since}",
            "only what the store holds is trusted or rejected; memory_restore brings back what was deleted",
        )
    return Target(belief, queries.version_of(reader, belief.item))


def settle_values(op: Operation, turned: Sequence[tuple[Belief | None, Belief | None]], reason: str) -> None:
    """Buries the values of memories that become rejected, and lifts those of such as are no longer.

    Each is a memory's belief before and after. Of others nothing changes.
    """
    hashes = said_hashes(op.writer, [belief for pair in turned for belief in pair if belief])
    rejected = [new for old, new in turned if new and _is_rejected(new) and not _is_rejected(old)]
    returned = [new for old, new in turned if new and _is_rejected(old) and not _is_rejected(new)]
    bury(op, [Burial(hashes[b.item], b.audience, b.memory_id) for b in rejected], reason)
    lift(op, returning(op, [(b.audience, hashes[b.item]) for b in returned]))


def said_hashes(reader: Reader, beliefs: Sequence[Belief]) -> dict[int, str]:
    """The hash of the normal form of what each belief's version says, by its item."""
    items = sorted({belief.item for belief in beliefs})
    return {
        item: normal_hash(version.content)
        for part in queries.in_parts(items)
        for item, version in queries.versions_of(reader, part).items()
    }


def _is_rejected(belief: Belief | None) -> bool:
    return belief is not None and belief.trust_state == REJECTED


def _twins(op: Operation, rejected: Sequence[Target]) -> list[Target]:
    """Every memory, of whatever type, that says in the same place what one of these says."""
    if not rejected:
        return []
    reader = op.writer
    alike = one_place(reader, op.caller, {of.belief.audience for of in rejected})
    places = {(audience, of.version.normal_hash) for of in rejected for audience in alike[of.belief.audience]}
    audiences, hashes = ({place[n] for place in places} for n in (0, 1))
    found = queries.standing_with(reader, sorted(map(int, audiences)), sorted(map(str, hashes)))
    ids = {
        other.statement.memory_id
        for other in found
        if (other.audience, other.statement.normal_hash) in places
    }
    beliefs = queries.open_beliefs_of(reader, sorted(ids)) if ids else {}
    versions = queries.versions_of(reader, [belief.item for belief in beliefs.values()])
    return [Target(beliefs[id_], versions[beliefs[id_].item]) for id_ in sorted(beliefs)]


def _refuse_returning(op: Operation, changed: Sequence[Judgement]) -> None:
    reader = op.writer
    coming = [replace(of.belief, trust_state=state) for of, state in changed if state != REJECTED]
    ids = {belief.memory_id for belief in coming}
    for belief, other in repetitions(reader, op.caller, coming, ids):
        raise DuplicateValue(
            f"memory {other} says what {belief.memory_id} says", "delete or reject one of the two"
        )
    were_rejected = {of.belief.memory_id for of, _ in changed if _is_rejected(of.belief)}
    hashes = said_hashes(reader, coming)
    said = [(belief.audience, hashes[belief.item]) for belief in coming]
    standing = tombstoned(reader, said, op.caller) if said else []
    for belief, tombstone in zip(coming, standing, strict=True):
        if tombstone and (tombstone.is_erased or belief.memory_id not in were_rejected):
            raise refusal(tombstone)
