"""The memory-mapped vector cache beside a SQLite store. Import it only when a vector is searched for."""

from m3_memory.storage.vectors.cache import VectorCache

__all__ = ["VectorCache"]
