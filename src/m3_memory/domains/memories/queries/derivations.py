"""SQL over what memories were derived from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.queries.edges import in_parts
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader


def sources_of_derived(reader: Reader, memory_ids: Sequence[str]) -> dict[str, set[tuple[str, str]]]:
    """The memories derived from these, each with all its sources as (kind, id)."""
    found: dict[str, set[tuple[str, str]]] = {}
    for part in in_parts(memory_ids):
        rows = reader.rows(
            sql(
                "SELECT every.derived_id, every.source_kind, every.source_id FROM derivations AS every"
                " WHERE every.derived_kind = 'memory' AND every.derived_id IN"
                " (SELECT derived_id FROM derivations WHERE derived_kind = 'memory'"
                " AND source_kind = 'memory' AND"
            )
            + any_of("source_id", part)
            + sql(")")
        )
        for derived, kind, source in rows:
            found.setdefault(text(derived), set()).add((text(kind), text(source)))
    return found
