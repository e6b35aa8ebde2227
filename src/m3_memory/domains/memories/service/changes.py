"""Updating and deleting: the record was wrong, or is no longer wanted."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import (
    ChangeResult,
    Draft,
    State,
    UpdateResult,
    Vectors,
    VectorStatus,
    WriteRequest,
)
from m3_memory.domains.memories.model.holding import Holding, digestible
from m3_memory.domains.memories.model.review import Act
from m3_memory.domains.memories.service.chunks import only, tried
from m3_memory.domains.memories.service.derived import retire_derived
from m3_memory.domains.memories.service.drafts import TEXTS, clean_draft, embedded, prepare
from m3_memory.domains.memories.service.endings import end_all
from m3_memory.domains.memories.service.neighbours import Finding, Proposal, neighbours
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.outcomes import Outcome, Replaced, perform_all, remarks
from m3_memory.domains.memories.service.proposing import propose_all
from m3_memory.domains.memories.service.succession import refuse_superseded_memory, told_of_ended
from m3_memory.domains.memories.service.targets import Target, targets
from m3_memory.domains.memories.service.versions import (
    Saying,
    inherit_vectors,
    replace_vectors,
    store_version,
)
from m3_memory.domains.memories.service.writes import add_all
from m3_memory.errors import DuplicateValue, EmbedderUnavailable, InvalidArgument, M3Error, NeedsOperator
from m3_memory.inference.embedder import EmbedderState
from m3_memory.kernel.vocabulary import CLEAR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Belief


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """What to change of a memory; empty text and None leave a field as it is.

    `trust_state` is what a person says with a new text; the caller of this saw to that.
    """

    id: str
    content: str = ""
    title: str = ""
    metadata: object = None
    importance: float | None = None
    valid_to: str = ""
    refresh_on: str = ""
    refresh_reason: str = ""
    conversation_id: str = ""
    reembed: bool = False
    trust_state: str = ""


class _MovedError(Exception):
    """Somebody changed a memory after it was read for this change: the change is drafted anew."""


def update(ctx: Context, request: UpdateRequest) -> UpdateResult:
    """Corrects the record of a memory; what was said before stays readable at an earlier known_at.

    Content or title, and metadata or conversation, make a new version; valid_to alone makes a new belief of
    the same version; importance and refresh touch neither. Raises what `target` raises, InvalidInput errors,
    DuplicateValue where another memory says the new content already.
    """
    return only(update_all(ctx, [request]))


def update_all(
    ctx: Context, requests: Sequence[UpdateRequest], operation_id: str = ""
) -> list[UpdateResult | M3Error]:
    """As `update` for each, in one transaction and operation; what is refused is an error in its place.

    No memory may be named twice.
    """
    ids = [request.id for request in requests]
    while True:
        with ctx.read() as reader:
            found = targets(reader, ctx.caller, ids)
        drafted = [
            of if isinstance(of, M3Error) else tried(_drafted, ctx, of, request)
            for of, request in zip(found, requests, strict=True)
        ]
        with suppress(_MovedError), ctx.write() as writer:
            op = operation(ctx, writer, operation_id)
            now = targets(writer, ctx.caller, ids)
            return [
                change if isinstance(change, M3Error) else tried(_update, op, change, of, request, ids)
                for change, of, request in zip(drafted, now, requests, strict=True)
            ]


def update_in(op: Operation, found: Target, request: UpdateRequest) -> UpdateResult:
    """As `update`, in an open transaction, of texts without secrets; a vector due is left to a job."""
    draft = clean_draft(_merged(found, request))
    anew = (draft.content, draft.title) != (found.version.content, found.version.title)
    due = Vectors(missing=1, status=VectorStatus.PENDING) if anew and found.version.embed else Vectors()
    return _apply(op, found, replace(draft, vectors=due, names_start=False), request)


def delete(ctx: Context, memory_id: str, *, hard: bool = False) -> ChangeResult:
    """Ends the store's belief in a memory, for every world time; undone by memory_restore."""
    return only(delete_all(ctx, [memory_id], hard=hard))


