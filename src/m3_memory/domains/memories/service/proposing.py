"""What an agent would change of a memory that a person verified: they are asked, and it stands until then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import UpdateResult
from m3_memory.domains.memories.model.review import (
    Act,
    Plan,
    PlanStep,
    Question,
    ReviewKind,
    as_text,
    mark_of,
)
from m3_memory.domains.memories.service.outcomes import marked
from m3_memory.domains.memories.service.reviews import ask_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.domains.memories.service.reviews import Asked
    from m3_memory.domains.memories.service.targets import Target


def propose_all(op: Operation, kept: Sequence[Target], **changes: object) -> list[UpdateResult]:
    """Asks a person about memories that only a person may change: to delete them, or these changes."""
    act = Act.UPDATE if changes else Act.DELETE
    questions = [
        Question(
            *(ReviewKind.PLAN, of.belief.audience, (of.belief.memory_id,), {"reason": "verified"}),
            Plan((PlanStep(act, of.belief.memory_id, changes=changes),)),
            (act, of.belief.memory_id, mark_of(of.belief), as_text(changes)),
        )
        for of in kept
    ]
    asked = ask_all(op, marked(op, questions))
    return [
        UpdateResult(
            *(of.belief.memory_id, "proposed" if each.state == "open" else "unchanged", of.belief.version),
            warnings=[_told(each)],
            review_id=each.review_id,
        )
        for of, each in zip(kept, asked, strict=True)
    ]


def _told(asked: Asked) -> str:
    if asked.state == "open":
        return "a person verified it: nothing changed, and they are asked"
    return f"a person verified it: nothing changed; they were asked this before, and it is {asked.state}"
