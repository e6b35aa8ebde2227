"""What the tools about tools answer."""

from __future__ import annotations

from dataclasses import dataclass

from m3_memory.kernel.limits import JsonValue


@dataclass(frozen=True, slots=True)
class Domain:
    name: str
    description: str
    tool_count: int


@dataclass(frozen=True, slots=True)
class DomainList:
    """Every domain that has tools, and the names of the tools a connection starts with."""

    domains: tuple[Domain, ...]
    essentials_loaded: tuple[str, ...]
    hint: str


@dataclass(frozen=True, slots=True)
class LoadedDomain:
    """The tools of one domain, with what is needed to call them."""

    domain: str
    tools_now_available: tuple[str, ...]
    tools_total_registered: int
    schemas: tuple[dict[str, JsonValue], ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool: its name, its type as JSON Schema calls it, and whether it must be given."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """One tool in a line. A destructive one ends or removes what its caller names."""

    name: str
    domain: str
    summary: str
    destructive: bool
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class ToolIndex:
    """Tools and their number."""

    count: int
    tools: tuple[ToolSummary, ...]


@dataclass(frozen=True, slots=True)
class CapabilityHelp:
    """A page in Markdown, and how many tools stand on it."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """What one call of a batch came to: `result` if ok, else `error` (the code), `message` and `hint`.

    One that is ok and has no result but a message was done; its result was too large for the answer.
    """

    ok: bool
    tool: str
    dry_run: bool | None = None
    result: dict[str, JsonValue] | None = None
    error: str | None = None
    message: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The result of one call, or those of a batch in its order. A dry run has no result."""

    ok: bool
    tool: str | None = None
    dry_run: bool | None = None
    result: dict[str, JsonValue] | None = None
    batch: tuple[BatchEntry, ...] | None = None


@dataclass(frozen=True)
class Finding:
    part: str
    detail: str


@dataclass(frozen=True)
class Acceptance:
    """Whether the history of a store was taken as it is now; `lost` tells of what was noted beside it."""

    accepted: bool
    lost: str | None = None
    event: int | None = None


@dataclass(frozen=True)
class Examination:
    """What the doctor found."""

    ok: bool
    engine: str
    embedder: str
    counts: dict[str, int]
    faults: list[Finding]
    notes: list[str]
