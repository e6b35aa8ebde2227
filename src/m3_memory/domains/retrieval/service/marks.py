"""Rows as they are shown: with what is said of them today besides what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories.model.record import actionable
from m3_memory.domains.memories.service.confidence import marks_of
from m3_memory.domains.retrieval import queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.model.record import Marks
    from m3_memory.domains.retrieval.model import Row
    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View


def marked_rows(
    reader: Reader, view: View, items: Sequence[int], longest: int = queries.WHOLE
) -> dict[int, Row]:
    """What the view shows of these items, with their confidence and the other sides of their conflicts."""
    rows = queries.rows(reader, view, items, longest)
    marks = marks_of(reader, [row.id for row in rows.values()])
    return {item: _marked(row, marks[row.id]) for item, row in rows.items()}


def _marked(row: Row, marks: Marks) -> Row:
    confidence = marks.confidence.value if marks.confidence else None
    if not marks.disputed_by:
        return replace(row, confidence=confidence)
    may = actionable(row.trust_state, is_disputed=True)
    return replace(row, confidence=confidence, disputed_by=marks.disputed_by, actionable=may)
