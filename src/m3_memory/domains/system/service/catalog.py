"""Listing, loading and running tools through tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from m3_memory.catalog.answers import LIST_BYTES, size_bytes
from m3_memory.catalog.conversion import convert_arguments
from m3_memory.catalog.schema import shape_of
from m3_memory.catalog.tool import Parameter
from m3_memory.domains.system.model import BatchEntry, CallAnswer, Domain, DomainList, LoadedDomain
from m3_memory.errors import M3Error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from m3_memory.context import Context, Tools

_HINT = "tools_load_domain gives a domain's schemas; m3_call runs any tool by name, loaded or not"
_LOADED_KEYS = ("name", "description", "inputSchema")
_ENTRY = (
    Parameter("tool", shape_of(str)),
    Parameter("args", shape_of(dict), required=False, default={}),
    Parameter("dry_run", shape_of(bool), required=False),
)


SMALL_BYTES = LIST_BYTES // 100
"""A result of no more is always sent: what a change came to is never left out of a batch of a hundred."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool, its arguments, and whether only to check them and the caller's rights."""

    tool: str
    arguments: Mapping[str, object]
    dry_run: bool = False


def list_domains(ctx: Context) -> DomainList:
    """Every domain with its number of tools."""
    tools = tools_of(ctx)
    return DomainList(tuple(Domain(*domain) for domain in tools.domains()), tuple(tools.essentials()), _HINT)


def load_domain(ctx: Context, domain: str) -> LoadedDomain:
    """The schemas of a domain's tools. Raises InvalidArgument, with the legal names, for an unknown one."""
    tools = tools_of(ctx)
    entries = tools.schemas(domain)
    return LoadedDomain(
        domain=domain,
        tools_now_available=tuple(str(entry["name"]) for entry in entries),
        tools_total_registered=sum(count for _, _, count in tools.domains()),
        schemas=tuple({key: entry[key] for key in _LOADED_KEYS} for entry in entries),
    )


def run_one(ctx: Context, call: ToolCall) -> CallAnswer:
    """Runs one tool. Its error is the error of the call."""
    result = tools_of(ctx).run(call.tool, dict(call.arguments), dry_run=call.dry_run)
    return CallAnswer(ok=True, tool=call.tool, dry_run=call.dry_run or None, result=result)


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


def _run_entry(ctx: Context, entry: Mapping[str, object], dry_run: bool) -> BatchEntry:
    name = entry.get("tool")
    tool = name if isinstance(name, str) else ""
    try:
        done = run_one(ctx, _call_of(entry, dry_run))
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


def _call_of(entry: Mapping[str, object], dry_run: bool) -> ToolCall:
    given = convert_arguments("a batch entry", _ENTRY, {"dry_run": dry_run} | dict(entry))
    return ToolCall(
        tool=cast(str, given["tool"]),
        arguments=cast("dict[str, object]", given["args"]),
        dry_run=given["dry_run"] is True,
    )


def tools_of(ctx: Context) -> Tools:
    """The catalog as this call may use it."""
    if ctx.tools is None:
        raise RuntimeError("this tool runs through dispatch only")
    return ctx.tools
