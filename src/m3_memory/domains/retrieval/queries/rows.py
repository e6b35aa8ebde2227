"""What a view shows of given items.

The items are looked up first, and each of them in the view, and are named for both: else either engine may
read all that the audiences hold.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from m3_memory.domains.memories.model import actionable
from m3_memory.domains.retrieval.model import Hit, Row
from m3_memory.kernel.interval import shown
from m3_memory.storage import access
from m3_memory.storage.predicates import View, visible
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, real, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.access import Access
    from m3_memory.storage.database import Reader
    from m3_memory.storage.sql import Row as Found

_UNSEEN = access.Access(0, "")


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
            actionable=actionable(text(r[10])),
            why="",
        )
        for r in found
    }


def rows(
    reader: Reader, view: View, items: Sequence[int], longest: int, *, whole: bool = False
) -> dict[int, Row]:
    """What the view shows of these items as rows, of their content no more than `longest` characters.

    `whole` rows have metadata and source too.
    """
    found = reader.rows(_rows(view, items, longest))
    accesses = access.accesses(reader, [text(row[1]) for row in found])
    return {number(row[0]): _row(row, accesses.get(text(row[1]), _UNSEEN), whole) for row in found}


def item_of(reader: Reader, view: View, memory_id: str) -> int | None:
    """The item by which the view shows a memory."""
    found = reader.row(sql("SELECT item FROM") + visible(view) + sql("WHERE memory_id = ?", memory_id))
    return number(found[0]) if found else None


def has_any(reader: Reader, view: View) -> bool:
    """Whether the view shows anything at all."""
    return reader.row(sql("SELECT 1 FROM") + visible(view) + sql("LIMIT 1")) is not None


def _hits(view: View, items: Sequence[int]) -> Sql:
    return (
        sql(
            "SELECT visible.item, visible.memory_id, visible.version, visible.type, said.title, said.content,"
            " visible.valid_from, visible.valid_to, visible.recorded_from, visible.agent_id,"
            " visible.trust_state FROM memory_items AS said CROSS JOIN"
        )
        + visible(view)
        + sql("WHERE visible.item = said.item AND")
        + any_of("said.item", tuple(items))
        + sql("AND")
        + any_of("visible.item", tuple(items))
    )


def _rows(view: View, items: Sequence[int], longest: int) -> Sql:
    return (
        sql(
            "SELECT visible.item, visible.memory_id, visible.version, visible.type, said.title,"
            " substr(said.content, 1, CAST(? AS INTEGER)), length(said.content), visible.valid_from,"
            " visible.valid_to, visible.recorded_from, visible.agent_id, visible.trust_state,"
            " visible.expires_at, visible.conversation_id, visible.variant, said.scope, said.metadata,"
            " said.source, coalesce(state.importance, 0.5), coalesce(state.pinned, 0)"
            " FROM memory_items AS said CROSS JOIN",
            longest,
        )
        + visible(view)
        + sql(
            "LEFT JOIN memory_state AS state ON state.memory_id = said.memory_id"
            " WHERE visible.item = said.item AND"
        )
        + any_of("said.item", tuple(items))
        + sql("AND")
        + any_of("visible.item", tuple(items))
    )


def _row(r: Found, used: Access, whole: bool) -> Row:
    length = number(r[6])
    content = text(r[5])
    return Row(
        id=text(r[1]),
        version=number(r[2]),
        type=text(r[3]),
        title=text(r[4]),
        content=content,
        scope=text(r[15]),
        agent_id=text(r[10]),
        trust_state=text(r[11]),
        actionable=actionable(text(r[11])),
        importance=real(r[18]),
        pinned=bool(r[19]),
        valid_from=text(r[7]),
        recorded_at=text(r[9]),
        valid_to=shown(text(r[8])),
        expires_at=shown(text(r[12])),
        conversation_id=text(r[13]) or None,
        variant=text(r[14]) or None,
        cut_from=length if length > len(content) else None,
        metadata=cast("dict[str, Any]", json.loads(text(r[16]))) if whole else None,
        source=text(r[17]) if whole else None,
        use_count=used.use_count or None,
        last_used_at=used.last_used_at or None,
    )
