"""Tools that find memories."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import (
    Compat,
    Label,
    Limit,
    MemoryScope,
    Param,
    Query,
    SearchMode,
    Switch,
    Timestamp,
    TypeFilter,
)
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.retrieval import service
from m3_memory.domains.retrieval.model import SearchMode as Mode
from m3_memory.domains.retrieval.model import SearchRequest, SearchResults
from m3_memory.kernel.narrowing import ensure_own
from m3_memory.storage.predicates import SCOPES, Filter


@tool(
    Effect.READ,
    domain="memory",
    title="Search memories",
    essential=True,
    example={"query": "how do we cut a release"},
)
def memory_search(
    ctx: Context,
    query: Query,
    k: Limit = 8,
    type_filter: TypeFilter = "",
    agent_filter: Annotated[Label, Param("only what this agent wrote")] = "",
    search_mode: SearchMode = "hybrid",
    scope: Annotated[MemoryScope, Param("only this scope")] | None = None,
    as_of: Annotated[Timestamp, Param("what held then")] = "",
    known_at: Annotated[Timestamp, Param("what the store believed then")] = "",
    conversation_id: Annotated[Label, Param("only this conversation")] = "",
    include_scratchpad: Annotated[Switch, Compat("scratchpad memories too")] = False,
    variant: Annotated[Label, Compat("the experiment whose tagged memories are read too")] = "",
    user_id: Annotated[Label, Compat("may only name the caller's own user")] = "",
    requesting_agent: Annotated[Label, Compat("may only name the caller itself")] = "",
    recency_bias: Annotated[float, Compat("has no effect yet")] = 0.0,
    adaptive_k: Annotated[Switch, Compat("has no effect yet")] = False,
    include_bench_data: Annotated[Switch, Compat("has no effect: name the variant instead")] = False,
    explain: Annotated[Switch, Compat("has no effect: every hit says why")] = False,
) -> SearchResults:
    """Find memories by words and meaning, best first. Ask before you answer or decide.

    Only what holds now is found; `as_of` asks what held at another moment. `score` runs from 0 to 1.
    """
    ensure_own(ctx.caller, user_id=user_id, requesting_agent=requesting_agent)
    hidden = ("scratchpad",) if not include_scratchpad and type_filter != "scratchpad" else ()
    narrowing = Filter(
        as_of=as_of,
        known_at=known_at,
        variant=variant,
        scopes=(scope,) if scope else SCOPES,
        types=(type_filter,) if type_filter else (),
        excluded_types=hidden,
        agent_id=agent_filter,
        conversation_id=conversation_id,
    )
    return service.search(ctx, SearchRequest(query, k, Mode(search_mode), narrowing))
