"""SQL of the memories slice: one function per question or change; models out."""

from __future__ import annotations

from m3_memory.domains.memories.queries.beliefs import (
    close_belief,
    ending,
    ids_beginning,
    is_believed,
    newest_belief,
    open_belief,
    visible_belief,
)
from m3_memory.domains.memories.queries.records import (
    agent_number,
    audience_names,
    audience_number,
    closing_kind,
    events_of,
    insert_sighting,
    open_edge,
    predecessors,
    put_state,
    state_of,
    successors,
)
from m3_memory.domains.memories.queries.versions import (
    find_version,
    insert_document,
    insert_version,
    last_version,
    note_change,
    standing,
    superseded_with,
    version_of,
)

__all__ = [
    "agent_number",
    "audience_names",
    "audience_number",
    "close_belief",
    "closing_kind",
    "ending",
    "events_of",
    "find_version",
    "ids_beginning",
    "insert_document",
    "insert_sighting",
    "insert_version",
    "is_believed",
    "last_version",
    "newest_belief",
    "note_change",
    "open_belief",
    "open_edge",
    "predecessors",
    "put_state",
    "standing",
    "state_of",
    "successors",
    "superseded_with",
    "version_of",
    "visible_belief",
]
