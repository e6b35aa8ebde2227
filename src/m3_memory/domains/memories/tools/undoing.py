"""Tools that take back what was done."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import Label, MemoryId, Param, Switch, Timestamp
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.memories.model import ChangeResult
from m3_memory.domains.memories.service import undo
from m3_memory.domains.memories.service.undo import UndoRequest, UndoResult

_ID = "01990a5e-7b1c-7d3e-8f00-000000000001"


@tool(Effect.DESTROY, domain="memory", title="Undo changes", example={"memory_id": _ID, "dry_run": True})
def memory_undo(
    ctx: Context,
    event: Annotated[int | None, Param("one event, by its sequence in memory_history", minimum=1)] = None,
    operation: Annotated[Label, Param("one call, by its operation_id in memory_history")] = "",
    memory_id: Annotated[MemoryId, Param("the last change of this memory")] = "",
    agent: Annotated[Label, Param("all that this agent did since a time")] = "",
    since: Annotated[Timestamp, Param("from when on, with agent")] = "",
    until: Annotated[Timestamp, Param("up to when, with agent")] = "",
    dry_run: Annotated[Switch, Param("only say what would be done")] = False,
) -> UndoResult:
    """Take back changes: writes, updates, supersedes, deletes, links; an undo too. Name them in one way.

    What was built on since is in the way: a single change is then refused, of an agent's acts it is kept
    and named. Importance and pins keep no past and stay.
    """
    return undo.undo(ctx, UndoRequest(event, operation, memory_id, agent, since, until, dry_run))


@tool(Effect.DESTROY, domain="memory", title="Undo a superseding", example={"id": _ID})
def memory_unsupersede(ctx: Context, id: Annotated[MemoryId, Param("the old memory")]) -> ChangeResult:
    """Give a superseded memory its place back. What was written to supersede it is withdrawn."""
    return undo.unsupersede(ctx, id)
