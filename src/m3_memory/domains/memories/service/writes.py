"""The one write function: every door that stores a statement comes through here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import State, WriteResult, WriteStatus
from m3_memory.domains.memories.service.chunks import only
from m3_memory.domains.memories.service.drafts import prepare, prepare_all
from m3_memory.domains.memories.service.neighbours import Proposal, neighbours
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.sightings import sighted_all
from m3_memory.domains.memories.service.versions import Creation, Saying, create_all
from m3_memory.errors import InvalidTime, M3Error
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.ids import new_id
from m3_memory.kernel.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Draft, WriteRequest

__all__ = ["Operation", "add", "add_all", "operation", "out_of_sight", "prepare", "prepare_all", "write"]


def write(ctx: Context, request: WriteRequest) -> WriteResult:
    """Stores a statement, or answers with the memory that says the same already.

    Raises InvalidInput for what can't be stored, SupersededValue for a value that was replaced by one that
    is current, and the Unavailable errors of the store; in each case nothing is stored.
    """
    draft = prepare(ctx, request)
    draft = replace(draft, warnings=(*draft.warnings, *ctx.notices))
    with ctx.write() as writer:
        return add(operation(ctx, writer), draft)


def add(op: Operation, draft: Draft, memory_id: str = "") -> WriteResult:
    """As `add_all` for one draft, whose error is raised."""
    return only(add_all(op, [(draft, memory_id)]))


def add_all(
    op: Operation, drafts: Sequence[tuple[Draft, str]], *, sightings: bool = True
) -> list[WriteResult | M3Error]:
    """The decision on each draft, in order, and the storing of what is new. The transaction is open.

    With each draft comes the id of the memory to be, which no memory has yet; "" for a new one. A draft that
    is refused is an error in its place and stops no other; one that an earlier one of the batch says already
    is a duplicate of that. Duplicates count as sightings, unless the drafts are no new saying of anybody.
    """
    results: dict[int, WriteResult | M3Error] = {}
    proposals: dict[int, Proposal] = {}
    audiences = _audiences(op, drafts)
    for place, (draft, memory_id) in enumerate(drafts):
        try:
            proposals[place] = _proposal(op, draft, memory_id, audiences[draft.scope])
        except M3Error as error:
            results[place] = error
    fresh, repeats = _decided(op, proposals, results)
    create_all(op, [_creation(proposals[place]) for place in fresh])
    repeated = [(proposals[place].draft, of) for place, of in repeats.items()]
    sighted = sighted_all(op, repeated, counted=sightings)
    results |= {place: _created(op, proposals[place]) for place in fresh}
    results |= dict(zip(repeats, sighted, strict=True))
    return [results[place] for place in range(len(drafts))]


def said_already(ctx: Context, drafts: Sequence[Draft]) -> list[bool]:
    """For each draft, whether a memory says it as the store stands now, or an earlier draft does."""
    with ctx.read() as reader:
        names = {scope: ctx.caller.audience(Scope(scope)) for scope in {draft.scope for draft in drafts}}
        known = queries.known_audiences(reader, sorted(names.values()))
        proposals = [
            Proposal(draft, str(place), known.get(names[draft.scope], 0), reader.now)
            for place, draft in enumerate(drafts)
        ]
        near = neighbours(reader, ctx.caller, proposals)
        said: list[bool] = []
        for proposal in proposals:
            said.append(bool(near.repeated_by(proposal)))
            near.add(proposal)
    return said


def out_of_sight(valid_from: str, valid_to: str, now: str) -> tuple[str, ...]:
    """What to say of a memory that a default read does not show now."""
    if valid_to <= now:
        return ("it ended in the past: default reads leave it out, reads with as_of find it",)
    if valid_from > now:
        return (f"it holds from {valid_from} on: default reads leave it out until then",)
    return ()


def _audiences(op: Operation, drafts: Sequence[tuple[Draft, str]]) -> dict[str, int]:
    """The numbers of the audiences that the drafts' scopes mean for this caller."""
    names = {scope: op.caller.audience(Scope(scope)) for scope in {draft.scope for draft, _ in drafts}}
    numbers = queries.audience_numbers(op.writer, sorted(names.values()))
    return {scope: numbers[name] for scope, name in names.items()}


def _proposal(op: Operation, draft: Draft, memory_id: str, audience: int) -> Proposal:
    """The draft with its start and its id. Raises InvalidTime for a time that is over or none."""
    now = op.writer.store_time
    if not draft.valid_from and draft.valid_to <= now:
        raise InvalidTime(
            f"it ended at {draft.valid_to}, before this write, and no valid_from says since when it held",
            "give valid_from too: the start of what is over is not guessed",
        )
    Interval(draft.valid_from or now, draft.valid_to)
    return Proposal(draft, memory_id or new_id(now), audience, now)


def _decided(
    op: Operation, proposals: dict[int, Proposal], results: dict[int, WriteResult | M3Error]
) -> tuple[list[int], dict[int, str]]:
    """Which proposals are new, and which memory each other one repeats; errors go to the results."""
    near = neighbours(op.writer, op.caller, proposals.values())
    fresh: list[int] = []
    repeats: dict[int, str] = {}
    for place, proposal in proposals.items():
        try:
            repeated = near.check(proposal)
        except M3Error as error:
            results[place] = error
            continue
        if repeated:
            repeats[place] = repeated
        else:
            near.add(proposal)
            fresh.append(place)
    return fresh, repeats


def _creation(proposal: Proposal) -> Creation:
    draft = proposal.draft
    state = State(draft.importance, draft.pinned, draft.refresh_on, draft.refresh_reason)
    return Creation(Saying(draft, proposal.memory_id, proposal.audience, now=proposal.now), state)


def _created(op: Operation, proposal: Proposal) -> WriteResult:
    draft = proposal.draft
    return WriteResult(
        id=proposal.memory_id,
        status=WriteStatus.CANDIDATE if draft.trust_state == "candidate" else WriteStatus.CREATED,
        vector=draft.vectors.status,
        warnings=[
            *draft.warnings,
            *draft.vectors.warnings,
            *out_of_sight(proposal.valid_from, draft.valid_to, op.writer.now),
        ],
        type=draft.type,
    )
