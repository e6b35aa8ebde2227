"""Tools that write, read and change single memories."""

from __future__ import annotations

from dataclasses import dataclass, fields
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
from m3_memory.domains.memories.model import (
    ChangeResult,
    HistoryResult,
    UpdateResult,
    WriteRequest,
    WriteResult,
)
from m3_memory.domains.memories.model.record import GetResult
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.narrowing import ensure_own
from m3_memory.storage.predicates import Filter

IDENTITY = ("agent_id", "user_id", "change_agent")
Own = Annotated[
    str, Compat("may only name the caller itself; identity comes from how the server was started")
]


@dataclass(frozen=True, slots=True)
class Writing:
    """What may be said of a statement besides its text and type."""

    title: Title = ""
    metadata: Metadata | None = None
    scope: MemoryScope = Scope.AGENT
    importance: Importance = 0.5
    valid_from: Annotated[Timestamp, Param("since when it holds; now")] = ""
    valid_to: Annotated[TimestampOrOpen, Param("until when")] = ""
    refresh_on: Annotated[Timestamp, Param("when to review it")] = ""
    refresh_reason: Annotated[Label, Param("why to review it")] = ""
    conversation_id: Annotated[Label, Param("groups memories of one conversation")] = ""
    reassert: Annotated[Switch, Param("it holds again although it was superseded")] = False
    source: Annotated[Label, Compat("label of where it comes from")] = "agent"
    variant: Annotated[Label, Compat("tag of an experiment; reads leave tagged memories out")] = ""
    embed: Annotated[Switch, Compat("whether it is found by meaning too")] = True
    embed_text: Annotated[Label, Compat("text whose meaning stands for the content")] = ""
    model_id: Annotated[Label, Compat("label of the model that wrote it")] = ""
    auto_classify: Annotated[Switch, Compat("the same as type auto")] = False
    agent_id: Own = ""
    user_id: Own = ""
    change_agent: Own = ""

    def request(self, ctx: Context, content: str, type: str) -> WriteRequest:
        """The whole as the service takes it. Raises WiderIdentity."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        ensure_own(ctx.started_as, **{name: given.pop(name) for name in IDENTITY})
        return WriteRequest(content, type, **given)


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
    *,
    said: Writing,
) -> WriteResult:
    """Store one fact, decision, preference, procedure or note for later sessions.

    One statement each. Said before: `duplicate`, with its id. What it contradicts may end (`superseded`) or
    stand disputed (`conflicts`): read both. To replace a memory whose id you know, memory_supersede; to
    correct a record, memory_update.
    """
    return service.write(ctx, said.request(ctx, content, type))


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

    If it is not current: since when, and what superseded it; its text only with `as_of` or `known_at`.
    """
    return service.get(ctx, id, Filter(as_of, known_at, variant=variant, project=project))


@tool(
    Effect.WRITE,
    domain="memory",
    title="Correct a memory's record",
    essential=True,
    brief=("conflicts",),
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
    valid_to: Annotated[TimestampOrClear, Param("until when")] = "",
    refresh_on: Annotated[TimestampOrClear, Param("when to review it")] = "",
    refresh_reason: Annotated[Label, Param("why to review it")] = "",
    conversation_id: Annotated[Label, Param("its conversation")] = "",
    reembed: Annotated[Switch, Compat("compute its vectors anew")] = False,
) -> UpdateResult:
    """Correct what was recorded wrongly. If the world changed, use memory_supersede.

    Fields left out stay; "clear" empties one. known_at reads earlier versions.
    """
    return service.update(
        ctx,
        service.UpdateRequest(
            *(id, content, title, metadata, importance, valid_to),
            *(refresh_on, refresh_reason, conversation_id, reembed),
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

    For what was true once, memory_supersede keeps the past.
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
    """What happened to one memory, newest first: who changed it, when, by which operation."""
    return service.history(ctx, memory_id, limit, Filter(known_at=known_at, project=project))
