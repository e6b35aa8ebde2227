"""Stores of other schema versions than the one shipped, made and opened for tests of migration.

`python -m tests.storage.schemas LOCATION [OPERATION]` migrates a store to `later` in a process of its own,
which is killed at that operation of its disk if one is named.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from m3_memory.kernel.clock import Clock, ManualClock
from m3_memory.storage.filesystem import Disk
from m3_memory.storage.migrate import Migration, Schema
from m3_memory.storage.postgres import PostgresDatabase, postgres_schema
from m3_memory.storage.sqlite import SqliteDatabase, sqlite_schema
from tests.faults.vfs import FaultyDisk, killed

SHIPPED = len(sqlite_schema().migrations)
"""The number of the last migration shipped, on both engines."""

LATER = Migration(
    SHIPPED + 1,
    "later",
    "CREATE TABLE later (note TOKEN NOT NULL); ALTER TABLE memory_items ADD COLUMN later WHOLE;"
    "CREATE INDEX memory_items_later ON memory_items (later, content_hash);",
)


def shipped(engine: str) -> Schema:
    """What this version of the code brings a store to."""
    return sqlite_schema() if engine == "sqlite" else postgres_schema()


def later(engine: str, oldest_code_version: int = SHIPPED) -> Schema:
    """What a version to come brings a store to."""
    now = shipped(engine)
    return replace(now, migrations=(*now.migrations, LATER), oldest_code_version=oldest_code_version)


def opened(location: str, clock: Clock, schema: Schema) -> SqliteDatabase | PostgresDatabase:
    """The store as code of that schema opens it."""
    if location.startswith("postgresql://"):
        return PostgresDatabase(location, clock, schema=schema)
    return SqliteDatabase(Path(location), clock, schema=schema)


def _main(location: str, operation: str = "0") -> None:
    if location.startswith("postgresql://"):
        opened(location, ManualClock(), later("postgres")).close()
        return
    disk = FaultyDisk()
    with disk.failing(int(operation), killed):
        SqliteDatabase(
            Path(location), ManualClock(), disk=Disk(vfs=disk.name), schema=later("sqlite")
        ).close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
