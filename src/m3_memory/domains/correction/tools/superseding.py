"""Tools by which a caller corrects the store on its own word."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import (
    Compat,
    Content,
    Importance,
    Label,
    MemoryId,
    MemoryScope,
    MemoryType,
    Metadata,
    Param,
    Switch,
    Timestamp,
    Title,
)
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.memories import service
from m3_memory.domains.memories.model import WriteResult
from m3_memory.kernel.narrowing import ensure_own

Own = Annotated[
    str, Compat("may only name the caller itself; identity comes from how the server was started")
]


@tool(
    Effect.DESTROY,
    domain="memory",
    title="Supersede a memory",
    essential=True,
    brief=("conflicts",),
    example={"old_id": "01990a5e-7b1c-7d3e-8f00-000000000001", "content": "Releases are cut on Thursdays."},
)
def memory_supersede(
    ctx: Context,
    old_id: MemoryId,
    content: Content,
    type: MemoryType = "",
    title: Title = "",
    metadata: Metadata | None = None,
    scope: Annotated[MemoryScope, Param("as the old")] | None = None,
    importance: Importance | None = None,
    valid_from: Annotated[Timestamp, Param("when the new one took its place; now")] = "",
    source: Annotated[Label, Compat("label of where it comes from")] = "agent",
    variant: Annotated[Label, Compat("tag of an experiment")] = "",
    embed: Annotated[Switch, Compat("whether it is found by meaning too")] = True,
    embed_text: Annotated[Label, Compat("text whose meaning stands for the content")] = "",
    model_id: Annotated[Label, Compat("label of the model that wrote it")] = "",
    agent_id: Own = "",
    user_id: Own = "",
    change_agent: Own = "",
) -> WriteResult:
    """Replace a memory whose statement no longer holds: the old one ends where the new one begins.

    What is left out is inherited. The old one stays readable with `as_of`.
    """
    ensure_own(ctx.started_as, agent_id=agent_id, user_id=user_id, change_agent=change_agent)
    request = service.SupersedeRequest(
        *(old_id, content, type, title, metadata, scope or "", importance),
        *(source, valid_from, variant, embed, embed_text, model_id),
    )
    return service.supersede(ctx, request)
