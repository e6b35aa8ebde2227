"""Work on memories that a write left for later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import EMBED_JOB
from m3_memory.domains.memories.service.late import late_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3_memory.context import Context
    from m3_memory.storage.database import Writer

__all__ = ["EMBED_JOB", "embed"]


def embed(ctx: Context, payload: Mapping[str, object]) -> Callable[[Writer], None]:
    """Brings the vectors a version lacks, or all anew. Raises EmbedderUnavailable while there is no model."""
    return late_vectors(ctx, int(str(payload["item"])), anew=bool(payload.get("anew")))
