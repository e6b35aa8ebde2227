"""What moving in and out takes and gives: frozen values, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from m3_memory.domains.memories.model import WriteRequest
from m3_memory.kernel.counting import counted

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
        return f"{counted(len(self.lines), 'line')}{more}:"


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
    """What came of an import. Of `problems` and `warnings` the first few are named; the counts are whole.

    `accepted` waited as candidates, and a person's file says them too.
    """

    digest: str
    trust_state: str
    imported: int
    accepted: int
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
        memories, edges = counted(self.imported, "memory"), counted(self.edges, "edge")
        return f"{would} {memories} ({self.trust_state}) and {edges}:"


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose memories are meant: the `user`'s, an `agent`'s, a `project`'s, a `conversation`'s, a `list`'s."""

    kind: str
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of the agent or the conversation; empty for all else."""
        return self.names[0] if self.kind in ("agent", "conversation") else ""


@dataclass(frozen=True)
class Doomed:
    """A memory that would be erased: what it says, as far as there is room, and how a search rates it."""

    id: str
    text: str
    type: str
    project: str
    trust_state: str
    score: float | None = None


@dataclass(frozen=True)
class ForgetResult:
    """What an erasure took away, or would: rows by table, and the memories, of which the first are named.

    `shown` is what the first of those say, before they are erased. `confirm` is what the erasure of exactly
    these takes. `removed` are copies that are gone, `left` such as may hold their text and are not ours to
    remove. `scrubbed` is false while bytes are left that the next that opens the store takes out.
    """

    status: str
    subject: str
    memories: int
    ids: list[str]
    counts: dict[str, int]
    confirm: str | None = None
    shown: list[Doomed] = field(default_factory=list[Doomed])
    erasure_id: str | None = None
    scrubbed: bool | None = None
    removed: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def headline(self) -> str:
        would = {"preview": "Would erase", "proposed": "To be looked at"}.get(self.status, "Erased")
        return f"{would}: {counted(self.memories, 'memory')} of this {self.subject}"


@dataclass(frozen=True)
class SubjectAccess:
    """Everything that is held of a subject, in pages: every row about each memory, by its table."""

    user_id: str
    request_id: str
    items_count: int
    items: list[dict[str, Any]]
    next_cursor: str | None = None

    def headline(self) -> str:
        return f"{len(self.items)} of {counted(self.items_count, 'memory')}"