def delete_all(
    ctx: Context, memory_ids: Sequence[str], *, hard: bool, operation_id: str = ""
) -> list[ChangeResult | M3Error]:
    """As `delete` for each, in one transaction and operation; what is refused is an error in its place.

    No memory may be named twice.
    """
    with ctx.write() as writer:
        op = operation(ctx, writer, operation_id)
        found = targets(writer, ctx.caller, memory_ids)
        if hard:
            found = [of if isinstance(of, M3Error) else _not_for_good() for of in found]
        current = [of for of in found if isinstance(of, Target)]
        kept = [of for of in current if of.is_kept_from(op.caller)]
        delete_in(op, [of for of in current if not of.is_kept_from(op.caller)])
        beliefs = [of.belief for of in current]
        told = told_of_ended(writer, op.caller, [belief.memory_id for belief in beliefs])
        done = {
            belief.memory_id: ChangeResult(
                belief.memory_id, "deleted", belief.version, warnings=told.get(belief.memory_id, [])
            )
            for belief in beliefs
        }
        done |= zip([of.belief.memory_id for of in kept], propose_all(op, kept), strict=True)
    return [of if isinstance(of, M3Error) else done[of.belief.memory_id] for of in found]


def delete_in(op: Operation, found: Sequence[Target], reason: str = "") -> None:
    """Ends the store's belief in these memories, in an open transaction."""
    ids = [of.belief.memory_id for of in found]
    end_all(op, ids, "delete", reason)
    retire_derived(op, ids, "deleted")


def _not_for_good() -> NeedsOperator:
    return NeedsOperator(
        "only a person may erase a memory for good",
        "delete it without hard: no read shows it then; a person can erase it later",
    )


def _drafted(ctx: Context, found: Target, request: UpdateRequest) -> tuple[Target, Draft]:
    """The memory as it was read, and as it would be written with the changes in it."""
    draft = prepare(ctx, _merged(found, request), _given(request))
    return found, replace(_with_vectors(ctx, found, draft, request), names_start=False)


def _update(
    op: Operation,
    drafted: tuple[Target, Draft],
    now: Target | M3Error,
    request: UpdateRequest,
    beside: Sequence[str],
) -> UpdateResult:
    found, draft = drafted
    if isinstance(now, M3Error):
        raise now
    if now.belief.belief != found.belief.belief:
        raise _MovedError
    if now.is_kept_from(op.caller):
        return _proposed(op, now, draft, request)
    return _apply(op, now, draft, request, frozenset(beside))


def _proposed(op: Operation, found: Target, draft: Draft, request: UpdateRequest) -> UpdateResult:
    """What comes of an update of what a person verified: new text waits as candidate, and they are asked."""
    changed = _changed_fields(found, draft)
    if "content" not in changed:
        said = {"title": draft.title, "metadata": json.loads(draft.metadata), "valid_to": draft.valid_to}
        given = {name: value for name, value in said.items() if name in changed}
        if request.importance is not None:
            given["importance"] = request.importance
        if not given:
            raise NeedsOperator(
                f"memory {found.belief.memory_id} was verified by a person",
                "ask the person to change it, or write what you know beside it",
            )
        return propose_all(op, [found], **given)[0]
    told = only(
        add_all(op, [(replace(draft, embed=found.version.embed), "")], replaced=Replaced(found, Act.UPDATE))
    )
    said = f"a person verified it: the new text waits as memory {told.id}, and they are asked"
    return UpdateResult(
        *(found.belief.memory_id, "candidate", found.belief.version),
        conflicts=told.conflicts or None,
        warnings=[*draft.warnings, said],
        review_id=told.review_id,
    )


