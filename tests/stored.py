"""Everything a store holds, so that two moments of it can be compared, whatever the engine."""

from __future__ import annotations

from typing import LiteralString

from m3_memory.storage.database import Database
from m3_memory.storage.sql import Row, sql

_TABLES: tuple[LiteralString, ...] = (
    "owners",
    "audiences",
    "agents",
    "memory_items",
    "memory_validity",
    "memory_state",
    "memory_relationships",
    "memory_corroborations",
    "memory_history",
    "memory_history_salts",
    "memory_embeddings",
    "embedding_spaces",
    "search_documents",
    "search_totals",
    "search_changes",
    "memory_tombstones",
    "review_items",
    "review_memories",
    "agents",
    "retention_policies",
    "erasures",
    "operators",
    "projects",
    "jobs",
)


def stored(database: Database) -> dict[str, list[Row]]:
    """The rows of every table, each table in an order of its own."""
    with database.read("local") as reader:
        return {table: sorted(reader.rows(sql("SELECT * FROM " + table)), key=repr) for table in _TABLES}
