"""An erasure that the disk fails is whole or not at all, and what it left to scrub is scrubbed later."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from m3_memory.config import Settings
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock, SystemClock
from m3_memory.storage import integrity, ledger, open_database
from m3_memory.storage.backup import back_up, backups_in
from m3_memory.storage.probe import our_files, probe_files
from m3_memory.storage.sql import sql
from tests.callers import Agent
from tests.faults.children import child, forget_under
from tests.faults.products import open_session
from tests.faults.vfs import FaultyDisk, broken_disk, full_disk
from tests.sizes import size
from tests.stores import SqliteStores


def test_an_erasure_that_is_killed_anywhere_is_finished_by_the_next_opening(
    tmp_path: Path,
) -> None:
    """Copies too: those that were to go do not outlive the erasure that was committed."""
    settings = Settings(home=tmp_path, embedder="off")
    clock, exports, finished = SystemClock(), tmp_path / "exports", 0
    exports.mkdir()
    for at in (*range(5, 400, size(45, 5)), 100_000):
        secret = f"zqsecret of round {at}"
        with closing(open_database(settings.store, clock)) as database:
            person = Agent(database, clock, Caller("local", "cli", "s").as_operator(), home=tmp_path)
            id_ = person.call("memory_write", content=secret, type="fact")["id"]
            confirm = person.call("gdpr_forget", ids=[id_])["confirm"]
            back_up(database, settings.backup_folder)
        (exports / f"{at}").write_text(secret)
        with child(forget_under, settings, id_, confirm, at) as forgetting:
            done = forgetting.rest()
        finished += bool(done)
        with closing(open_session(settings)) as session:
            asking = replace(person, database=session.app.database)
            kept = asking.outcome("memory_get", {"id": id_}).error is None
        traces = list(probe_files(our_files(tmp_path), [secret]))
        assert bool(traces) is kept, (at, traces)
        assert (exports / f"{at}").exists() is kept
        assert backups_in(settings.backup_folder)
        assert not (kept and done)
    assert finished


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
