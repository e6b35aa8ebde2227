"""The vector cache of a SQLite store answers as the rows do, whatever happens to its file."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Reader
from m3_memory.storage.predicates import Filter
from m3_memory.storage.sql import sql
from m3_memory.storage.vectors import VectorCache
from tests.rights import without_root_rights
from tests.sizes import size
from tests.storage.vector_stores import (
    CALLER,
    TIMES,
    Belief,
    CountingReader,
    VectorStore,
    expected,
    insert,
    random_belief,
    random_filter,
    random_vector,
    unit,
    view,
)

Found = list[tuple[int, float]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m3.db"


def ask(store: VectorStore, cache: VectorCache, query: bytes, limit: int = 5, narrowing: Filter | None = None) -> Found:
    with store.database.read("local") as reader:
        return nearest(reader, cache, query, limit, narrowing)


def nearest(reader: Reader, cache: VectorCache, query: bytes, limit: int, narrowing: Filter | None = None) -> Found:
    found = cache.nearest(reader, view(reader, narrowing), 1, query, limit)
    return [(item, round(cosine, 9)) for item, cosine in found]


def wanted(store: VectorStore, query: bytes, limit: int = 5, narrowing: Filter | None = None) -> Found:
    with store.database.read("local") as reader:
        return expected(reader, view(reader, narrowing), query, limit)


def rows_read(store: VectorStore, cache: VectorCache, query: bytes) -> int:
    """How many rows one search reads; the file was of use if they are few."""
    with store.database.read("local") as reader:
        counting = CountingReader(reader)
        cache.nearest(counting, view(reader), 1, query, 5)  # pyright: ignore[reportArgumentType]
        return counting.count
