"""The part of the story that tells of questions for a person."""

from __future__ import annotations

from tests.surfaces.steps import NOWHERE, Step

CRANE = {"content": "Crane 5 lifts 40 tons", "type": "fact"}
STEPS = [{"act": "verify", "id": "$crane"}]

REVIEW: tuple[Step, ...] = (
    Step("memory_write", CRANE, name="crane"),
    Step("review_propose", {"steps": STEPS, "reason": "it was measured"}),
    Step("review_propose", {"steps": STEPS, "reason": "it was measured"}),
    Step("review_propose", {"steps": [{"act": "erase", "id": "$crane"}], "reason": "no"}, "invalid_argument"),
    Step("review_propose", {"steps": [{"act": "delete", "id": NOWHERE}], "reason": "no"}, "not_found"),
    Step("review_list", {"subject": "$crane"}),
    Step("review_list", {"subject": NOWHERE, "limit": 3, "offset": 1}),
    Step("review_list", {"review_id": NOWHERE}, "not_found"),
    Step("review_list", {"limit": 0}, "invalid_argument"),
    Step("review_decide", {"review_id": NOWHERE, "digest": "0", "decision": "accept"}, "needs_operator"),
)
"""An agent proposes, sees that it waits, and decides nothing."""
