"""The seam: the only package that knows a database driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from m3_memory.errors import StoreUnreachable

if TYPE_CHECKING:
    from m3_memory.kernel.clock import Clock
    from m3_memory.storage.database import Database


def open_database(
    location: str | Path,
    clock: Clock,
    *,
    durable: bool = False,
    vfs: str | None = None,
    heads: Path | None = None,
) -> Database:
    """Opens a store, making or migrating it where needed.

    `location` is a `postgresql://` address or the path of a SQLite file. `durable` waits for the disk at
    every commit. `vfs` names an apsw virtual file system and is for tests of failing disks. `heads` is where
    the heads of histories are noted; by default beside a SQLite store, and nowhere for PostgreSQL.
    Raises StoreUnreachable, StoreReadOnly, StoreTooNew, StoreDamaged, StoreFull.
    """
    if str(location).startswith(("postgresql://", "postgres://")):
        try:
            from m3_memory.storage.postgres import PostgresDatabase
        except ImportError as error:
            raise StoreUnreachable(
                f"PostgreSQL is not supported by this installation: {error}",
                "install its driver into the same environment: pip install 'psycopg[binary]>=3.2'",
            ) from error
        return PostgresDatabase(str(location), clock, durable=durable, heads=heads)
    from m3_memory.storage.sqlite import SqliteDatabase

    return SqliteDatabase(Path(location), clock, durable=durable, vfs=vfs, heads=heads)
