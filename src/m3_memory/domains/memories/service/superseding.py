"""Superseding: one memory takes another's place from a moment of the world on."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import State, WriteRequest, WriteResult, WriteStatus, digestible
from m3_memory.domains.memories.service.drafts import prepare
from m3_memory.domains.memories.service.neighbours import Proposal, neighbours
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.sightings import differences
from m3_memory.domains.memories.service.succession import refuse_superseded_memory
from m3_memory.domains.memories.service.targets import Target, target
from m3_memory.domains.memories.service.versions import Creation, Saying, create
from m3_memory.domains.memories.service.writes import out_of_sight
from m3_memory.errors import DuplicateValue
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.ids import new_id
from m3_memory.kernel.interval import Interval

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Belief, Draft


@dataclass(frozen=True, slots=True)
class SupersedeRequest:
    """The replacement as a caller gives it; what is left out is inherited from the old memory."""

    old_id: str
    content: str
    type: str = ""
    title: str = ""
    metadata: object = None
    scope: str = ""
    importance: float | None = None
    source: str = "agent"
    valid_from: str = ""
    variant: str = ""
    embed: bool = True
    embed_text: str = ""
    model_id: str = ""


def supersede(ctx: Context, request: SupersedeRequest) -> WriteResult:
    """Ends the old memory where the new one begins; both stay readable, each in its time.

    If the new one holds since the old one's start or before, the old one was never right and closes whole.
    Raises what `target` raises, NotCurrent for a memory that another one superseded, DuplicateValue where the
    old memory says the same already.
    """
    while True:
        with ctx.read() as reader:
            found = target(reader, ctx.caller, request.old_id)
            state = queries.state_of(reader, found.belief.memory_id)
        draft = prepare(ctx, _inherited(request, found, state))
        draft = replace(draft, warnings=(*draft.warnings, *ctx.notices))
        with ctx.write() as writer:
            now = target(writer, ctx.caller, request.old_id)
            if now.belief.belief == found.belief.belief:  # else what is inherited has changed: read it again
                return _superseded(operation(ctx, writer), now, draft)


def _inherited(request: SupersedeRequest, found: Target, state: State) -> WriteRequest:
    old = found.version
    return WriteRequest(
        content=request.content,
        type=request.type or old.type,
        title=request.title or old.title,
        metadata=json.loads(old.metadata) if request.metadata in (None, "") else request.metadata,
        scope=request.scope or old.scope,
        importance=state.importance if request.importance is None else request.importance,
        source=request.source,
        valid_from=request.valid_from,
        conversation_id=old.conversation_id,
        variant=request.variant or old.variant,
        embed=request.embed,
        embed_text=request.embed_text,
        model_id=request.model_id,
    )


def _superseded(op: Operation, old: Target, draft: Draft) -> WriteResult:
    refuse_superseded_memory(op.writer, op.caller, old.belief.memory_id)
    draft = draft.starting(op.writer.store_time)
    Interval(draft.valid_from, draft.valid_to)
    audience = _audience(op, old, draft)
    if old.version.normal_hash == draft.normal_hash:
        raise DuplicateValue(
            f"memory {old.belief.memory_id} says this already",
            "memory_update corrects a title, metadata or its end",
        )
    proposal = Proposal(draft, "", audience)
    near = neighbours(op.writer, op.caller, [proposal])
    repeated = near.repeated_by(proposal, for_all_of_it=True)
    if not repeated:
        near.refuse_superseded(proposal, replaced=old.belief.memory_id)
    new_memory = repeated or new_id(op.writer.store_time)
    state = queries.state_of(op.writer, old.belief.memory_id)
    held = draft.valid_from > old.belief.valid_from
    ended = replace(old.belief, valid_to=min(old.belief.valid_to, draft.valid_from)) if held else None
    event = op.record(
        "supersede",
        old.belief.memory_id,
        old.belief.version,
        other_id=new_memory,
        before=old.digestible(state),
        after=digestible(old.version, ended.valid_from, ended.valid_to, state) if ended else "",
    )
    _end(op, old, ended, event)
    queries.open_edge(op.writer, new_memory, old.belief.memory_id, "supersedes", event)
    if not repeated:
        inherited = replace(state, importance=draft.importance)
        create(op, Creation(Saying(draft, new_memory, audience), inherited, old.belief.memory_id))
    return WriteResult(
        id=new_memory,
        status=WriteStatus.SUPERSEDING,
        superseded=[old.belief.memory_id],
        vector=draft.vectors.status,
        warnings=[
            *draft.warnings,
            *draft.vectors.warnings,
            *out_of_sight(draft.valid_from, draft.valid_to, op.writer.now),
            *_never_held(old, draft),
            *_repeated_warning(op, draft, repeated),
        ],
        type=draft.type,
    )


def _audience(op: Operation, old: Target, draft: Draft) -> int:
    """The old memory's audience, unless the caller named another scope."""
    if draft.scope == old.version.scope:
        return old.version.audience
    return queries.audience_number(op.writer, op.caller.audience(Scope(draft.scope)))


def _end(op: Operation, old: Target, ended: Belief | None, event: int) -> None:
    """Closes the old belief; `ended` succeeds it, where it ever held before its successor."""
    closed = queries.close_belief(op.writer, old.belief, event)
    assert closed, "the owner's lock is held: nobody else can have closed it"
    if ended:
        queries.open_belief(op.writer, replace(ended, opened_by=event))


def _never_held(old: Target, draft: Draft) -> tuple[str, ...]:
    """What to say when the old memory is left with no time at all."""
    if draft.valid_from > old.belief.valid_from:
        return ()
    start = old.belief.valid_from
    return (f"the old memory began only at {start}: it holds at no time now, reads with known_at find it",)


def _repeated_warning(op: Operation, draft: Draft, repeated: str) -> tuple[str, ...]:
    """What an existing memory that became the successor keeps of its own."""
    if not repeated:
        return ()
    return (
        f"memory {repeated} said this already and is now the successor",
        *differences(op, draft, repeated),
    )
