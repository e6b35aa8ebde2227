"""The seam: the only package that knows a database driver."""

from __future__ import annotations

from dataclasses import replace
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
    as_it_is: bool = False,
) -> Database:
    """Opens a store, making or migrating it where needed.

    `location` is a `postgresql://` address or the path of a SQLite file. `durable` waits for the disk at
    every commit. `vfs` names an apsw virtual file system and is for tests of failing disks. `heads` is where
    the heads of histories are noted; by default beside a SQLite store, and nowhere for PostgreSQL.
    With `as_it_is` it is neither made nor migrated: that raises NoStore, or StoreOutdated.
    A SQLite store on a file system that machines share works without write-ahead log and mapped files.
    Raises UnsafeFolder where none may be, StoreUnreachable, StoreReadOnly, StoreTooNew, StoreDamaged,
    StoreFull.
    """
    if str(location).startswith(("postgresql://", "postgres://")):
        try:
            from m3_memory.storage.postgres import PostgresDatabase, postgres_schema
        except ImportError as error:
            raise StoreUnreachable(
                f"PostgreSQL is not supported by this installation: {error}",
                "install its driver into the same environment: pip install 'psycopg[binary]>=3.2'",
            ) from error
        schema = replace(postgres_schema(), as_it_is=as_it_is)
        return PostgresDatabase(str(location), clock, durable=durable, heads=heads, schema=schema)
    from m3_memory.storage.filesystem import Disk, find_file_system
    from m3_memory.storage.migrate import no_store
    from m3_memory.storage.sqlite import SqliteDatabase, sqlite_schema

    if as_it_is and not Path(location).exists():
        raise no_store()
    schema = replace(sqlite_schema(), as_it_is=as_it_is)
    disk = Disk(find_file_system(Path(location)), vfs)
    return SqliteDatabase(Path(location), clock, durable=durable, disk=disk, heads=heads, schema=schema)
