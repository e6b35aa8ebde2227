"""What the memories slice decides and does; the other slices and the tools call these."""

from __future__ import annotations

from m3_memory.domains.memories.service.bulk import delete_bulk, update_bulk, write_bulk
from m3_memory.domains.memories.service.changes import UpdateRequest, delete, update
from m3_memory.domains.memories.service.chunks import tried
from m3_memory.domains.memories.service.from_file import write_from_file
from m3_memory.domains.memories.service.reads import get, history
from m3_memory.domains.memories.service.replacing import SupersedeRequest, supersede
from m3_memory.domains.memories.service.undo import restore
from m3_memory.domains.memories.service.writes import write

__all__ = [
    "SupersedeRequest",
    "UpdateRequest",
    "delete",
    "delete_bulk",
    "get",
    "history",
    "restore",
    "supersede",
    "tried",
    "update",
    "update_bulk",
    "write",
    "write_bulk",
    "write_from_file",
]
