"""Replacing on a caller's own word: the statement of a memory it names no longer holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import WriteRequest, WriteResult
from m3_memory.domains.memories.service.chunks import only
from m3_memory.domains.memories.service.drafts import prepare
from m3_memory.domains.memories.service.operations import Operation, operation
from m3_memory.domains.memories.service.outcomes import Replaced
from m3_memory.domains.memories.service.succession import refuse_superseded_memory
from m3_memory.domains.memories.service.targets import Target, target
from m3_memory.domains.memories.service.tombstones import writing
from m3_memory.domains.memories.service.writes import add_all
from m3_memory.errors import DuplicateValue

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Draft


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
    What a person verified stays until a person agrees: the new one waits as candidate, with a question.
    Raises what `target` raises, NotCurrent for a memory that another one superseded, DuplicateValue where the
    old memory says the same already, Tombstoned for a rejected value.
    """
    while True:
        with ctx.read() as reader:
            found = target(reader, ctx.caller, request.old_id)
            refuse_superseded_memory(reader, ctx.caller, request.old_id)
        draft = prepare(ctx, _inherited(request, found))
        draft = replace(draft, warnings=(*draft.warnings, *ctx.notices))
        with writing(ctx) as writer:
            now = target(writer, ctx.caller, request.old_id)
            if now.belief.belief == found.belief.belief:  # else what is inherited has changed: read it again
                return _superseded(operation(ctx, writer), now, draft, request)


def _inherited(request: SupersedeRequest, found: Target) -> WriteRequest:
    old = found.version
    return WriteRequest(
        content=request.content,
        type=request.type or old.type,
        title=request.title or old.title,
        metadata=json.loads(old.metadata) if request.metadata in (None, "") else request.metadata,
        scope=request.scope or old.scope,
        importance=0.5 if request.importance is None else request.importance,
        source=request.source,
        valid_from=request.valid_from,
        conversation_id=old.conversation_id,
        variant=request.variant or old.variant,
        embed=request.embed,
        embed_text=request.embed_text,
        model_id=request.model_id,
    )


def _superseded(op: Operation, old: Target, draft: Draft, request: SupersedeRequest) -> WriteResult:
    refuse_superseded_memory(op.writer, op.caller, old.belief.memory_id)
    if old.version.normal_hash == draft.normal_hash:
        raise DuplicateValue(
            f"memory {old.belief.memory_id} says this already",
            "memory_update corrects a title, metadata or its end",
        )
    state = queries.state_of(op.writer, old.belief.memory_id)
    draft = replace(
        draft,
        importance=state.importance if request.importance is None else request.importance,
        pinned=state.pinned,
        refresh_on=state.refresh_on,
        refresh_reason=state.refresh_reason,
    )
    return only(add_all(op, [(draft, "")], replaced=Replaced(old)))
