"""Tools by which agents see and propose, and a person decides, what only a person may: trust above all."""

from __future__ import annotations

from typing import Annotated, Any

from m3_memory.catalog.params import Content, Label, Limit, MemoryId, MemoryIdOrPrefix, Param
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.correction.model import (
    DecideResult,
    Decision,
    ProposeResult,
    ReviewList,
)
from m3_memory.domains.correction.service import reviews
from m3_memory.domains.correction.service.plans import steps_of
from m3_memory.domains.memories.service import tombstones, trusting
from m3_memory.domains.memories.service.tombstones import LiftResult, TombstoneList
from m3_memory.domains.memories.service.trusting import TrustResult

EXAMPLE = "01990a5e-7b1c-7d3e-8f00-000000000001"
_STATES = ("accepted", "verified", "rejected")
ReviewId = Annotated[MemoryId, Param("id of the question")]


@tool(
    Effect.READ,
    domain="memory",
    title="Questions for a person",
    example={},
    timeless="a question is about what holds today; what became of one is asked for by its id",
)
def review_list(
    ctx: Context,
    limit: Limit = 20,
    offset: Annotated[int, Param("how many to pass over", minimum=0, maximum=1_000_000)] = 0,
    subject: Annotated[MemoryId, Param("only what names this memory")] = "",
    review_id: Annotated[MemoryId, Param("only this question, decided or not")] = "",
) -> ReviewList:
    """List the questions that wait for a person: conflicts, candidates, proposed plans, with their evidence.

    Those about one memory stand together. Nobody but a person decides them, with m3 review.
    """
    return reviews.listed(ctx, limit, offset, subject, review_id)


@tool(
    Effect.WRITE,
    domain="memory",
    title="Propose changes to a person",
    example={
        "steps": [{"act": "delete", "id": EXAMPLE}],
        "reason": "it is about a service that was shut down",
    },
)
def review_propose(
    ctx: Context,
    steps: Annotated[
        list[dict[str, Any]],
        Param(
            "each {act, id, other_id?, at?, changes?}; act: accept, verify, reject, delete, update, supersede"
            " (other_id takes its place), merge (into other_id), link"
        ),
    ],
    reason: Annotated[Label, Param("why, for the person who decides")],
) -> ProposeResult:
    """Put changes of memories you may see to a person, who accepts them whole or not at all.

    Nothing is changed by this; the answer says what accepting would do.
    """
    return reviews.propose(ctx, steps_of(steps), reason)


@tool(
    Effect.OPERATE,
    domain="memory",
    title="Decide a question",
    example={
        "review_id": EXAMPLE,
        "digest": "8d1f0a4b3c2e5f60",
        "decision": "accept",
    },
)
def review_decide(
    ctx: Context,
    review_id: ReviewId,
    digest: Annotated[Label, Param("digest of the question as it was shown")],
    decision: Annotated[
        str,
        Param(
            "accept the plan; reject: all stays; withdraw: the newer is deleted; bury: rejected for good",
            choices=tuple(Decision),
        ),
    ],
    content: Annotated[Content, Param("with accept: a better text for what wins")] = "",
) -> DecideResult:
    """Decide a question as the operator: the plan that was shown is carried out, or it is closed.

    What changed since it was shown is answered by stale, and nothing is done.
    """
    return reviews.decide(ctx, reviews.DecideRequest(review_id, digest, Decision(decision), content))


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