def _merged(found: Target, request: UpdateRequest) -> WriteRequest:
    """The memory as it would be written today with the changes in it."""
    version, belief = found.version, found.belief
    if request.metadata in (None, ""):
        metadata: object = json.loads(version.metadata)
    else:
        metadata = request.metadata
    return WriteRequest(
        content=request.content or version.content,
        type=version.type,
        title=_patched(request.title, version.title),
        metadata=metadata,
        scope=version.scope,
        source=version.source,
        valid_from=belief.valid_from,
        valid_to=_patched(request.valid_to, belief.valid_to),
        conversation_id=_patched(request.conversation_id, version.conversation_id),
        variant=version.variant,
        embed=False,
        embed_text="" if request.content else version.embed_text,
        model_id=version.model_id,
        refresh_on="" if request.refresh_on == CLEAR else request.refresh_on,
        refresh_reason="" if request.refresh_reason == CLEAR else request.refresh_reason,
    )


def _given(request: UpdateRequest) -> frozenset[str]:
    """The texts that are new; what is stored already stays as it is."""
    return frozenset(name for name in TEXTS & set(UpdateRequest.__slots__) if getattr(request, name))


def _with_vectors(ctx: Context, found: Target, draft: Draft, request: UpdateRequest) -> Draft:
    """New vectors where the meaning changed or they were asked for; then EmbedderUnavailable if it is off."""
    if request.reembed and ctx.embedder.state is EmbedderState.OFF:
        raise EmbedderUnavailable(
            "the model is switched off by the settings", "set embedder in m3_config.toml"
        )
    says_anew = (draft.content, draft.title) != (found.version.content, found.version.title)
    if request.reembed or (says_anew and found.version.embed):
        return embedded(ctx, replace(draft, embed=True))
    return draft


def _patched(given: str, stored: str) -> str:
    return "" if given == CLEAR else given or stored


def _apply(
    op: Operation,
    found: Target,
    draft: Draft,
    request: UpdateRequest,
    beside: frozenset[str] = frozenset(),
) -> UpdateResult:
    changed = _changed_fields(found, draft)
    state = queries.state_of(op.writer, found.belief.memory_id)
    patched = _patched_state(state, request, draft)
    changed += [name for name in State.__dataclass_fields__ if getattr(state, name) != getattr(patched, name)]
    if request.reembed:
        changed.append("vector")
    if not changed:
        return UpdateResult(found.belief.memory_id, "unchanged", found.belief.version)
    trust_state = request.trust_state or _trust(found, is_new=_needs_version(changed))
    draft = replace(draft, trust_state=trust_state, pinned=state.pinned)
    where = found.belief.memory_id, found.version.audience, op.writer.store_time
    outcome = _checked(op, found, Proposal(draft, *where, stands=True, beside=beside), changed)
    if outcome.proposal.draft.valid_to < draft.valid_to:
        changed = list(dict.fromkeys([*changed, "valid_to"]))
    draft = outcome.proposal.draft
    held = Holding(draft.valid_from, draft.valid_to, draft.trust_state, found.belief.audience)
    version = found.belief.version
    if _needs_version(changed):
        version = queries.last_version(op.writer, found.belief.memory_id) + 1
    event = op.record(
        _kind(changed),
        found.belief.memory_id,
        version,
        reason=",".join(changed),
        before=found.digestible(state),
        after=digestible(draft, held, patched),
    )
    if patched != state:
        queries.put_state(op.writer, found.belief.memory_id, patched)
    item = _stored(op, found, draft, changed, version)
    if _needs_version(changed) or "valid_to" in changed:
        then = replace(found.belief, item=item, version=version, opened_by=event)
        _turned(op, found, then, draft)
    (review_ids,) = perform_all(op, [outcome])
    return UpdateResult(
        found.belief.memory_id,
        "candidate" if outcome.finding.protected else "updated",
        version,
        changed,
        draft.vectors.status if draft.vectors.status is not VectorStatus.NONE else None,
        [*draft.warnings, *draft.vectors.warnings, *remarks(outcome)],
        next(iter(review_ids), None),
        outcome.ended or None,
        outcome.conflicts or None,
    )


