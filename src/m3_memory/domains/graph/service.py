"""The neighbourhood of a memory: breadth first, within what one view shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.graph import queries
from m3_memory.domains.graph.model import GraphResult
from m3_memory.domains.memories import service as memories
from m3_memory.storage.predicates import Filter, View, view_of

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.domains.graph.queries import EdgeView
    from m3_memory.storage.database import Reader

MAX_EDGES = 500
"""So many edges one answer shows."""


def graph(
    ctx: Context, memory_id: str, narrowing: Filter, types: tuple[str, ...], depth: int, limit: int
) -> GraphResult:
    """A memory, at most `limit` within `depth` edges of these types (all, if none is named), their edges.

    A memory and an edge show if the same view shows them: as the world was at `as_of`, as the store knew it
    at `known_at`, an edge's two ends included. Raises NotFound and AmbiguousId.
    """
    start = memories.get(ctx, memory_id, narrowing)
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, narrowing)
        edges = queries.EdgeView(view, types)
        depths, cut = _reached(reader, edges, start.id, depth, limit) if start.memory else ({}, [])
        known = tuple(depths)
        current = queries.visible_among(reader, View(view.caller, Filter(), view.now), known)
        nodes = queries.nodes(reader, view, depths, current)
        between = queries.edges_among(reader, edges, known, MAX_EDGES + 1)
        if len(between) > MAX_EDGES:
            cut.append(f"the first {MAX_EDGES} edges are shown: name relationship_types, or a smaller limit")
        scope, between, how = list(view.audiences), between[:MAX_EDGES], (start.state, start.since)
        return GraphResult(start.id, start.status, scope, nodes, between, cut, *how, start.successor)


def _reached(
    reader: Reader, edges: EdgeView, start: str, furthest: int, limit: int
) -> tuple[dict[str, int], list[str]]:
    """Each memory reached and its distance, nearest first; and what to say if there are more."""
    depths, around = {start: 0}, [start]
    for depth in range(1, furthest + 1):
        room = limit - len(depths)
        found = queries.neighbours(reader, edges, around, depths, room + 1)
        around = found[:room]
        depths |= dict.fromkeys(around, depth)
        if len(found) > room:
            return depths, [f"more than {limit} memories: those {depth} steps away are not all shown"]
        if not around:
            break
    return depths, []
