"""The tool that lists memories."""

from __future__ import annotations

from typing import Annotated, Literal

from m3_memory.catalog.params import (
    Compat,
    Importance,
    Label,
    MemoryScope,
    Param,
    Switch,
    Timestamp,
    TrustState,
    TypesFilter,
)
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.retrieval import service
from m3_memory.domains.retrieval.model import ListRequest, ListResults, Order
from m3_memory.kernel.narrowing import ensure_own
from m3_memory.storage.predicates import ADMITTED, SCOPES, Filter

PageSize = Annotated[int, Param("rows a page", minimum=1, maximum=500)]


@tool(
    Effect.READ,
    domain="memory",
    title="List memories",
    brief=("memories", "by_type"),
    example={"type_filter": "decision,preference", "limit": 5},
)
def memory_list(
    ctx: Context,
    type_filter: TypesFilter = "",
    agent_filter: Annotated[Label, Param("only what this agent wrote")] = "",
    conversation_id: Annotated[Label, Param("only this conversation")] = "",
    scope: Annotated[MemoryScope, Param("only this scope")] | None = None,
    trust_state: Annotated[TrustState, Param("only of this trust; candidates come only so")] = "",
    since: Annotated[Timestamp, Param("only what was recorded then or later")] = "",
    until: Annotated[Timestamp, Param("only what was recorded before")] = "",
    as_of: Annotated[Timestamp, Param("what held then")] = "",
    known_at: Annotated[Timestamp, Param("what the store believed then")] = "",
    limit: PageSize = 20,
    cursor: Annotated[Label, Param("of the page before; all else as there")] = "",
    counts: Annotated[Switch, Param("how many of each type, too")] = False,
    order: Annotated[
        Literal["newest", "oldest"], Compat("newest or oldest first, by when it was recorded")
    ] = ("newest"),
    valid_since: Annotated[Timestamp, Compat("only what held then or later")] = "",
    valid_until: Annotated[Timestamp, Compat("only what began to hold before")] = "",
    min_importance: Annotated[Importance, Compat("only of this importance or more, 0 to 1")] | None = None,
    pinned: Annotated[Switch, Compat("only what is pinned, or only what is not")] | None = None,
    variant: Annotated[Label, Compat("the experiment whose tagged memories are read too")] = "",
    user_id: Annotated[Label, Compat("may only name the caller's own user")] = "",
    requesting_agent: Annotated[Label, Compat("may only name the caller itself")] = "",
) -> ListResults:
    """List memories, the last recorded first, page by page; the first says how many there are in `total`.

    Long contents are cut: `cut_from` then says how long they are, memory_get has the whole. A `cursor` in the
    answer leads to the next page: page after page shows each memory once, also while others write.
    """
    ensure_own(ctx.started_as, user_id=user_id, requesting_agent=requesting_agent)
    narrowing = Filter(
        as_of=as_of,
        known_at=known_at,
        trust_states=(trust_state,) if trust_state else ADMITTED,
        variant=variant,
        scopes=(scope,) if scope else SCOPES,
        types=tuple(type_filter.split(",")) if type_filter else (),
        agent_id=agent_filter,
        conversation_id=conversation_id,
        valid_since=valid_since,
        valid_until=valid_until,
    )
    asked = ListRequest(limit, cursor, narrowing, since, until, Order(order), min_importance, pinned, counts)
    return service.list_memories(ctx, asked)
