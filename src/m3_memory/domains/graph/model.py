"""What the neighbourhood of a memory is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from m3_memory.kernel.counting import counted


@dataclass(frozen=True)
class GraphNode:
    """A memory some steps away; `current` tells whether a default read shows it now."""

    id: str
    type: str
    title: str
    snippet: str
    depth: int
    current: bool


@dataclass(frozen=True)
class GraphEdge:
    """An edge between two shown memories; `since` is when the store learned of it."""

    from_id: str
    to_id: str
    relationship_type: str
    since: str


@dataclass(frozen=True)
class GraphResult:
    """The neighbourhood of a memory, nearest first. `cut` says what was left out, if anything was.

    One that the view does not show has no neighbourhood: the answer then says how it stands, as a get does.
    """

    id: str
    status: str
    scope: list[str]
    nodes: list[GraphNode] = field(default_factory=list[GraphNode])
    edges: list[GraphEdge] = field(default_factory=list[GraphEdge])
    cut: list[str] = field(default_factory=list[str])
    state: str | None = None
    since: str | None = None
    successor: str | None = None

    def headline(self) -> str:
        if not self.nodes:
            return f"Memory {self.id}: {self.status}" + (f" ({self.state})" if self.state else "")
        others = counted(len(self.nodes) - 1, "memory")
        return f"{others} and {counted(len(self.edges), 'edge')} around {self.id}"
