"""Tools that write, read and change single memories."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import (
    Compat,
    Content,
    Importance,
    Label,
    Limit,
    MemoryId,
    MemoryIdOrPrefix,
    MemoryScope,
    MemoryType,
    Metadata,
    Param,
    ProjectName,
    Switch,
    Timestamp,
    TimestampOrClear,
    TimestampOrOpen,
    Title,
)
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.memories import service
from m3_memory.domains.memories.model import ChangeResult, HistoryResult, WriteRequest, WriteResult
from m3_memory.domains.memories.model.record import GetResult
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.narrowing import ensure_own
from m3_memory.storage.predicates import Filter

Own = Annotated[
    str, Compat("may only name the caller itself; identity comes from how the server was started")
]


@tool(
    Effect.WRITE,
    domain="memory",
    title="Write a memory",
    essential=True,
    example={"type": "decision", "content": "Releases are cut from main on Tuesdays."},
)
def memory_write(
    ctx: Context,
    content: Content,
    type: MemoryType,
    title: Title = "",
    metadata: Metadata | None = None,
    scope: MemoryScope = Scope.AGENT,
    importance: Importance = 0.5,
    valid_from: Annotated[Timestamp, Param("since when it holds; now")] = "",
    valid_to: Annotated[TimestampOrOpen, Param("until when")] = "",
    refresh_on: Annotated[Timestamp, Param("when to review it")] = "",
    refresh_reason: Annotated[Label, Param("why to review it")] = "",
    conversation_id: Annotated[Label, Param("groups memories of one conversation")] = "",
    reassert: Annotated[Switch, Param("it holds again although it was superseded")] = False,
    source: Annotated[Label, Compat("label of where it comes from")] = "agent",
    variant: Annotated[Label, Compat("tag of an experiment; reads leave tagged memories out")] = "",
    embed: Annotated[Switch, Compat("whether it is found by meaning too")] = True,
    embed_text: Annotated[Label, Compat("text whose meaning stands for the content")] = "",
    model_id: Annotated[Label, Compat("label of the model that wrote it")] = "",
    auto_classify: Annotated[Switch, Compat("the same as type auto")] = False,
    agent_id: Own = "",
    user_id: Own = "",
    change_agent: Own = "",
) -> WriteResult:
    """Store one fact, decision, preference, procedure or note for later sessions.

    Write one statement per memory. Said before: answers `duplicate` with its id. If it replaces a memory
    whose id you know, use memory_supersede; to correct a record, memory_update.
    """
    ensure_own(ctx.started_as, agent_id=agent_id, user_id=user_id, change_agent=change_agent)
    return service.write(
        ctx,
        WriteRequest(
            content,
            type,
            title,
            metadata,
            scope,
            importance,
            source,
            valid_from,
            valid_to,
            refresh_on,
            refresh_reason,
            conversation_id,
            variant,
            embed,
            embed_text,
            model_id,
            reassert,
            auto_classify,
        ),
    )


@tool(
    Effect.READ,
    domain="memory",
    title="Get a memory",
    essential=True,
    brief=("memory",),
    example={"id": "01990a5e-7b1c-7d3e-8f00-000000000001"},
)
def memory_get(
    ctx: Context,
    id: MemoryIdOrPrefix,
    as_of: Timestamp = "",
    known_at: Annotated[Timestamp, Param("as the store knew it then")] = "",
    variant: Annotated[Label, Compat("the experiment whose tagged memories are read too")] = "",
    project: ProjectName = "",
) -> GetResult:
    """Read one memory whole, by its id.

    If it is not current the answer says since when and what superseded it; its text then comes only with
    `as_of` or `known_at`.
    """
    return service.get(ctx, id, Filter(as_of, known_at, variant=variant, project=project))


@tool(
    Effect.WRITE,
    domain="memory",
    title="Correct a memory's record",
    essential=True,
    idempotent=True,
    example={"id": "01990a5e-7b1c-7d3e-8f00-000000000001", "title": "Release day"},
)
def memory_update(
    ctx: Context,
    id: MemoryId,
    content: Content = "",
    title: Title = "",
    metadata: Metadata | None = None,
    importance: Importance | None = None,
    valid_to: Annotated[TimestampOrClear, Param("until when it holds")] = "",
    refresh_on: Annotated[TimestampOrClear, Param("when to review it")] = "",
    refresh_reason: Annotated[Label, Param("why to review it")] = "",
    conversation_id: Annotated[Label, Param("its conversation")] = "",
    reembed: Annotated[Switch, Compat("compute its vectors anew")] = False,
) -> ChangeResult:
    """Correct what was recorded wrongly; the world did not change. If it did, use memory_supersede.

    Fields left out stay; "clear" empties one. Earlier versions stay readable by known_at.
    """
    return service.update(
        ctx,
        service.UpdateRequest(
            id,
            content,
            title,
            metadata,
            importance,
            valid_to,
            refresh_on,
            refresh_reason,
            conversation_id,
            reembed,
        ),
    )


@tool(
    Effect.DESTROY,
    domain="memory",
    title="Delete a memory",
    essential=True,
    example={"id": "01990a5e-7b1c-7d3e-8f00-000000000001"},
)
def memory_delete(
    ctx: Context,
    id: MemoryId,
    hard: Annotated[Switch, Compat("erase for good; only a person may")] = False,
) -> ChangeResult:
    """Delete one memory: no read finds it any more. memory_restore brings it back.

    For what was true once and no longer is, memory_supersede keeps the past.
    """
    return service.delete(ctx, id, hard=hard)


@tool(
    Effect.WRITE,
    domain="memory",
    title="Restore a deleted memory",
    example={"id": "01990a5e-7b1c-7d3e-8f00-000000000001"},
)
def memory_restore(ctx: Context, id: MemoryId) -> ChangeResult:
    """Bring back a deleted memory as it was."""
    return service.restore(ctx, id)


@tool(
    Effect.READ,
    domain="memory",
    title="History of a memory",
    essential=True,
    brief=("events",),
    timeless="history has one clock, the store's: it takes known_at alone",
    example={"memory_id": "01990a5e-7b1c-7d3e-8f00-000000000001"},
)
def memory_history(
    ctx: Context,
    memory_id: MemoryIdOrPrefix,
    limit: Limit = 20,
    known_at: Annotated[Timestamp, Param("events up to then")] = "",
    project: ProjectName = "",
) -> HistoryResult:
    """List what happened to one memory, newest first: who changed it, when, by which operation."""
    return service.history(ctx, memory_id, limit, Filter(known_at=known_at, project=project))