def _trust(found: Target, *, is_new: bool) -> str:
    """A new version never keeps verified: nobody has checked what it says."""
    state = found.belief.trust_state
    return "accepted" if state == "verified" and is_new else state


def _stored(op: Operation, found: Target, draft: Draft, changed: list[str], version: int) -> int:
    """The item the memory has after the change, which is to be this version."""
    if not _needs_version(changed):
        if "vector" in changed:
            replace_vectors(op, found.version.item, draft.vectors)
        return found.version.item
    said = replace(draft, embed=found.version.embed)
    item = store_version(op, Saying(said, found.belief.memory_id, found.version.audience, version))
    if not {"content", "title", "vector"} & set(changed):
        inherit_vectors(op, found.version.item, item)
    return item


def _checked(op: Operation, found: Target, proposal: Proposal, changed: list[str]) -> Outcome:
    """A change that says something new, or says it for longer, passes the check that every write passes."""
    memory_id = proposal.memory_id
    grows = proposal.draft.valid_to > found.belief.valid_to
    if grows:
        refuse_superseded_memory(op.writer, op.caller, memory_id)
    if not grows and "content" not in changed:
        return Outcome(proposal, memory_id, Finding())
    finding = neighbours(op.writer, op.caller, [proposal]).check(op, proposal)
    if finding.repeats:
        raise DuplicateValue(
            f"memory {finding.repeats} says this already",
            f"delete {memory_id} instead, or supersede it with {finding.repeats}",
        )
    return Outcome(proposal.settled(finding), memory_id, finding)


def _turned(op: Operation, found: Target, then: Belief, draft: Draft) -> None:
    """Closes the belief and opens the next one, in what the draft says."""
    closed = queries.close_belief(op.writer, found.belief, then.opened_by)
    assert closed, "the owner's lock is held: nobody else can have closed it"
    then = replace(
        then,
        valid_to=draft.valid_to,
        conversation_id=draft.conversation_id,
        agent_id=op.caller.agent_id if then.item != found.version.item else found.belief.agent_id,
        trust_state=draft.trust_state,
    )
    queries.open_belief(op.writer, then)


def _changed_fields(found: Target, draft: Draft) -> list[str]:
    pairs = (
        ("content", found.version.content, draft.content),
        ("title", found.version.title, draft.title),
        ("metadata", json.loads(found.version.metadata), json.loads(draft.metadata)),
        ("conversation_id", found.version.conversation_id, draft.conversation_id),
        ("valid_to", found.belief.valid_to, draft.valid_to),
    )
    return [name for name, before, after in pairs if before != after]


def _needs_version(changed: list[str]) -> bool:
    return bool({"content", "title", "metadata", "conversation_id"} & set(changed))


def _kind(changed: list[str]) -> str:
    """The history kind of a change: that of the weightiest field it touches."""
    if {"content", "title", "valid_to", "vector"} & set(changed):
        return "update"
    if {"metadata", "conversation_id"} & set(changed):
        return "metadata"
    return "importance" if "importance" in changed else "refresh"


def _patched_state(state: State, request: UpdateRequest, draft: Draft) -> State:
    """The state with the changes in it; what the draft holds of them is checked, and without secrets."""
    if request.importance is not None and not 0.0 <= request.importance <= 1.0:
        raise InvalidArgument("importance lies from 0.0 to 1.0", "leave it out to keep it")
    return replace(
        state,
        importance=state.importance if request.importance is None else request.importance,
        refresh_on="" if request.refresh_on == CLEAR else draft.refresh_on or state.refresh_on,
        refresh_reason=""
        if request.refresh_reason == CLEAR
        else draft.refresh_reason or state.refresh_reason,
    )
