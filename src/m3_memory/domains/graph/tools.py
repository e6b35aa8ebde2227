"""Tools that follow edges."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import Limit, MemoryIdOrPrefix, Param, ProjectName, RelationshipType, Timestamp
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.graph import service
from m3_memory.domains.graph.model import GraphResult
from m3_memory.storage.predicates import Filter


@tool(
    Effect.READ,
    domain="memory",
    title="Graph around a memory",
    example={"memory_id": "01990a5e-7b1c-7d3e-8f00-000000000001", "depth": 2},
)
def memory_graph(
    ctx: Context,
    memory_id: MemoryIdOrPrefix,
    depth: Annotated[int, Param("how many edges away", minimum=1, maximum=3)] = 1,
    relationship_types: Annotated[
        list[RelationshipType] | None, Param("along these alone", max_items=12)
    ] = None,
    limit: Annotated[Limit, Param("how many memories at most, the first included")] = 50,
    as_of: Timestamp = "",
    known_at: Annotated[Timestamp, Param("as the store knew it then")] = "",
    project: ProjectName = "",
) -> GraphResult:
    """Show the memories around one, up to three edges away, and the edges between them.

    Edges are set by memory_link. What took a memory's place stands in `successor`, as memory_get says it.
    """
    narrowing = Filter(as_of=as_of, known_at=known_at, project=project)
    return service.graph(ctx, memory_id, narrowing, tuple(relationship_types or ()), depth, limit)
