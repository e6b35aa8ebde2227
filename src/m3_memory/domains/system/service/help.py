"""The catalog told to whoever asks: as data for programs, as a page for readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from m3_memory.catalog.answers import fitting
from m3_memory.domains.system.model import Argument, CapabilityHelp, ToolIndex, ToolSummary
from m3_memory.domains.system.service.catalog import tools_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from m3_memory.context import Context

_NOTHING = "No tool matches. `m3_help_capabilities` without arguments shows all there are.\n"


def index(ctx: Context, domain: str = "") -> ToolIndex:
    """Every tool with its arguments, or those of one domain. Raises InvalidArgument for an unknown one."""
    found = [summary for name in _domains(ctx, domain) for summary in _summaries(ctx, name)]
    return ToolIndex(len(found), tuple(found))


def capabilities(ctx: Context, domain: str = "", query: str = "") -> CapabilityHelp:
    """What the tools can do, as Markdown: all, those of a domain, those that a text appears in.

    Raises InvalidArgument for an unknown domain.
    """
    wanted = query.strip().lower()
    lines, count = list[str](), 0
    for name, description, _ in tools_of(ctx).domains():
        if domain and name != domain:
            continue
        tools = [tool for tool in tools_of(ctx).schemas(name) if wanted in _searched(tool)]
        if tools:
            lines += [f"## {name}: {description}", "", *(line for tool in tools for line in _told(tool))]
        count += len(tools)
    if domain:
        tools_of(ctx).schemas(domain)  # an unknown domain is refused, with those there are
    shown = list(fitting(lines))
    cut = [] if len(shown) == len(lines) else ["", "More did not fit: name a domain."]
    text = "\n".join([*_head(ctx), *shown, *cut]) + "\n" if count else _NOTHING
    return CapabilityHelp(text, count)


def _domains(ctx: Context, domain: str) -> Sequence[str]:
    return (domain,) if domain else [name for name, _, _ in tools_of(ctx).domains()]


def _summaries(ctx: Context, domain: str) -> Iterator[ToolSummary]:
    for tool in tools_of(ctx).schemas(domain):
        yield ToolSummary(
            name=str(tool["name"]),
            domain=domain,
            summary=_summary(tool),
            destructive=bool(tool["annotations"].get("destructiveHint", False)),
            args=tuple(_arguments(tool)),
        )


def _arguments(tool: Mapping[str, Any]) -> Iterator[Argument]:
    schema = cast("dict[str, Any]", tool["inputSchema"])
    for name, about in schema.get("properties", {}).items():
        yield Argument(name, str(about["type"]), name in schema.get("required", ()))


def _summary(tool: Mapping[str, Any]) -> str:
    return str(tool["description"]).partition("\n")[0]


def _searched(tool: Mapping[str, Any]) -> str:
    return f"{tool['name']} {tool['title']} {tool['description']}".lower()


def _told(tool: Mapping[str, Any]) -> Iterator[str]:
    arguments = ", ".join(f"{each.name}{'' if each.required else '?'}" for each in _arguments(tool))
    yield f"* **{tool['name']}**({arguments}): {_summary(tool)}"


def _head(ctx: Context) -> Iterator[str]:
    yield "# What m3 Memory can do"
    yield ""
    yield "`m3_call` runs any of these by its name; `?` marks arguments that may be left out."
    if len(ctx.stores.names) > 1:
        yield f"`store` names another store in any call: {', '.join(ctx.stores.names)}."
    yield ""
