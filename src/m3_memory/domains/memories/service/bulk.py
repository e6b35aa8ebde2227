"""Many memories in one call: written, updated or deleted in chunks, each item for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import Vectors, VectorStatus
from m3_memory.domains.memories.service import reports
from m3_memory.domains.memories.service.changes import delete_all, update_all
from m3_memory.domains.memories.service.chunks import in_chunks
from m3_memory.domains.memories.service.drafts import embedded_all, prepared_all
from m3_memory.domains.memories.service.operations import operation
from m3_memory.domains.memories.service.writes import add_all, said_already
from m3_memory.errors import M3Error
from m3_memory.inference.embedder import EmbedderState
from m3_memory.kernel.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import ChangeResult, Draft, UpdateResult, WriteRequest, WriteResult
    from m3_memory.domains.memories.service.changes import UpdateRequest
    from m3_memory.domains.memories.service.reports import BulkChanged, BulkWritten

_EMBEDDING_SHARE = 0.75
"""Of the time a call has: what it has no vectors for by then is stored without them in the rest."""


def write_bulk(ctx: Context, requests: Sequence[WriteRequest | M3Error]) -> BulkWritten:
    """Stores each statement as `write` does, in order, in chunks; a request that is an error stays one.

    Vectors are computed before each chunk's lock is taken, as long as the call's time allows; the rest is
    left to jobs, and the answer says of how many. Raises the Unavailable errors of the store if it fails
    before anything was stored.
    """
    operation_id = new_id(ctx.clock.now())
    until = ctx.clock.monotonic() + _EMBEDDING_SHARE * ctx.seconds_left()
    late: list[str] = []

    def write_chunk(chunk: Sequence[WriteRequest]) -> list[WriteResult | M3Error]:
        drafts = prepared_all(ctx, chunk)
        fit = [draft for draft in drafts if not isinstance(draft, M3Error)]
        ready = [_quieted(draft, late) for draft in _embedded(ctx, fit, until - ctx.clock.monotonic())]
        with ctx.write() as writer:
            added = iter(add_all(operation(ctx, writer, operation_id), [(draft, "") for draft in ready]))
        return [draft if isinstance(draft, M3Error) else next(added) for draft in drafts]

    outcomes = in_chunks(ctx, requests, write_chunk)
    return reports.written(outcomes, [*ctx.notices, *_said_once(late)])


def update_bulk(ctx: Context, requests: Sequence[UpdateRequest | M3Error]) -> BulkChanged:
    """Corrects each record as `update` does, in order, in chunks that are done wholly or not at all.

    It is one operation, so that all of it can be taken back at once. Raises as `write_bulk` does.
    """
    operation_id = new_id(ctx.clock.now())

    def update_chunk(chunk: Sequence[UpdateRequest]) -> list[UpdateResult | M3Error]:
        return update_all(ctx, chunk, operation_id)

    outcomes = in_chunks(ctx, requests, update_chunk, key=lambda request: request.id)
    return reports.changed(outcomes, ctx.notices, "update")


def delete_bulk(ctx: Context, memory_ids: Sequence[str | M3Error], *, hard: bool) -> BulkChanged:
    """Deletes each memory as `delete` does, in order, in chunks that are done wholly or not at all.

    It is one operation, so that all of it can be taken back at once. Raises as `write_bulk` does.
    """
    operation_id = new_id(ctx.clock.now())

    def delete_chunk(chunk: Sequence[str]) -> list[ChangeResult | M3Error]:
        return delete_all(ctx, chunk, hard=hard, operation_id=operation_id)

    outcomes = in_chunks(ctx, memory_ids, delete_chunk, key=lambda memory_id: memory_id)
    return reports.changed(outcomes, ctx.notices, "soft")


def _embedded(ctx: Context, drafts: Sequence[Draft], seconds: float) -> list[Draft]:
    """The drafts with vectors where they are new, by what stands now: a repeated call costs no vectors.

    Should a memory be gone when its repetition is stored after all, a job brings the vector.
    """
    if ctx.embedder.state is EmbedderState.OFF or not any(draft.embed for draft in drafts):
        return embedded_all(ctx, drafts, seconds)
    known = said_already(ctx, drafts)
    late = Vectors(missing=1, status=VectorStatus.PENDING)
    new = iter(embedded_all(ctx, [d for d, said in zip(drafts, known, strict=True) if not said], seconds))
    return [
        replace(draft, vectors=late) if said and draft.embed else draft if said else next(new)
        for draft, said in zip(drafts, known, strict=True)
    ]


def _quieted(draft: Draft, late: list[str]) -> Draft:
    """The draft without what would be said of its missing vector, which is kept to be said once for all."""
    if draft.vectors.status is not VectorStatus.PENDING or draft.vectors.vectors:
        return draft
    late.extend(draft.vectors.warnings)
    return replace(draft, vectors=replace(draft.vectors, warnings=()))


def _said_once(late: Sequence[str]) -> list[str]:
    counts = {warning: late.count(warning) for warning in dict.fromkeys(late)}
    return [f"{count} memories are {warning}; jobs bring their vectors" for warning, count in counts.items()]
