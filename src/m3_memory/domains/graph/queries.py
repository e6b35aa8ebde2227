"""SQL of the graph: neighbours in a view, and what stands between memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.graph.model import GraphEdge, GraphNode
from m3_memory.storage.predicates import is_open, visible
from m3_memory.storage.sql import Sql, any_of, join, sql
from m3_memory.storage.transaction import text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View

SNIPPET_CHARACTERS = 200
"""How much of a memory's content a node shows."""


@dataclass(frozen=True, slots=True)
class EdgeView:
    """Which edges are looked at: those of these types (all, if none is named) that the view's store knew."""

    view: View
    types: tuple[str, ...] = ()

    def holds(self) -> Sql:
        """The conditions on `memory_relationships AS e`."""
        known = self.view.filter.known_at
        parts = [sql("e.recorded_from <= ? AND e.recorded_to > ?", known, known) if known else is_open("e")]
        if self.types:
            parts.append(any_of("e.type", self.types))
        return join(" AND ", parts)


def neighbours(
    reader: Reader, edges: EdgeView, around: Sequence[str], but: Collection[str], limit: int
) -> list[str]:
    """Visible memories one edge away from any of these, whatever its direction; the newest edge first."""
    found = reader.rows(
        sql("SELECT near.memory_id, max(near.relationship) AS newest FROM (")
        + sql("SELECT e.to_id AS memory_id, e.relationship FROM memory_relationships AS e WHERE")
        + join(" AND ", (any_of("e.from_id", around), edges.holds()))
        + sql("UNION ALL SELECT e.from_id, e.relationship FROM memory_relationships AS e WHERE")
        + join(" AND ", (any_of("e.to_id", around), edges.holds()))
        + sql(") AS near JOIN")
        + visible(edges.view)
        + sql("ON visible.memory_id = near.memory_id WHERE NOT")
        + any_of("near.memory_id", tuple(but))
        + sql("GROUP BY near.memory_id ORDER BY newest DESC LIMIT ?", limit)
    )
    return [text(row[0]) for row in found]


def edges_among(reader: Reader, edges: EdgeView, memory_ids: Sequence[str], limit: int) -> list[GraphEdge]:
    """The edges between these memories, oldest first."""
    found = reader.rows(
        sql("SELECT e.from_id, e.to_id, e.type, e.recorded_from FROM memory_relationships AS e WHERE")
        + join(" AND ", (any_of("e.from_id", memory_ids), any_of("e.to_id", memory_ids), edges.holds()))
        + sql("ORDER BY e.relationship LIMIT ?", limit)
    )
    return [GraphEdge(text(row[0]), text(row[1]), text(row[2]), text(row[3])) for row in found]


def nodes(reader: Reader, view: View, depths: dict[str, int], current: Collection[str]) -> list[GraphNode]:
    """The memories of which the view shows these, nearest first, in the order given."""
    found = reader.rows(
        sql(
            "SELECT visible.memory_id, visible.type, i.title, substr(i.content, 1, ?) FROM",
            SNIPPET_CHARACTERS,
        )
        + visible(view)
        + sql("JOIN memory_items AS i ON i.item = visible.item WHERE")
        + any_of("visible.memory_id", tuple(depths))
    )
    rows = {text(row[0]): row for row in found}
    return [
        GraphNode(key, text(row[1]), text(row[2]), text(row[3]), depth, key in current)
        for key, depth in depths.items()
        if (row := rows.get(key))
    ]


def visible_among(reader: Reader, view: View, memory_ids: Sequence[str]) -> frozenset[str]:
    """Which of these the view shows."""
    found = reader.rows(
        sql("SELECT memory_id FROM") + visible(view) + sql("WHERE") + any_of("memory_id", memory_ids)
    )
    return frozenset(text(row[0]) for row in found)
