"""The tool that reads what it stores from a file."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import (
    Compat,
    Importance,
    Label,
    MemoryScope,
    MemoryType,
    Metadata,
    Param,
    Switch,
    Timestamp,
    TimestampOrOpen,
    Title,
)
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.memories import service
from m3_memory.domains.memories.model import WriteRequest, WriteResult
from m3_memory.domains.memories.tools.single import Own
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.narrowing import ensure_own


@tool(
    Effect.WRITE,
    domain="memory",
    title="Write a memory from a file",
    example={"path": "/home/me/atlas/docs/release.md", "type": "procedure"},
)
def memory_write_from_file(
    ctx: Context,
    path: Annotated[str, Param("absolute, below the project's folder; UTF-8, up to 200,000 bytes")],
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
    delete_after_read: Annotated[
        Switch | None, Compat("remove the file once it is stored: only one of our own spool ever is")
    ] = None,
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
    """Store the text of a file as one memory, as memory_write would.

    The file lies in the project's folder and stays there. No symbolic links.
    """
    ensure_own(ctx.started_as, agent_id=agent_id, user_id=user_id, change_agent=change_agent)
    request = WriteRequest(
        "",
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
    )
    return service.write_from_file(ctx, path, request, delete_after_read=delete_after_read)
