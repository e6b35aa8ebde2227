"""Tools that relate memories to each other."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import MemoryId, Param, RelationshipType
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.memories.service import edges
from m3_memory.domains.memories.service.edges import LinkBulkResult, LinkRequest, LinkResult
from m3_memory.kernel.limits import MAX_LINKS, JsonValue

JsonObject = dict[str, JsonValue]

_ENDS: JsonObject = {
    "from_id": "01990a5e-7b1c-7d3e-8f00-000000000001",
    "to_id": "01990a5e-7b1c-7d3e-8f00-000000000002",
}


@tool(
    Effect.WRITE,
    domain="memory",
    title="Link two memories",
    idempotent=True,
    example={**_ENDS, "relationship_type": "supports"},
)
def memory_link(
    ctx: Context, from_id: MemoryId, to_id: MemoryId, relationship_type: RelationshipType = "related"
) -> LinkResult:
    """Relate one memory to another by a typed edge, which memory_graph shows.

    Both are to be current. Linked already: answers `exists`. An edge ends nothing: for what no longer holds
    use memory_supersede.
    """
    return edges.link(ctx, LinkRequest(from_id, to_id, relationship_type))


@tool(
    Effect.WRITE,
    domain="memory",
    title="Link many memories",
    idempotent=True,
    example={"links": [_ENDS], "relationship_type": "references"},
)
def memory_link_bulk(
    ctx: Context,
    links: Annotated[
        list[JsonObject], Param("{from_id, to_id, relationship_type} each", max_items=MAX_LINKS)
    ],
    relationship_type: Annotated[RelationshipType, Param("of those that name none")] = "related",
) -> LinkBulkResult:
    """Relate many memories, in order; one bad link never stops the rest, and `results` says how each went."""
    return edges.link_all(ctx, [edges.link_request(given, relationship_type) for given in links])


@tool(Effect.WRITE, domain="memory", title="Unlink two memories", idempotent=True, example=_ENDS)
def memory_unlink(
    ctx: Context, from_id: MemoryId, to_id: MemoryId, relationship_type: RelationshipType = "related"
) -> LinkResult:
    """Take an edge between two memories away; memory_undo brings it back. Not linked: answers `absent`."""
    return edges.unlink(ctx, LinkRequest(from_id, to_id, relationship_type))
