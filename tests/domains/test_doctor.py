"""What the doctor and the worker tell, and to whom, on both engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from m3_memory.app import App
from m3_memory.domains.system.model import Examination
from m3_memory.domains.system.service import examine
from m3_memory.errors import StoreReadOnly
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import queue
from m3_memory.storage.database import Writer
from m3_memory.storage.heads import HeadFile
from m3_memory.storage.sql import sql
from m3_memory.surfaces.worker.loop import run_once
from m3_memory.toolbox import JOBS
from tests.callers import Agent, embedder_named

MINE = Caller("local", "claude", "session-1")
HERS = replace(MINE, user_id="ada")


def _examined(app: App, caller: Caller = MINE) -> Examination:
    return examine(app.context(caller))


def _asker(app: App, caller: Caller = MINE) -> Agent:
    return Agent(app.database, app.clock, caller, embedder_named("off"))


def test_the_doctor_counts_what_is_the_callers_own(app: App) -> None:
    written = _asker(app).call("memory_write", content="Tea is at four", type="fact")
    _asker(app).call("memory_update", id=written["id"], content="Tea is at five")
    for number in range(3):
        _asker(app, HERS).call("memory_write", content=f"Her note {number}", type="note")
    with app.database.write("ada") as writer:
        queue.enqueue(writer, queue.Job("embed", "embed:hers", {"item": 1}, "ada"))
        writer.execute(
            sql("UPDATE jobs SET state = 'dead', last_error = 'her secret' WHERE key = 'embed:hers'")
        )
    mine, hers, nobodys = (_examined(app, who) for who in (MINE, HERS, replace(MINE, user_id="eve")))
    assert (mine.counts["memories"], mine.counts["versions"], mine.counts["open_beliefs"]) == (1, 2, 1)
    assert (hers.counts["memories"], hers.counts["events"], hers.counts["jobs_dead"]) == (3, 3, 1)
    assert any("embed:hers" in note for note in hers.notes)
    assert not set(nobodys.counts.values()) - {0}
    for other in (mine, nobodys):
        assert other.ok
        assert not any(told in str(other) for told in ("her secret", "embed:hers", "Her note"))


def test_the_doctor_walks_the_callers_own_history_alone(app: App) -> None:
    _asker(app).call("memory_write", content="Tea is at four", type="fact")
    _asker(app, HERS).call("memory_write", content="Her tea is at five", type="fact")
    with app.database.write("ada") as writer:
        writer.execute(sql("UPDATE owners SET last_sequence = 7 WHERE owner = ?", writer.owner))
    assert [fault.part for fault in _examined(app, HERS).faults] == ["history"]
    assert _examined(app).faults == []


class _Busy:
    """A store in which somebody commits whenever the heads of histories are looked at."""

    def __init__(self, app: App) -> None:
        self.dialect = app.database.dialect
        self.read, self.write = app.database.read, app.database.write
        self._app = app
        self.commits = 0

    @property
    def heads(self) -> HeadFile:
        self.commits += 1
        _asker(self._app).call("memory_write", content=f"Written meanwhile: {self.commits}", type="note")
        return self._app.database.heads


def test_what_is_committed_while_the_doctor_looks_is_no_fault(app: App) -> None:
    busy = _Busy(app)
    found = examine(replace(app.context(MINE), database=busy))
    assert busy.commits
    assert found.faults == []


def test_the_doctor_takes_the_time_it_takes(app: App) -> None:
    assert examine(replace(app.context(MINE), deadline=-1.0)).ok


def test_the_worker_counts_what_waits_for_its_own_user(app: App) -> None:
    with app.database.write("ada") as writer:
        queue.enqueue(writer, queue.Job("unheard of", "a job of hers", {}, "ada"))
    assert run_once(app) == {"done": 0, "failed": 0, "waiting": 0, "running": 0, "dead": 0}
    with app.database.write("local") as writer:
        queue.enqueue(writer, queue.Job("unheard of", "a job of mine", {}, "local"))
    assert run_once(app)["waiting"] == 1


def test_a_job_that_cannot_be_read_fails_like_any_other(app: App) -> None:
    with app.database.write("local") as writer:
        for number in range(3):
            queue.enqueue(writer, queue.Job("embed", f"embed:{number}", {"item": 10**9}, "local"))
        writer.execute(sql("UPDATE jobs SET payload = 'no JSON' WHERE key = 'embed:0'"))
        writer.execute(sql("UPDATE jobs SET payload = '[7]' WHERE key = 'embed:1'"))
    found = run_once(app)
    assert (found["done"], found["failed"], found["waiting"]) == (1, 2, 2)


def test_the_worker_tells_of_jobs_that_a_dead_worker_holds(app: App, clock: ManualClock) -> None:
    with app.database.write("local") as writer:
        queue.enqueue(writer, queue.Job("embed", "embed:1", {"item": 10**9}, "local"))
    assert queue.claim(app.database, "killed", ["embed"]) is not None
    found = run_once(app)
    assert (found["done"], found["waiting"], found["running"]) == (0, 0, 1)
    assert "lease" in found["because"]
    clock.advance(queue.LEASE_SECONDS + 1)
    found = run_once(app)
    assert (found["done"], found["running"]) == (1, 0)


def test_a_worker_that_cannot_lock_does_not_blame_another(app: App) -> None:
    if app.settings.database_url:  # there the lock is the server's
        with app.database.exclusive("worker"):
            assert run_once(app)["because"] == "another process works off the queue"
        return
    lock = app.settings.home / "m3.db.worker.lock"
    with app.database.exclusive("worker"):
        assert run_once(app)["because"] == "another process works off the queue"
    lock.unlink()
    lock.mkdir()
    with pytest.raises(StoreReadOnly, match=r"worker\.lock"):
        run_once(app)


def test_a_job_that_takes_longer_than_its_lease_keeps_it(
    app: App, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job goes on until somebody prolonged its lease while the clock ran past the first one."""
    leases: list[str] = []

    def lease() -> str:
        with app.database.read("local") as reader:
            return str(reader.rows(sql("SELECT lease_until FROM jobs"))[0][0])

    def slow(_ctx: object, _payload: Mapping[str, object]) -> Callable[[Writer], None]:
        leases.append(lease())
        clock.advance(1.0)
        leases.append(next(filter(lambda now: now != leases[0], (lease() for _ in range(100_000)))))
        assert queue.claim(app.database, "another", ["slow"]) is None
        return lambda _writer: None

    monkeypatch.setitem(JOBS, "slow", slow)
    with app.database.write("local") as writer:
        queue.enqueue(writer, queue.Job("slow", "slow:1", {}, "local"))
    assert run_once(app, lease_seconds=0.5)["done"] == 1
    assert leases[1] > leases[0]
