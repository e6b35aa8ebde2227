"""What the correction slice decides and does; other slices and the surfaces call these."""

from __future__ import annotations

from m3_memory.domains.correction.service.plans import apply, stale
from m3_memory.domains.correction.service.reviews import (
    DecideRequest,
    ListRequest,
    decide,
    elicited,
    lapse,
    listed,
    propose,
    waiting_for_owner,
)

__all__ = [
    "DecideRequest",
    "ListRequest",
    "apply",
    "decide",
    "elicited",
    "lapse",
    "listed",
    "propose",
    "stale",
    "waiting_for_owner",
]
