"""Tools that say how a memory is to be treated, and whether it is whole."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import MemoryIdOrPrefix, Param
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.memories.model import ChangeResult
from m3_memory.domains.memories.service import states, verification
from m3_memory.domains.memories.service.states import FeedbackResult
from m3_memory.domains.memories.service.verification import VerifyResult

_SAID = ("useful", "not_useful", "misleading")
Feedback = Annotated[str, Param("how it served you", choices=_SAID, aliases=(("wrong", "misleading"),))]

EXAMPLE = "01990a5e-7b1c-7d3e-8f00-000000000001"


@tool(Effect.WRITE, domain="memory", title="Pin a memory", idempotent=True, example={"id": EXAMPLE})
def memory_pin(ctx: Context, id: MemoryIdOrPrefix) -> ChangeResult:
    """Protect one memory from every automatic change: decay, expiry by retention, automatic updates."""
    return states.pin(ctx, id, pinned=True)


@tool(Effect.WRITE, domain="memory", title="Unpin a memory", idempotent=True, example={"id": EXAMPLE})
def memory_unpin(ctx: Context, id: MemoryIdOrPrefix) -> ChangeResult:
    """End the protection that memory_pin gave."""
    return states.pin(ctx, id, pinned=False)


@tool(
    Effect.READ,
    domain="memory",
    title="Check a memory's text",
    timeless="it checks every version there is, whatever the time",
    example={"id": EXAMPLE},
)
def memory_verify(ctx: Context, id: MemoryIdOrPrefix) -> VerifyResult:
    """Compare the stored text of every version of one memory with its digest: was it altered in the file?

    It says nothing of whether the memory is true, and sets no trust.
    """
    return verification.verify(ctx, id)


@tool(
    Effect.WRITE,
    domain="memory",
    title="Rate a memory",
    example={"memory_id": EXAMPLE, "feedback": "not_useful"},
)
def memory_feedback(
    ctx: Context, memory_id: MemoryIdOrPrefix, feedback: Feedback = "useful"
) -> FeedbackResult:
    """Say whether a memory served you. It never hides or ends one.

    `useful` and `not_useful` move its importance by a small step; `misleading` counts against it. If you know
    what is right, memory_supersede or memory_update says so.
    """
    return states.feedback(ctx, memory_id, feedback)
