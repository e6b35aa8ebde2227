"""The one write function: every door that stores a statement comes through here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import State, WriteResult
from m3_memory.domains.memories.service.chunks import only
from m3_memory.domains.memories.service.drafts import prepare, prepare_all
from m3_memory.domains.memories.service.neighbours import Finding, Proposal, neighbours
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.outcomes import (
    Outcome,
    Replaced,
    out_of_sight,
    perform_all,
    result_of,
)
from m3_memory.domains.memories.service.sightings import sighted_all
from m3_memory.domains.memories.service.tombstones import writing
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

    What it contradicts ends, or a person is asked, as the evidence and the settings say. Raises InvalidInput
    for what can't be stored, SupersededValue for a value that was replaced by one that is current, Tombstoned
    for one that a person rejected, and the Unavailable errors of the store; in each case nothing is stored.
    """
    draft = prepare(ctx, request)
    draft = replace(draft, warnings=(*draft.warnings, *ctx.notices))
    with writing(ctx) as writer:
        return add(operation(ctx, writer), draft)


def add(op: Operation, draft: Draft, memory_id: str = "") -> WriteResult:
    """As `add_all` for one draft, whose error is raised."""
    return only(add_all(op, [(draft, memory_id)]))


def add_all(
    op: Operation,
    drafts: Sequence[tuple[Draft, str]],
    *,
    sightings: bool = True,
    replaced: Replaced | None = None,
) -> list[WriteResult | M3Error]:
    """The decision on each draft, in order, and the storing of what is new. The transaction is open.

    With each draft comes the id of the memory to be, which no memory has yet; "" for a new one. A draft that
    is refused is an error in its place and stops no other, and leaves an event if it was a rejected value: so
    commit. One that an earlier one of the batch says already is a duplicate of that. Duplicates count as
    sightings, unless the drafts are no new saying of anybody. With `replaced` the one draft takes the place
    of that memory, with which it is not compared.
    """
    results: dict[int, WriteResult | M3Error] = {}
    proposals: dict[int, Proposal] = {}
    audiences = _audiences(op, drafts)
    for place, (draft, memory_id) in enumerate(drafts):
        audience = audiences[draft.scope]
        if replaced and replaced.old.version.scope == draft.scope:
            audience = replaced.old.version.audience
        try:
            proposals[place] = _proposal(op, draft, memory_id, audience, replaced)
        except M3Error as error:
            results[place] = error
    fresh, repeats = _decided(op, proposals, results, replaced)
    create_all(op, [_creation(outcome) for outcome in fresh.values()])
    repeated = [(outcome.proposal.draft, outcome.new_id) for outcome in repeats.values()]
    sighted = sighted_all(op, repeated, counted=sightings and not replaced)
    results |= dict(zip(repeats, sighted, strict=True))
    done = fresh | repeats if replaced else fresh
    for place, review_ids in zip(done, perform_all(op, [*done.values()]), strict=True):
        told = result_of(op, done[place], review_ids)
        results[place] = _as_successor(told, results[place]) if place in repeats else told
    return [results[place] for place in range(len(drafts))]


def _as_successor(told: WriteResult, said: WriteResult | M3Error) -> WriteResult:
    """The answer where a memory that said it takes the other's place, with what it keeps of its own."""
    kept = [] if isinstance(said, M3Error) else said.warnings
    fresh = [warning for warning in kept if warning not in told.warnings]
    already = f"memory {told.id} said this already and is now the successor"
    return replace(told, warnings=[*told.warnings, already, *fresh])


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


def _audiences(op: Operation, drafts: Sequence[tuple[Draft, str]]) -> dict[str, int]:
    """The numbers of the audiences that the drafts' scopes mean for this caller."""
    names = {scope: op.caller.audience(Scope(scope)) for scope in {draft.scope for draft, _ in drafts}}
    numbers = queries.audience_numbers(op.writer, sorted(names.values()))
    return {scope: numbers[name] for scope, name in names.items()}


def _proposal(
    op: Operation, draft: Draft, memory_id: str, audience: int, replaced: Replaced | None
) -> Proposal:
    """The draft with its start and its id. Raises InvalidTime for a time that is over or none."""
    now = op.writer.store_time
    if not draft.valid_from and draft.valid_to <= now:
        raise InvalidTime(
            f"it ended at {draft.valid_to}, before this write, and no valid_from says since when it held",
            "give valid_from too: the start of what is over is not guessed",
        )
    Interval(draft.valid_from or now, draft.valid_to)
    if replaced and replaced.needs_person(op, draft):
        draft = replace(draft, trust_state="candidate", pinned=False)
    old_id = replaced.old.belief.memory_id if replaced else ""
    return Proposal(draft, memory_id or new_id(now), audience, now, old_id)


def _decided(
    op: Operation,
    proposals: dict[int, Proposal],
    results: dict[int, WriteResult | M3Error],
    replaced: Replaced | None,
) -> tuple[dict[int, Outcome], dict[int, Outcome]]:
    """The proposals that are new, and those that a memory says already; errors go to the results."""
    near = neighbours(op.writer, op.caller, proposals.values())
    fresh: dict[int, Outcome] = {}
    repeats: dict[int, Outcome] = {}
    for place, proposal in proposals.items():
        try:
            finding = near.check(op, proposal)
        except M3Error as error:
            results[place] = error
            continue
        if finding.repeats:
            repeats[place] = Outcome(proposal, finding.repeats, finding, replaced)
        else:
            settled = proposal.settled(finding)
            near.add(settled, finding)
            fresh |= _ending_with(fresh, finding, settled.valid_from)
            fresh[place] = Outcome(settled, settled.memory_id, finding, replaced)
    return fresh, repeats


def _ending_with(fresh: dict[int, Outcome], finding: Finding, at: str) -> dict[int, Outcome]:
    """Those of the same batch whose place a later one takes: they are stored as they end."""
    ends = {old.statement.memory_id for old, _ in finding.ends}
    return {
        place: replace(outcome, proposal=outcome.proposal.until(at))
        for place, outcome in fresh.items()
        if outcome.new_id in ends
    }


def _creation(outcome: Outcome) -> Creation:
    proposal, draft = outcome.proposal, outcome.proposal.draft
    state = State(draft.importance, draft.pinned, draft.refresh_on, draft.refresh_reason)
    other = next(iter(outcome.ended), "")
    return Creation(Saying(draft, proposal.memory_id, proposal.audience, now=proposal.now), state, other)
