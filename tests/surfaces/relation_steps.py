"""The part of the story that tells of edges, pins, feedback and undo."""

from __future__ import annotations

from tests.surfaces.steps import NOWHERE, Step

DOCK = {"content": "The ferry leaves from dock 4", "type": "fact"}
PIER = {"content": "Pier 9 is closed for repairs", "type": "fact"}
ENDS = {"from_id": "$dock", "to_id": "$pier"}

RELATIONS: tuple[Step, ...] = (
    Step("memory_write", DOCK, name="dock"),
    Step("memory_write", PIER, name="pier"),
    Step("memory_link", {**ENDS, "relationship_type": "supports"}),
    Step("memory_link", {**ENDS, "relationship_type": "supports"}),
    Step("memory_link", {**ENDS, "relationship_type": "supersedes"}, "invalid_argument"),
    Step("memory_link", {"from_id": "$dock", "to_id": "$dock"}, "invalid_argument"),
    Step("memory_link", {"from_id": "$dock", "to_id": NOWHERE}, "not_found"),
    Step("memory_link_bulk", {"links": [ENDS, {**ENDS, "to_id": NOWHERE}, ENDS, {"from_id": "$dock"}]}),
    Step("memory_link_bulk", {"links": "all of them"}, "invalid_argument"),
    Step("memory_graph", {"memory_id": "$dock"}),
    Step("memory_graph", {"memory_id": "$pier", "depth": 3, "relationship_types": ["supports"], "limit": 2}),
    Step("memory_graph", {"memory_id": "$pier", "as_of": "2020-01-01"}),
    Step("memory_graph", {"memory_id": "$pier", "depth": 4}, "invalid_argument"),
    Step("memory_graph", {"memory_id": NOWHERE}, "not_found"),
    Step("memory_unlink", ENDS),
    Step("memory_unlink", ENDS),
    Step("memory_unlink", {"from_id": NOWHERE, "to_id": "$pier"}, "not_found"),
    Step("memory_pin", {"id": "$dock"}),
    Step("memory_pin", {"id": "$dock"}),
    Step("memory_pin", {"id": NOWHERE}, "not_found"),
    Step("memory_unpin", {"id": "$dock"}),
    Step("memory_unpin", {"id": "dock"}, "invalid_id"),
    Step("memory_verify", {"id": "$dock"}),
    Step("memory_verify", {"id": NOWHERE}, "not_found"),
    Step("memory_feedback", {"memory_id": "$dock"}),
    Step("memory_feedback", {"memory_id": "$dock", "feedback": "not_useful"}),
    Step("memory_feedback", {"memory_id": "$dock", "feedback": "misleading"}),
    Step("memory_feedback", {"memory_id": "$dock", "feedback": "splendid"}, "invalid_argument"),
    Step("memory_supersede", {"old_id": "$dock", "content": "The ferry leaves from dock 7"}, name="moved"),
    Step("memory_unsupersede", {"id": "$moved"}, "undo_blocked"),
    Step("memory_unsupersede", {"id": "$dock"}),
    Step("memory_undo", {"memory_id": "$dock", "dry_run": True}),
    Step("memory_undo", {"memory_id": "$dock"}),
    Step("memory_graph", {"memory_id": "$dock"}),
    Step("memory_undo", {"agent": "nobody", "since": "2026-01-01"}),
    Step("memory_undo", {"event": 1, "memory_id": "$dock"}, "invalid_argument"),
    Step("memory_undo", {"memory_id": NOWHERE}, "not_found"),
)
"""Edges are made and taken away, what was superseded comes back, and that is undone."""
