"""Tools that keep a store in order as time passes."""

from __future__ import annotations

from typing import Annotated, Any

from m3_memory.catalog.params import Compat, Label, Limit, Param, Switch
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.lifecycle import model
from m3_memory.domains.lifecycle.service import curation, deduplication, maintenance, reports
from m3_memory.errors import InvalidArgument, NeedsOperator
from m3_memory.kernel.caller import agent_name
from m3_memory.kernel.narrowing import ensure_own


@tool(
    Effect.WRITE,
    domain="memory",
    title="Tidy the store",
    idempotent=True,
    example={"dry_run": True},
)
def memory_maintenance(
    ctx: Context,
    decay: Annotated[Switch, Compat("has no effect: importance decays by itself as time passes")] = True,
    purge_expired: Annotated[Switch, Param("close what has expired; it stays restorable")] = True,
    prune_orphan_embeddings: Annotated[Switch, Param("drop vectors of versions that are gone")] = True,
    dry_run: Annotated[Switch, Param("only count")] = False,
    purge_closed_days: Annotated[
        int,
        Param(
            "a person's: remove for good what was deleted or expired so long ago", minimum=0, maximum=100_000
        ),
    ] = 0,
    everywhere: Annotated[
        Switch, Param("a person's: all places, retention and lapsed questions too")
    ] = False,
) -> model.MaintenanceResult:
    """Close what has expired, and clear up behind it. Nothing is lost by it, or waits for it.

    Servers do this by themselves every hour, everywhere.
    """
    if (purge_closed_days or everywhere) and not ctx.caller.is_operator:
        raise NeedsOperator(
            "only a person tidies everywhere, or removes memories for good",
            "leave everywhere and purge_closed_days out",
        )
    request = model.MaintenanceRequest(
        purge_expired,
        prune_orphan_embeddings,
        whole=ctx.caller.is_operator,
        dry_run=dry_run,
        purge_days=purge_closed_days,
    )
    return maintenance.maintain(ctx, request)


@tool(
    Effect.OPERATE,
    domain="memory",
    title="Set how much of an agent's memories is kept",
    idempotent=True,
    example={"agent_id": "claude", "max_memories": 5000},
)
def memory_set_retention(
    ctx: Context,
    agent_id: Annotated[Label, Param("whose memories")],
    max_memories: Annotated[
        int | None, Param("keep at most so many; 0: no limit, as beside ttl_days; else 1000", minimum=0)
    ] = None,
    ttl_days: Annotated[
        int, Param("keep for so many days after the last change; 0: no limit", minimum=0, maximum=100_000)
    ] = 0,
    auto_archive: Annotated[int, Compat("has no effect: what is closed can always be restored")] = 1,
) -> model.RetentionResult:
    """Limit what is kept of one agent's memories, in all projects. Maintenance closes the least important.

    Pinned and verified memories stay; what was closed comes back by memory_restore.
    """
    if not agent_name(agent_id):
        raise InvalidArgument("agent_id names no agent", "give the agent's name, as agent_list shows it")
    if max_memories is None:
        max_memories = 0 if ttl_days else 1000
    return maintenance.set_retention(ctx, model.Policy(agent_name(agent_id), max_memories, ttl_days))


@tool(
    Effect.WRITE,
    domain="memory",
    title="Find near-duplicates",
    idempotent=True,
    brief=("groups",),
    example={"threshold": 0.95},
)
def memory_dedup(
    ctx: Context,
    threshold: Annotated[float, Param("cosine from which a pair is near", minimum=0.5, maximum=1)] = 0.92,
    dry_run: Annotated[Switch, Param("only list; else put duplicates to a person")] = True,
    limit: Annotated[int, Param("pairs at most; 0: 500", minimum=0, maximum=500)] = 0,
) -> model.DedupResult:
    """Find memories that say nearly the same, and let a person decide. Nothing is deleted here.

    Only pairs whose texts say the same are proposed for merging; the others are near and differ in `reason`.
    """
    return deduplication.dedup(ctx, threshold, limit, dry_run=dry_run)


@tool(
    Effect.READ,
    domain="memory",
    title="List what to look at again",
    timeless="what is due is asked of today",
    brief=("memories",),
    example={"limit": 10},
)
def memory_refresh_queue(
    ctx: Context,
    limit: Limit = 50,
    include_future: Annotated[Switch, Param("what is due later, too")] = False,
    agent_id: Annotated[Label, Compat("may only name the caller itself")] = "",
) -> model.RefreshQueue:
    """List memories whose refresh date has come, the longest due first. memory_update sets a new date."""
    ensure_own(ctx.started_as, agent_id=agent_id)
    return reports.refresh_queue(ctx, limit, future=include_future)


@tool(
    Effect.READ,
    domain="memory",
    title="Summarise what happened",
    timeless="it looks back from today",
    brief=("top_contradicted", "most_revised"),
    example={"window_days": 7},
)
def memory_lifecycle_summary(
    ctx: Context,
    window_days: Annotated[int, Param("days to look back", minimum=1, maximum=3650)] = 7,
    top_n: Annotated[int, Param("length of the lists", minimum=0, maximum=100)] = 5,
) -> model.LifecycleSummary:
    """Count what happened to memories lately: events by kind, agreement and doubt, most revised."""
    return reports.summary(ctx, window_days, top_n)


@tool(
    Effect.DESTROY,
    domain="memory",
    title="Carry out a curation plan",
    brief=("link", "errors"),
    example={"plan": {"delete": ["01990a5e-7b1c-7d3e-8f00-000000000001"]}, "dry_run": True},
)
def curate_memory_apply(
    ctx: Context,
    plan: Annotated[
        dict[str, Any],
        Param(
            "keys, each optional: update [{id, …}], link [{from_id, to_id, relationship_type}], delete [ids],"
            " delete_hard [ids], expects {id: mark}, expires_at"
        ),
    ],
    dry_run: Annotated[Switch, Param("say what would be done; change nothing")] = False,
) -> model.CurationResult:
    """Carry out many changes as one operation, which one memory_undo takes back.

    What a person verified or pinned, more than 20 endings without the grant curate, and every delete_hard
    waits for a person instead. `expects` refuses the plan where a memory changed since it was made.
    """
    return curation.curate(ctx, curation.read_plan(plan), dry_run=dry_run)
