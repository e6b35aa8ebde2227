"""Listing, explaining, loading and running tools through tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from m3_memory.catalog.answers import LIST_BYTES, fitting, size_bytes
from m3_memory.catalog.conversion import convert_arguments
from m3_memory.catalog.schema import shape_of
from m3_memory.catalog.tool import Parameter
from m3_memory.domains.system.model import (
    Argument,
    BatchEntry,
    CallAnswer,
    CapabilityHelp,
    Domain,
    DomainList,
    LoadedDomain,
    ToolIndex,
    ToolSummary,
)
from m3_memory.errors import M3Error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from m3_memory.context import Context, Tools

_HINT = "tools_load_domain gives a domain's schemas; m3_call runs any tool by name, loaded or not"
_NOTHING = "No tool matches. `m3_help_capabilities` without arguments shows all there are.\n"
_LOADED_KEYS = ("name", "description", "inputSchema")
_ENTRY = (
    Parameter("tool", shape_of(str)),
    Parameter("args", shape_of(dict), required=False, default={}),
    Parameter("dry_run", shape_of(bool), required=False),
)

SMALL_BYTES = LIST_BYTES // 100
"""A result of no more is always sent: what a change came to is never left out of a batch of a hundred."""


def list_domains(ctx: Context) -> DomainList:
    """Every domain with its number of tools."""
    tools = _tools(ctx)
    return DomainList(tuple(Domain(*domain) for domain in tools.domains()), tuple(tools.essentials()), _HINT)


def load_domain(ctx: Context, domain: str) -> LoadedDomain:
    """The schemas of a domain's tools. Raises InvalidArgument, with the legal names, for an unknown one."""
    tools = _tools(ctx)
    entries = tools.schemas(domain)
    return LoadedDomain(
        domain=domain,
        tools_now_available=tuple(str(entry["name"]) for entry in entries),
        tools_total_registered=sum(count for _, _, count in tools.domains()),
        schemas=tuple({key: entry[key] for key in _LOADED_KEYS} for entry in entries),
    )


def run_one(ctx: Context, tool: str, arguments: Mapping[str, object], *, dry_run: bool) -> CallAnswer:
    """Runs one tool, or only checks the arguments and the caller's rights. Its error is that of the call."""
    result = _tools(ctx).run(tool, dict(arguments), dry_run=dry_run)
    return CallAnswer(ok=True, tool=tool, dry_run=dry_run or None, result=result)


def run_batch(ctx: Context, entries: Sequence[Mapping[str, object]], *, dry_run: bool) -> CallAnswer:
    """Runs the calls in their order; each succeeds or fails for itself. `ok` says whether all succeeded.

    A large result for which there is no room left in the answer is left out of it, and that is said.
    """
    answers, left = list[BatchEntry](), LIST_BYTES
    for entry in entries:
        answer = _run_entry(ctx, entry, dry_run)
        size = size_bytes(answer.result)
        if size > max(left, SMALL_BYTES):
            answer = _without_result(answer, size)
        else:
            left -= size
        answers.append(answer)
    return CallAnswer(ok=all(answer.ok for answer in answers), batch=tuple(answers))


def index(ctx: Context, domain: str = "") -> ToolIndex:
    """Every tool with its arguments, or those of one domain. Raises InvalidArgument for an unknown one."""
    names = (domain,) if domain else [name for name, _, _ in _tools(ctx).domains()]
    found = [summary for name in names for summary in _summaries(ctx, name)]
    return ToolIndex(len(found), tuple(found))


def capabilities(ctx: Context, domain: str = "", query: str = "") -> CapabilityHelp:
    """What the tools can do, as Markdown: all, those of a domain, those that a text appears in.

    Raises InvalidArgument for an unknown domain.
    """
    wanted = query.strip().lower()
    lines, count = list[str](), 0
    for name, description, _ in _tools(ctx).domains():
        if domain and name != domain:
            continue
        tools = [tool for tool in _tools(ctx).schemas(name) if wanted in _searched(tool)]
        if tools:
            lines += [f"## {name}: {description}", "", *(line for tool in tools for line in _told(tool))]
        count += len(tools)
    if domain:
        _tools(ctx).schemas(domain)  # an unknown domain is refused, with those there are
    shown = list(fitting(lines))
    cut = [] if len(shown) == len(lines) else ["", "More did not fit: name a domain."]
    text = "\n".join([*_head(ctx), *shown, *cut]) + "\n" if count else _NOTHING
    return CapabilityHelp(text, count)


def _run_entry(ctx: Context, entry: Mapping[str, object], dry_run: bool) -> BatchEntry:
    name = entry.get("tool")
    tool = name if isinstance(name, str) else ""
    try:
        given = convert_arguments("a batch entry", _ENTRY, {"dry_run": dry_run} | dict(entry))
        arguments = cast("dict[str, object]", given["args"])
        done = run_one(ctx, cast(str, given["tool"]), arguments, dry_run=given["dry_run"] is True)
    except M3Error as error:
        return BatchEntry(ok=False, tool=tool, error=error.code, message=error.message, hint=error.hint)
    return BatchEntry(ok=True, tool=tool, dry_run=done.dry_run, result=done.result)


def _without_result(answer: BatchEntry, size: int) -> BatchEntry:
    return replace(
        answer,
        result=None,
        message=f"the call was done; its result of {size:,} bytes did not fit into this answer",
        hint="call a tool that reads by itself, or in a smaller batch, to get its result",
    )


def _summaries(ctx: Context, domain: str) -> Iterator[ToolSummary]:
    for tool in _tools(ctx).schemas(domain):
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


def _tools(ctx: Context) -> Tools:
    """The catalog as this call may use it."""
    if ctx.tools is None:
        raise RuntimeError("this tool runs through dispatch only")
    return ctx.tools
