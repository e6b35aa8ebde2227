"""SQL of the retrieval slice: one function per question."""

from __future__ import annotations

from m3_memory.domains.retrieval.queries.pages import Place, counted, counted_by_type, newest_place, page
from m3_memory.domains.retrieval.queries.rows import has_any, hits, item_of, rows

__all__ = [
    "Place",
    "counted",
    "counted_by_type",
    "has_any",
    "hits",
    "item_of",
    "newest_place",
    "page",
    "rows",
]
