"""SQL of the retrieval slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.retrieval.model import Hit
from m3_memory.kernel.interval import shown
from m3_memory.storage.predicates import View, visible
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader


def hits(reader: Reader, view: View, items: Sequence[int]) -> dict[int, Hit]:
    """What the view shows of these items, without score and reason."""
    found = reader.rows(_hits(view, items))
    return {
        number(r[0]): Hit(
            id=text(r[1]),
            version=number(r[2]),
            type=text(r[3]),
            title=text(r[4]),
            content=text(r[5]),
            score=0.0,
            valid_from=text(r[6]),
            valid_to=shown(text(r[7])),
            recorded_at=text(r[8]),
            agent_id=text(r[9]),
            trust_state=text(r[10]),
            actionable="",
            why="",
        )
        for r in found
    }


def _hits(view: View, items: Sequence[int]) -> Sql:
    return (
        sql(
            "SELECT visible.item, visible.memory_id, visible.version, visible.type, said.title, said.content,"
            " visible.valid_from, visible.valid_to, visible.recorded_from, visible.agent_id,"
            " visible.trust_state FROM"
        )
        + visible(view)
        + sql("JOIN memory_items AS said ON said.item = visible.item WHERE")
        + any_of("visible.item", tuple(items))
    )


def has_any(reader: Reader, view: View) -> bool:
    """Whether the view shows anything at all."""
    return reader.row(sql("SELECT 1 FROM") + visible(view) + sql("LIMIT 1")) is not None
