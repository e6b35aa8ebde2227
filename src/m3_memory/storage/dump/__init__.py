"""The whole store as lines of JSON, read in one moment and written verbatim into an empty store."""

from __future__ import annotations

from m3_memory.storage.dump.lines import Lines, encoded, heading_of
from m3_memory.storage.dump.reading import dumped
from m3_memory.storage.dump.writing import restore

__all__ = ["Lines", "dumped", "encoded", "heading_of", "restore"]
