"""What moving in and out takes and gives: frozen values, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from m3_memory.domains.memories.model import WriteRequest

FORMAT = "m3-memories"
VERSION = 1

MEMORY = "memory"
EDGE = "edge"
HEADING = "export"

ExportLine: TypeAlias = dict[str, Any]
"""One line of an export: a memory or an edge, by its `kind`."""


@dataclass(frozen=True)
class ExportPage:
    """One page of an export. `next_cursor` leads to the next one; the last has none."""

    lines: list[ExportLine]
    scope: list[str]
    next_cursor: str | None = None

    def headline(self) -> str:
        more = "; more follow" if self.next_cursor else ""
        return f"{len(self.lines)} lines{more}:"


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A memory as a file gives it: nothing of it is trusted. An id that is none begins with `?`."""

    line: int
    id: str
    request: WriteRequest
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """An edge between two memories, by the ids that the file gives them."""

    line: int
    from_id: str
    to_id: str
    type: str


@dataclass(frozen=True)
class Problem:
    """A line that did not come in, and why."""

    line: int
    code: str
    message: str


Entry: TypeAlias = "MemoryLine | EdgeLine | Problem"


@dataclass(frozen=True)
class ImportResult:
    """What came of an import. Of `problems` and `warnings` the first few are named; the counts are whole."""

    digest: str
    trust_state: str
    imported: int
    unchanged: int
    duplicates: int
    for_review: int
    edges: int
    edges_without_ends: int
    refused: int
    malformed: int
    problems: list[Problem] = field(default_factory=list[Problem])
    warnings: list[str] = field(default_factory=list[str])
    dry_run: bool = False
    stopped: str | None = None

    def headline(self) -> str:
        would = "Would import" if self.dry_run else "Imported"
        return f"{would} {self.imported} memories ({self.trust_state}) and {self.edges} edges:"
