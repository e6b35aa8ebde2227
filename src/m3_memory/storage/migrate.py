"""Migrations: ordered files, forward only, each applied and recorded in one transaction.

A store carries two numbers: its schema version, and the oldest code version that may still open it.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from m3_memory.errors import NoStore, StoreDamaged, StoreOutdated, StoreTooNew
from m3_memory.storage.sql import Row, Sql, sql
from m3_memory.storage.transaction import PUT_BACK, number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OLDEST_CODE_VERSION = 5
"""The oldest schema version whose code may open a store that this code wrote.

Whoever makes the code enforce more than the schema does (tombstones, trust) raises it with the migration that
brings the rows: older code would open the store and let through what the newer refuses.
"""

_NAME = re.compile(r"(\d{4})_([a-z_]+)(?:\.(sqlite|postgres))?\.sql")
_TYPE_WORD = re.compile(r"\b(SERIAL_KEY|WHOLE|FLOAT|BYTES|TOKEN)\b")
_OURS = ("migrations", "memory_items", "jobs")


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    script: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.script.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Schema:
    """What a version of the code brings a store to. `types` gives this engine's word for each type word.

    With `as_it_is` a store is opened and neither made nor brought up.
    """

    migrations: tuple[Migration, ...]
    types: Mapping[str, str]
    oldest_code_version: int = OLDEST_CODE_VERSION
    as_it_is: bool = False

    @property
    def version(self) -> int:
        return self.migrations[-1].number


class Migrating(Protocol):
    """A connection inside the one transaction that migrates, with everything an owner of the store may do."""

    def rows(self, statement: Sql) -> list[Row]: ...

    def execute(self, statement: Sql) -> int: ...

    def run_script(self, script: str) -> None: ...

    def has_table(self, name: str) -> bool: ...


@cache
def shipped(engine: str) -> tuple[Migration, ...]:
    """Every migration this code brings for an engine, in order."""
    found: list[Migration] = []
    for entry in files("m3_memory.storage.migrations").iterdir():
        named = _NAME.fullmatch(entry.name)
        if named and named[3] in (None, engine):
            found.append(Migration(int(named[1]), named[2], entry.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def stored_version(connection: Migrating, schema: Schema) -> int:
    """The store's schema version; 0 for an empty database.

    To be asked inside one transaction; changes nothing. Raises StoreTooNew for a store this code is too old
    to open, StoreDamaged where its migrations are not the ones shipped, and for another program's tables;
    for a schema `as_it_is` NoStore instead of 0, and StoreOutdated for an older store.
    """
    version = _stored_version(connection, schema)
    if schema.as_it_is and not version:
        raise no_store()
    if schema.as_it_is and version < schema.version:
        raise StoreOutdated(
            f"the store has schema {version}, and this version of m3-memory works with {schema.version}",
            "m3 migrate brings it up, after a backup; the next call does the same",
        )
    return version


def no_store() -> NoStore:
    """The error where there is nothing that could be opened as it is."""
    return NoStore("there is no store yet", "the first memory that is written makes it")


def _stored_version(connection: Migrating, schema: Schema) -> int:
    if not connection.has_table("stores"):
        if any(connection.has_table(name) for name in _OURS):
            raise StoreDamaged(
                "the database holds tables that m3-memory did not make",
                "give m3-memory a database, or on PostgreSQL a schema, of its own",
            )
        return 0
    found = connection.rows(sql("SELECT schema_version, oldest_code_version FROM stores"))
    if not found:
        raise StoreDamaged("the store has no record of itself", PUT_BACK)
    if number(found[0][1]) > schema.version:
        raise StoreTooNew(
            f"the store has schema {found[0][0]} and this version of m3-memory understands up to"
            f" {schema.version}; it was left untouched",
            "upgrade: pip install --upgrade m3-memory",
        )
    _compare_checksums(connection, schema)
    return number(found[0][0])


def apply(connection: Migrating, schema: Schema, now: str, before: Callable[[int], None]) -> tuple[str, ...]:
    """Brings the store up to this code inside the caller's transaction; returns the names applied.

    `before(version)` is called once, ahead of the first change of a store that exists already.
    Raises as `stored_version` does.
    """
    version = stored_version(connection, schema)
    pending = [migration for migration in schema.migrations if migration.number > version]
    if not pending:
        return ()
    if version:
        before(version)
    for migration in pending:
        connection.run_script(_TYPE_WORD.sub(lambda word: schema.types[word[0]], migration.script))
        connection.execute(
            sql(
                "INSERT INTO migrations (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
                migration.number,
                migration.name,
                migration.checksum,
                now,
            )
        )
    _record(connection, schema, now)
    return tuple(migration.name for migration in pending)


def _compare_checksums(connection: Migrating, schema: Schema) -> None:
    known = {migration.number: migration.checksum for migration in schema.migrations}
    for applied, name, checksum in connection.rows(sql("SELECT number, name, checksum FROM migrations")):
        if known.get(number(applied), checksum) != checksum:
            raise StoreDamaged(
                f"migration {applied} ({name}) was applied in another form than this version ships",
                "use the version of m3-memory that made this store, or put a backup in its place",
            )


def _record(connection: Migrating, schema: Schema, now: str) -> None:
    changed = connection.execute(
        sql(
            "UPDATE stores SET schema_version = ?, oldest_code_version = ?",
            schema.version,
            schema.oldest_code_version,
        )
    )
    if not changed:
        connection.execute(
            sql(
                "INSERT INTO stores (origin, schema_version, oldest_code_version, secret_key, created_at)"
                " VALUES (?, ?, ?, ?, ?)",
                str(uuid4()),
                schema.version,
                schema.oldest_code_version,
                os.urandom(32),
                now,
            )
        )
