"""Tools by which a person says what is to be trusted, and what may not come back."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import Label, MemoryIdOrPrefix, Param
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.memories.service import tombstones, trusting
from m3_memory.domains.memories.service.tombstones import LiftResult, TombstoneList
from m3_memory.domains.memories.service.trusting import TrustResult

EXAMPLE = "01990a5e-7b1c-7d3e-8f00-000000000001"
_STATES = ("accepted", "verified", "rejected")


@tool(
    Effect.OPERATE,
    domain="memory",
    title="Set how far a memory is trusted",
    idempotent=True,
    example={"id": EXAMPLE, "state": "verified", "reason": "I looked it up"},
)
def memory_set_trust(
    ctx: Context,
    id: MemoryIdOrPrefix,
    state: Annotated[str, Param("how far it is trusted", choices=_STATES)],
    reason: Annotated[Label, Param("why")] = "",
) -> TrustResult:
    """Accept, verify or reject one memory, a candidate or a rejected one too. Only a person may.

    A verified memory stands against every agent. A rejected one is shown at no time, what was derived from it
    is retired, and its value can't be stored again in its place until a person accepts it or lifts that.
    """
    return trusting.set_trust(ctx, id, state, reason)


@tool(
    Effect.OPERATE,
    domain="memory",
    title="Let a rejected value be said again",
    example={"id": EXAMPLE, "reason": "it is true again"},
)
def tombstone_lift(
    ctx: Context,
    id: Annotated[Label, Param("the rejected memory, or an id of tombstone_list")],
    reason: Annotated[Label, Param("why")] = "",
) -> LiftResult:
    """Lift a tombstone: its value may be stored again. The rejected memory stays rejected.

    To trust that memory again use memory_set_trust. Only a person may.
    """
    return tombstones.lift_named(ctx, id, reason)


@tool(Effect.OPERATE, domain="memory", title="List what may not come back", example={})
def tombstone_list(ctx: Context) -> TombstoneList:
    """List the values that were rejected or erased and may not be stored again: never their text.

    Each with its id, where it was rejected, when, by whom and why. Only a person may.
    """
    return tombstones.list_all(ctx)
