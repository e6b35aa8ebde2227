"""The part of the story that tells of keeping a store in order."""

from __future__ import annotations

from tests.surfaces.steps import NOWHERE, Step

LIFECYCLE: tuple[Step, ...] = (
    Step(
        "memory_write", {"content": "The tide table is renewed", "type": "fact", "refresh_on": "2026-01-01"}
    ),
    Step("memory_refresh_queue", {}),
    Step("memory_refresh_queue", {"include_future": True, "limit": 1}),
    Step("memory_refresh_queue", {"agent_id": "somebody"}, "wider_identity"),
    Step("memory_maintenance", {"dry_run": True}),
    Step("memory_maintenance", {}),
    Step("memory_maintenance", {"when": "now"}, "invalid_argument", verb=False),
    Step("memory_dedup", {"threshold": 0.5}),
    Step("memory_dedup", {"threshold": 0.9, "dry_run": False, "limit": 3}),
    Step("memory_dedup", {"threshold": 1.5}, "invalid_argument"),
    Step("memory_lifecycle_summary", {"window_days": 3, "top_n": 2}),
    Step("memory_lifecycle_summary", {"window_days": 0}, "invalid_argument"),
    Step("memory_write", {"content": "The tide gauge is broken", "type": "fact"}, name="gauge"),
    Step("curate_memory_apply", {"plan": {"delete": ["$gauge"], "delete_hard": [NOWHERE]}, "dry_run": True}),
    Step("curate_memory_apply", {"plan": {"delete": ["$gauge"]}}),
    Step("curate_memory_apply", {"plan": {"erase": ["$gauge"]}}, "invalid_argument"),
    Step("memory_set_retention", {"agent_id": "somebody", "max_memories": 1}, "needs_operator"),
)
