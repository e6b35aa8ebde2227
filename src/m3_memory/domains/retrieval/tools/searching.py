"""Tools that find memories by what they say."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import (
    Compat,
    Label,
    Limit,
    MemoryIdOrPrefix,
    MemoryScope,
    Param,
    Query,
    SearchMode,
    Switch,
    Timestamp,
    TrustState,
    TypeFilter,
)
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.retrieval import service
from m3_memory.domains.retrieval.model import (
    ScoredResults,
    SearchRequest,
    SearchResults,
    StoresResults,
    Suggestions,
)
from m3_memory.domains.retrieval.model import SearchMode as Mode
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.narrowing import ensure_own
from m3_memory.storage.predicates import ADMITTED, SCOPES, Filter

Variant = Annotated[str, Compat("the experiment whose tagged memories are read too")]
OwnUser = Annotated[str, Compat("may only name the caller's own user")]
OwnAgent = Annotated[str, Compat("may only name the caller itself")]
Unused = Annotated[float, Compat("has no effect yet")]
UnusedSwitch = Annotated[bool, Compat("has no effect yet")]
BenchData = Annotated[bool, Compat("has no effect: name the variant instead")]
Scratchpad = Annotated[bool, Compat("scratchpad memories too")]
OnlyScope = Annotated[MemoryScope, Param("only this scope")]
HeldThen = Annotated[Timestamp, Param("what held then")]
BelievedThen = Annotated[Timestamp, Param("what the store believed then")]
OfAgent = Annotated[Label, Param("only what this agent wrote")]
OfConversation = Annotated[Label, Param("only this conversation")]


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
    agent_filter: OfAgent = "",
    search_mode: SearchMode = "hybrid",
    scope: OnlyScope | None = None,
    as_of: HeldThen = "",
    known_at: BelievedThen = "",
    conversation_id: OfConversation = "",
    include_scratchpad: Scratchpad = False,
    variant: Variant = "",
    user_id: OwnUser = "",
    requesting_agent: OwnAgent = "",
    recency_bias: Unused = 0.0,
    adaptive_k: UnusedSwitch = False,
    include_bench_data: BenchData = False,
    explain: Annotated[Switch, Compat("has no effect: every hit says why; memory_suggest says more")] = False,
) -> SearchResults:
    """Find memories by words and meaning, best first. Ask before you answer or decide.

    Only what holds now is found; `as_of` asks what held at another moment. `score` runs from 0 to 1.
    """
    ensure_own(ctx.started_as, user_id=user_id, requesting_agent=requesting_agent)
    narrowing = Filter(
        as_of=as_of,
        known_at=known_at,
        variant=variant,
        scopes=_scopes(scope),
        types=_types(type_filter),
        excluded_types=_skipped(type_filter, include_scratchpad),
        agent_id=agent_filter,
        conversation_id=conversation_id,
    )
    return service.search(ctx, SearchRequest(query, k, Mode(search_mode), narrowing))


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
    type_filter: TypeFilter = "",
    agent_filter: OfAgent = "",
    search_mode: SearchMode = "hybrid",
    scope: OnlyScope | None = None,
    trust_state: Annotated[TrustState, Param("only of this trust; candidates come only so")] = "",
    as_of: HeldThen = "",
    known_at: BelievedThen = "",
    conversation_id: OfConversation = "",
    include_scratchpad: Scratchpad = False,
    variant: Variant = "",
    user_id: OwnUser = "",
    requesting_agent: OwnAgent = "",
    recency_bias: Unused = 0.0,
    include_bench_data: BenchData = False,
) -> ScoredResults:
    """Find memories and get all that is stored of each: labels, importance, times, trust.

    For programs; memory_search reads better and costs less. `score` runs from 0 to 1.
    """
    ensure_own(ctx.started_as, user_id=user_id, requesting_agent=requesting_agent)
    narrowing = Filter(
        as_of=as_of,
        known_at=known_at,
        trust_states=(trust_state,) if trust_state else ADMITTED,
        variant=variant,
        scopes=_scopes(scope),
        types=_types(type_filter),
        excluded_types=_skipped(type_filter, include_scratchpad),
        agent_id=agent_filter,
        conversation_id=conversation_id,
    )
    return service.search_scored(ctx, SearchRequest(query, k, Mode(search_mode), narrowing))


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
    type_filter: TypeFilter = "",
    search_mode: SearchMode = "hybrid",
    scope: OnlyScope | None = None,
    as_of: HeldThen = "",
    known_at: BelievedThen = "",
    variant: Variant = "",
    include_scratchpad: Scratchpad = False,
    include_bench_data: BenchData = False,
) -> Suggestions:
    """Preview a search and why it gives that: every part of each score, ranks by words and by meaning.

    Tells what a search leaves out too. `explain_id` asks about one memory. Nothing is counted as used.
    """
    narrowing = Filter(
        as_of=as_of,
        known_at=known_at,
        variant=variant,
        scopes=_scopes(scope),
        types=_types(type_filter),
        excluded_types=_skipped(type_filter, include_scratchpad),
    )
    return service.suggest(ctx, SearchRequest(query, k, Mode(search_mode), narrowing), explain_id)


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
    type_filter: TypeFilter = "",
    agent_filter: OfAgent = "",
    search_mode: SearchMode = "hybrid",
    scope: OnlyScope | None = None,
    as_of: HeldThen = "",
    known_at: BelievedThen = "",
    conversation_id: OfConversation = "",
    databases: Annotated[Label, Compat("the same as stores: names, never paths")] = "",
    include_scratchpad: Scratchpad = False,
    variant: Variant = "",
    user_id: OwnUser = "",
    requesting_agent: OwnAgent = "",
    recency_bias: Unused = 0.0,
    adaptive_k: UnusedSwitch = False,
    fan_out_limit: Annotated[int, Compat("has no effect: stores are asked one after the other")] = 0,
) -> StoresResults:
    """Search several declared stores at once, best first on one scale; every hit names its store.

    A store that can't be reached is named in `unreached`, and the others answer.
    """
    ensure_own(ctx.started_as, user_id=user_id, requesting_agent=requesting_agent)
    narrowing = Filter(
        as_of=as_of,
        known_at=known_at,
        variant=variant,
        scopes=_scopes(scope),
        types=_types(type_filter),
        excluded_types=_skipped(type_filter, include_scratchpad),
        agent_id=agent_filter,
        conversation_id=conversation_id,
    )
    request = SearchRequest(query, k, Mode(search_mode), narrowing)
    return service.search_stores(ctx, request, _named(ctx, stores, databases))


def _scopes(scope: Scope | None) -> tuple[Scope, ...]:
    return (scope,) if scope else SCOPES


def _types(type_filter: str) -> tuple[str, ...]:
    return (type_filter,) if type_filter else ()


def _skipped(type_filter: str, include_scratchpad: bool) -> tuple[str, ...]:
    """Scratchpad memories are found by who asks for them."""
    return () if include_scratchpad or type_filter == "scratchpad" else ("scratchpad",)


def _named(ctx: Context, stores: str, databases: str) -> tuple[str, ...]:
    """The stores asked for, each once; all declared ones if none is named."""
    if stores and databases:
        raise InvalidArgument("stores and databases say the same", "give stores alone")
    given = (part.strip() for part in (stores or databases).split(","))
    return tuple(dict.fromkeys(filter(None, given))) or ctx.stores.names
