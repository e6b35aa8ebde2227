"""Subject access: every row that is held about somebody's memories."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from m3_memory.catalog.answers import fitting
from m3_memory.domains.privacy.model import Subject, SubjectAccess
from m3_memory.domains.privacy.service.forgetting import meant
from m3_memory.kernel.ids import new_id
from m3_memory.storage import erasure

if TYPE_CHECKING:
    from m3_memory.context import Context


def subject_access(ctx: Context, subject: Subject, cursor: str, limit: int) -> SubjectAccess:
    """What is held about a subject, memory by memory in the order of ids, from the cursor on.

    Each has its rows by table, superseded, deleted and rejected ones too; vectors and words, which follow
    from the texts, are left out.
    """
    with ctx.read() as reader:
        every = meant(reader, subject)
        page = [id_ for id_ in every if id_ > cursor][:limit]
        found = defaultdict[str, dict[str, Any]](dict)
        for memory_id in page:
            for table, row, names in erasure.rows_held(reader, [memory_id]):
                found[memory_id].setdefault(table, []).append(dict(zip(names, row, strict=True)))
    items = [{"id": memory_id, **found[memory_id]} for memory_id in page]
    shown = list(fitting(items))
    more = len(shown) < len(items) or (page and page[-1] != every[-1])
    request_id = new_id(ctx.clock.now())
    return SubjectAccess(
        ctx.started_as.user_id, request_id, len(every), shown, shown[-1]["id"] if more else None
    )
