"""The tools about tools: what there is, and running any of it by name."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import Param
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.system import service
from m3_memory.domains.system.model import CallAnswer, CapabilityHelp, DomainList, LoadedDomain, ToolIndex
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.limits import JsonValue

_TIMELESS = "it tells of tools, not of memories"

JsonObject = dict[str, JsonValue]


@tool(
    Effect.READ,
    domain="admin",
    title="List tool domains",
    essential=True,
    example={},
    timeless=_TIMELESS,
    dispatchable=False,
    brief=("domains",),
)
def tools_list_domains(ctx: Context) -> DomainList:
    """List the domains of tools and how many each has."""
    return service.list_domains(ctx)


@tool(
    Effect.READ,
    domain="admin",
    title="Load a tool domain",
    essential=True,
    example={"domain": "memory"},
    timeless=_TIMELESS,
    dispatchable=False,
)
def tools_load_domain(
    ctx: Context, domain: Annotated[str, Param("as tools_list_domains names it")]
) -> LoadedDomain:
    """Get the schemas of a domain's tools, to call them by name or through m3_call."""
    return service.load_domain(ctx, domain)


@tool(
    Effect.READ,
    domain="admin",
    title="Index of all tools",
    example={"domain": "memory"},
    timeless=_TIMELESS,
    brief=("tools",),
)
def m3_index(ctx: Context, domain: Annotated[str, Param("only this domain")] = "") -> ToolIndex:
    """List every tool with its arguments, for programs."""
    return service.index(ctx, domain)


@tool(
    Effect.READ,
    domain="admin",
    title="Help on all tools",
    example={"query": "undo"},
    timeless=_TIMELESS,
)
def m3_help_capabilities(
    ctx: Context,
    domain: Annotated[str, Param("only this domain")] = "",
    query: Annotated[str, Param("only tools whose name or description has this text")] = "",
) -> CapabilityHelp:
    """Read what the tools can do, as a Markdown page."""
    return service.capabilities(ctx, domain, query)


@tool(
    Effect.DESTROY,
    domain="admin",
    title="Run any tool",
    essential=True,
    example={"tool": "memory_search", "args": {"query": "release steps"}, "dry_run": True},
    dispatchable=False,
    brief=("batch",),
)
def m3_call(
    ctx: Context,
    tool: Annotated[str, Param("its name")] = "",
    args: Annotated[JsonObject | None, Param("its arguments")] = None,
    batch: Annotated[
        list[JsonObject] | None, Param("instead: {tool, args, dry_run} each", max_items=100)
    ] = None,
    dry_run: Annotated[bool, Param("check arguments and rights only")] = False,
) -> CallAnswer:
    """Run any tool by its name, listed or not; or many in order, each failing for itself.

    Effects and rights are those of the tools run.
    """
    if bool(tool) == bool(batch):
        raise InvalidArgument("m3_call takes a tool or a batch, one of them", "give tool and args, or batch")
    if batch and args:
        raise InvalidArgument(
            "args belong to a tool, not to a batch", "give every entry of the batch its own"
        )
    if batch:
        return service.run_batch(ctx, batch, dry_run=dry_run)
    return service.run_one(ctx, tool, args or {}, dry_run=dry_run)
