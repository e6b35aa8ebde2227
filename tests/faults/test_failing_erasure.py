"""An erasure that the disk fails is whole or not at all, and what it left to scrub is scrubbed later."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import integrity, ledger, open_database
from m3_memory.storage.sql import sql
from tests.callers import Agent
from tests.faults.vfs import FaultyDisk, broken_disk, full_disk
from tests.sizes import size
from tests.stores import SqliteStores


def test_an_erasure_that_the_disk_fails_anywhere_is_whole_or_not_at_all(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    disk, failures = FaultyDisk(), 0
    with closing(open_database(sqlite_stores.fresh(), clock, vfs=disk.name)) as database:
        agent = Agent(database, clock)
        operator = replace(agent, caller=agent.caller.as_operator())
        for at in (*range(1, size(16, 200)), *range(16, 400, size(48, 8))):
            id_ = agent.call("memory_write", content=f"zqsecret of round {at}", type="fact")["id"]
            confirm = operator.call("gdpr_forget", ids=[id_])["confirm"]
            with disk.failing(at, full_disk if at % 2 else broken_disk):
                outcome = operator.outcome("gdpr_forget", {"ids": [id_], "confirm": confirm})
            struck, found = disk.struck, agent.outcome("memory_get", {"id": id_}).error
            if outcome.error is None:
                assert found is not None
                with database.read("local") as reader:
                    (scrubbed,) = reader.rows(sql("SELECT min(scrubbed) FROM erasures"))
                assert scrubbed == (outcome.structured or {})["scrubbed"] or struck
            else:
                failures += 1
                assert outcome.error.code in ("store_full", "store_damaged")
                assert found is None or found.code == "not_found"
            ledger.reconcile(database)
            with database.read("local") as reader:
                assert integrity.faults(reader, database.heads.read(), clock.now()) == []
                assert reader.rows(sql("SELECT 1 FROM erasures WHERE scrubbed = 0")) == []
    assert failures >= 3
