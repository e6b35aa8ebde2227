"""What the retrieval slice does: searching, listing, previewing."""

from __future__ import annotations

from m3_memory.domains.retrieval.service.listing import list_memories
from m3_memory.domains.retrieval.service.searching import search, search_scored, search_stores
from m3_memory.domains.retrieval.service.suggesting import suggest

__all__ = ["list_memories", "search", "search_scored", "search_stores", "suggest"]
