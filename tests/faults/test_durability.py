"""What `durability` asks of the disk and of the server; docs/durability.md tells what that means."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from m3_memory.config import Settings
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from tests.callers import Agent
from tests.faults.products import recorded
from tests.faults.vfs import FaultyDisk
from tests.stores import SqliteStores


@pytest.mark.parametrize(("durable", "least_flushes"), [(False, 0), (True, 5)])
def test_full_durability_flushes_the_disk_at_every_write(
    sqlite_stores: SqliteStores, clock: ManualClock, durable: bool, least_flushes: int
) -> None:
    disk = FaultyDisk()
    database = open_database(sqlite_stores.fresh(), clock, durable=durable, vfs=disk.name)
    agent = Agent(database, clock)
    agent.call("memory_write", content="The first write makes the files", type="fact")
    before = disk.syncs
    for number in range(5):
        agent.call("memory_write", content=f"The harbour opens at {number}", type="fact")
    flushes = disk.syncs - before
    assert flushes >= least_flushes
    assert (flushes == 0) is not durable
    database.close()
    sqlite_stores.discard()


@pytest.mark.parametrize(("durability", "expected"), [("normal", "off"), ("full", "on")])
def test_full_durability_overrules_a_server_that_does_not_wait(
    postgres_url: str, home: Path, durability: Literal["normal", "full"], expected: str
) -> None:
    name = sql.Identifier(str(conninfo_to_dict(postgres_url)["dbname"]))
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(name))
    settings = Settings(home=home, database_url=postgres_url, durability=durability)
    assert recorded(settings, "SELECT current_setting('synchronous_commit')") == [(expected,)]
