"""Tools by which agents see and propose, and a person decides, what only a person may."""

from __future__ import annotations

from typing import Annotated, Any

from m3_memory.catalog.params import Content, Label, Limit, MemoryId, Param
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.correction import service
from m3_memory.domains.correction.model import (
    DECISIONS,
    DecideResult,
    Decision,
    ProposeResult,
    ReviewList,
    steps_of,
)

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
    return service.listed(ctx, service.ListRequest(limit, offset, subject, review_id))


@tool(
    Effect.WRITE,
    domain="memory",
    title="Propose changes to a person",
    example={
        "steps": [{"act": "delete", "id": "01990a5e-7b1c-7d3e-8f00-000000000001"}],
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
    return service.propose(ctx, steps_of(steps), reason)


@tool(
    Effect.OPERATE,
    domain="memory",
    title="Decide a question",
    example={
        "review_id": "01990a5e-7b1c-7d3e-8f00-000000000001",
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
            choices=DECISIONS,
        ),
    ],
    content: Annotated[Content, Param("with accept: a better text for what wins")] = "",
) -> DecideResult:
    """Decide a question as the operator: the plan that was shown is carried out, or it is closed.

    What changed since it was shown is answered by stale, and nothing is done.
    """
    return service.decide(ctx, service.DecideRequest(review_id, digest, Decision(decision), content))
