"""Steps of the parity story: memories leave in pages and come in from lines."""

from __future__ import annotations

import json

from tests.surfaces.steps import Step

_ID = "11111111-1111-4111-8111-111111111111"
_LINES = "\n".join(
    json.dumps(line)
    for line in (
        {"kind": "memory", "id": _ID, "content": "Releases were imported", "type": "note", "pinned": True},
        {"kind": "memory", "content": ""},
        {"kind": "edge", "from_id": _ID, "to_id": _ID, "type": "related"},
        {"kind": "planet"},
    )
)

MOVING: tuple[Step, ...] = (
    Step("memory_export", {"limit": 2}),
    Step("memory_export", {"type_filter": "fact", "as_of": "2020-01-01"}),
    Step("memory_export", {"known_at": "2020-01-01"}),
    Step("memory_export", {"cursor": f"memory:{_ID}", "agent_filter": "nobody"}),
    Step("memory_export", {"cursor": "page 2"}, "invalid_argument"),
    Step("memory_export", {"limit": 0}, "invalid_argument"),
    Step("memory_import", {"data": _LINES, "dry_run": True}),
    Step("memory_import", {"data": _LINES}),
    Step("memory_import", {"data": _LINES}),
    Step("memory_import", {"data": '{"items": 7}'}, "invalid_argument"),
    Step("memory_get", {"id": _ID}),
)
