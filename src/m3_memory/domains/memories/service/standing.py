"""How a memory stands today: current, or since when and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries

if TYPE_CHECKING:
    from m3_memory.domains.memories.model import Belief
    from m3_memory.storage.database import Reader

CURRENT = "current"

_CLOSED_BY = {"delete": "deleted", "supersede": "superseded", "expire": "expired", "undo": "withdrawn"}


def state_now(reader: Reader, newest: Belief) -> tuple[str, str]:
    """(state, since) of a memory by its newest belief, at the reader's now."""
    if newest.closed_by is not None:
        kind = queries.closing_kind(reader, newest.closed_by)
        return _CLOSED_BY.get(kind, "withdrawn"), newest.recorded_to
    if newest.trust_state in ("rejected", "candidate"):
        return newest.trust_state, newest.recorded_from
    if newest.expires_at <= reader.now:
        return "expired", newest.expires_at
    if newest.valid_to <= reader.now:
        return "superseded" if queries.successors(reader, newest.memory_id) else "ended", newest.valid_to
    if newest.valid_from > reader.now:
        return "not_yet_valid", newest.valid_from
    return CURRENT, newest.recorded_from
