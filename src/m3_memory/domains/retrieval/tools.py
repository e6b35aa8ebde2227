"""Tools that find memories by what they say, and list them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from m3_memory.catalog.params import (
    Compat,
    Importance,
    Label,
    Limit,
    MemoryIdOrPrefix,
    MemoryScope,
    Param,
    ProjectName,
    Query,
    SearchMode,
    Switch,
    Timestamp,
    TrustState,
    TypeFilter,
    TypesFilter,
)
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.retrieval import model, service
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.narrowing import ensure_own
from m3_memory.storage.predicates import ADMITTED, SCOPES, Filter

OfTrust = Annotated[TrustState, Param("only of this trust; candidates come only so")]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What all these tools narrow a read by."""

    agent_filter: Annotated[Label, Param("only what this agent wrote")] = ""
    scope: Annotated[MemoryScope, Param("only this scope")] | None = None
    as_of: Annotated[Timestamp, Param("what held then")] = ""
    known_at: Annotated[Timestamp, Param("what the store believed then")] = ""
    conversation_id: Annotated[Label, Param("only this conversation")] = ""
    project: ProjectName = ""
    variant: Annotated[Label, Compat("the experiment whose tagged memories are read too")] = ""
    user_id: Annotated[Label, Compat("may only name the caller's own user")] = ""
    requesting_agent: Annotated[Label, Compat("may only name the caller itself")] = ""

    def filter(self, ctx: Context, types: str, trust_state: str = "") -> Filter:
        """The same for a read of these types, with commas between. Raises WiderIdentity."""
        ensure_own(ctx.started_as, user_id=self.user_id, requesting_agent=self.requesting_agent)
        return Filter(
            as_of=self.as_of,
            known_at=self.known_at,
            trust_states=(trust_state,) if trust_state else ADMITTED,
            variant=self.variant,
            scopes=(self.scope,) if self.scope else SCOPES,
            types=tuple(types.split(",")) if types else (),
            agent_id=self.agent_filter,
            conversation_id=self.conversation_id,
            project=self.project,
        )


@dataclass(frozen=True, slots=True)
class Searching(Narrowing):
    """What the tools that search take besides."""

    type_filter: TypeFilter = ""
    search_mode: SearchMode = "hybrid"
    include_scratchpad: Annotated[Switch, Compat("scratchpad memories too")] = False
    recency_bias: Annotated[float, Compat("has no effect yet")] = 0.0
    adaptive_k: Annotated[Switch, Compat("has no effect yet")] = False
    include_bench_data: Annotated[Switch, Compat("has no effect: name the variant instead")] = False

    def request(self, ctx: Context, query: str, k: int, trust_state: str = "") -> model.SearchRequest:
        """A search of this; scratchpad memories are found by who asks for them. Raises WiderIdentity."""
        narrowing = self.filter(ctx, self.type_filter, trust_state)
        if not (self.include_scratchpad or self.type_filter == "scratchpad"):
            narrowing = replace(narrowing, excluded_types=("scratchpad",))
        return model.SearchRequest(query, k, model.SearchMode(self.search_mode), narrowing)


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
    explain: Annotated[Switch, Compat("has no effect: every hit says why; memory_suggest says more")] = False,
    *,
    narrowed: Searching,
) -> model.SearchResults:
    """Find memories by words and meaning, best first. Ask before you answer or decide.

    Only what holds now is found; `as_of` asks what held at another moment. `score` runs from 0 to 1.
    """
    return service.search(ctx, narrowed.request(ctx, query, k))


@tool(
    Effect.READ,
    domain="memory",
    title="Search memories, as rows",
    brief=("hits",),
    example={"query": "how do we cut a release", "k": 3},
)
def memory_search_scored(
    ctx: Context,
    query: Annotated[Label, Param("what to look for; without it the newest")] = "",
    k: Limit = 8,
    trust_state: OfTrust = "",
    *,
    narrowed: Searching,
) -> model.ScoredResults:
    """Find memories and get all that is stored of each: labels, importance, times, trust.

    For programs; memory_search reads better and costs less. `score` runs from 0 to 1.
    """
    return service.search_scored(ctx, narrowed.request(ctx, query, k, trust_state))


@tool(
    Effect.READ,
    domain="memory",
    title="Preview a search",
    brief=("hits", "terms", "hidden", "about"),
    example={"query": "how do we cut a release"},
)
def memory_suggest(
    ctx: Context,
    query: Query,
    k: Limit = 5,
    explain_id: Annotated[
        MemoryIdOrPrefix, Param("a memory to say of where it ranks, or what hides it")
    ] = "",
    *,
    narrowed: Searching,
) -> model.Suggestions:
    """Preview a search and why it gives that: every part of each score, ranks by words and by meaning.

    Tells what a search leaves out too. `explain_id` asks about one memory. Nothing is counted as used.
    """
    return service.suggest(ctx, narrowed.request(ctx, query, k), explain_id)


@tool(
    Effect.READ,
    domain="memory",
    title="Search several stores",
    brief=("hits", "unreached"),
    example={"query": "how do we cut a release"},
)
def memory_search_multi_db(
    ctx: Context,
    query: Query,
    stores: Annotated[Label, Param("names of declared stores, with commas; all")] = "",
    k: Limit = 8,
    databases: Annotated[Label, Compat("the same as stores: names, never paths")] = "",
    fan_out_limit: Annotated[int, Compat("has no effect: stores are asked one after the other")] = 0,
    *,
    narrowed: Searching,
) -> model.StoresResults:
    """Search several declared stores at once, best first on one scale; every hit names its store.

    A store that can't be reached is named in `unreached`, and the others answer.
    """
    if stores and databases:
        raise InvalidArgument("stores and databases say the same", "give stores alone")
    given = (part.strip() for part in (stores or databases).split(","))
    named = tuple(dict.fromkeys(filter(None, given))) or ctx.stores.names
    return service.search_stores(ctx, narrowed.request(ctx, query, k), named)


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
    trust_state: OfTrust = "",
    since: Annotated[Timestamp, Param("only what was recorded then or later")] = "",
    until: Annotated[Timestamp, Param("only what was recorded before")] = "",
    limit: Annotated[int, Param("rows a page", minimum=1, maximum=500)] = 20,
    cursor: Annotated[Label, Param("of the page before; all else as there")] = "",
    counts: Annotated[Switch, Param("how many of each type, too")] = False,
    order: Annotated[
        Literal["newest", "oldest"], Compat("newest or oldest first, by when it was recorded")
    ] = ("newest"),
    valid_since: Annotated[Timestamp, Compat("only what held then or later")] = "",
    valid_until: Annotated[Timestamp, Compat("only what began to hold before")] = "",
    min_importance: Annotated[Importance, Compat("only of this importance or more, 0 to 1")] | None = None,
    pinned: Annotated[Switch, Compat("only what is pinned, or only what is not")] | None = None,
    *,
    narrowed: Narrowing,
) -> model.ListResults:
    """List memories, the last recorded first, page by page; the first says how many there are in `total`.

    Long contents are cut: `cut_from` then says how long they are, memory_get has the whole. A `cursor` in the
    answer leads to the next page: page after page shows each memory once, also while others write.
    """
    narrowing = replace(
        narrowed.filter(ctx, type_filter, trust_state), valid_since=valid_since, valid_until=valid_until
    )
    asked = model.ListRequest(
        limit, cursor, narrowing, since, until, model.Order(order), min_importance, pinned, counts
    )
    return service.list_memories(ctx, asked)
