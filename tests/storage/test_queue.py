"""Durable jobs, on both engines: none lost, none done twice at once, none tried forever."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from m3_memory.errors import NotFound
from m3_memory.kernel.clock import ManualClock, plus
from m3_memory.storage import open_database, queue
from m3_memory.storage.database import Database
from m3_memory.storage.queue import MAX_ATTEMPTS, Claim, Job
from m3_memory.storage.sql import sql
from tests.storage.rows import remember, remembered

KINDS = ("embed",)


def _job(key: str, kind: str = "embed", user_id: str = "local", **more: str) -> Job:
    return Job(kind, key, {"item": 7, "name": "näme"}, user_id, **more)


def _enqueue(database: Database, *jobs: Job) -> None:
    for job in jobs:
        with database.write(job.user_id) as writer:
            queue.enqueue(writer, job)


def _claim(database: Database, *kinds: str) -> Claim | None:
    return queue.claim(database, "worker", kinds or KINDS)


def _claimed(database: Database) -> Claim:
    found = _claim(database)
    assert found is not None
    return found


def _finish(database: Database, claimed: Claim) -> bool:
    with database.write(claimed.user_id) as writer:
        return queue.finish(writer, claimed)


def _counts(database: Database, user_id: str = "local") -> tuple[int, int, int]:
    with database.read(user_id) as reader:
        found = queue.counts(reader)
    return found["waiting"], found["running"], found["dead"]


def test_a_job_goes_from_waiting_to_running_to_done(database: Database) -> None:
    assert _claim(database) is None
    _enqueue(database, _job("embed:1", user_id="ada"))
    assert _counts(database, "ada") == (1, 0, 0)
    claimed = _claimed(database)
    assert (claimed.kind, claimed.key, claimed.user_id, claimed.attempt) == ("embed", "embed:1", "ada", 1)
    assert claimed.payload == {"item": 7, "name": "näme"}
    assert _counts(database, "ada") == (0, 1, 0)
    assert _claim(database) is None
    assert _finish(database, claimed)
    assert _counts(database, "ada") == (0, 0, 0)


def test_a_job_is_enqueued_with_its_transaction_or_not_at_all(database: Database) -> None:
    def change_its_mind() -> None:
        with database.write("local") as writer:
            queue.enqueue(writer, _job("embed:1"))
            raise NotFound("no such memory")

    with pytest.raises(NotFound):
        change_its_mind()
    assert _counts(database) == (0, 0, 0)


def test_a_job_is_done_with_its_transaction_or_not_at_all(database: Database) -> None:
    _enqueue(database, _job("embed:1"))
    claimed = _claimed(database)

    def change_its_mind() -> None:
        with database.write("local") as writer:
            assert queue.finish(writer, claimed)
            raise NotFound("no such memory")

    with pytest.raises(NotFound):
        change_its_mind()
    assert _counts(database) == (0, 1, 0)
    assert _finish(database, claimed)


def test_one_key_is_one_job(database: Database) -> None:
    _enqueue(database, _job("embed:1"), _job("embed:1"), _job("embed:2"))
    assert _counts(database) == (2, 0, 0)
    claimed = _claimed(database)
    _enqueue(database, _job("embed:1"))
    assert _counts(database) == (1, 1, 0)
    assert _finish(database, claimed)
    _enqueue(database, _job("embed:1"))
    assert _counts(database) == (2, 0, 0)


def test_jobs_are_taken_in_the_order_they_came(database: Database) -> None:
    _enqueue(database, _job("c"), _job("a"), _job("b"))
    assert [_claimed(database).key for _ in range(3)] == ["c", "a", "b"]


def test_a_worker_takes_only_the_kinds_it_can_do(database: Database) -> None:
    _enqueue(database, _job("a", "compile"), _job("b", "embed"))
    assert _claim(database, "embed", "extract") is not None
    assert _claim(database, "embed", "extract") is None
    assert _claim(database, "compile") is not None


def test_a_job_for_later_waits_for_its_time(database: Database, clock: ManualClock) -> None:
    _enqueue(database, _job("later", run_at=plus(clock.now(), 60)))
    assert _claim(database) is None
    clock.advance(60)
    assert _claimed(database).key == "later"


def test_a_clock_that_jumped_back_delays_no_job(database: Database, clock: ManualClock) -> None:
    clock.set("2031-01-01T00:00:00.000000Z")
    _enqueue(database, _job("now"))
    clock.set("2026-01-01T00:00:00.000000Z")
    assert _claimed(database).key == "now"


def test_a_failed_job_waits_longer_each_time_and_is_dead_at_last(
    database: Database, clock: ManualClock
) -> None:
    _enqueue(database, _job("embed:1"))
    waits: list[int] = []
    claimed = _claimed(database)
    while claimed.attempt < MAX_ATTEMPTS:
        assert queue.fail(database, claimed, "no model")
        seconds, claimed = _claimed_after(database, clock)
        waits.append(seconds)
    assert queue.fail(database, claimed, "still no model")
    assert waits == sorted(set(waits))
    assert _counts(database) == (0, 0, 1)
    clock.advance(1_000_000)
    assert _claim(database) is None
    with database.read("local") as reader:
        (dead,) = queue.dead(reader)
    assert (dead.kind, dead.key, dead.user_id, dead.error) == ("embed", "embed:1", "local", "still no model")


def _claimed_after(database: Database, clock: ManualClock) -> tuple[int, Claim]:
    for seconds in (1, 10, 100, 1_000, 10_000):
        clock.advance(seconds)
        if claimed := _claim(database):
            return seconds, claimed
    raise AssertionError("it waits forever")


def test_a_dead_job_that_is_enqueued_again_starts_anew(database: Database, clock: ManualClock) -> None:
    _enqueue(database, _job("embed:1"))
    for _ in range(MAX_ATTEMPTS):
        assert queue.fail(database, _claimed(database), "no model")
        clock.advance(100_000)
    assert _counts(database) == (0, 0, 1)
    _enqueue(database, _job("embed:1"))
    assert _claimed(database).attempt == 1


def test_a_job_whose_worker_died_is_taken_over(database: Database, clock: ManualClock) -> None:
    _enqueue(database, _job("embed:1"))
    lost = _claimed(database)
    clock.advance(queue.LEASE_SECONDS - 1)
    assert _claim(database) is None
    clock.advance(2)
    taken = _claimed(database)
    assert (taken.key, taken.attempt) == ("embed:1", 2)
    assert not _finish(database, lost)
    assert not queue.fail(database, lost, "too late")
    assert not queue.heartbeat(database, lost)
    assert _counts(database) == (0, 1, 0)
    assert _finish(database, taken)


def test_a_heartbeat_keeps_a_job(database: Database, clock: ManualClock) -> None:
    _enqueue(database, _job("embed:1"))
    claimed = _claimed(database)
    for _ in range(3):
        clock.advance(queue.LEASE_SECONDS - 1)
        assert queue.heartbeat(database, claimed)
    assert _claim(database) is None
    assert _finish(database, claimed)


def test_a_job_that_kills_every_worker_is_dead_at_last(database: Database, clock: ManualClock) -> None:
    _enqueue(database, _job("poison"))
    while _claim(database):
        clock.advance(queue.LEASE_SECONDS + 1)
    assert _claim(database) is None
    with database.read("local") as reader:
        assert [(job.key, job.error) for job in queue.dead(reader)] == [("poison", "its worker died or hung")]


def test_many_workers_do_every_job_once(store: str, clock: ManualClock) -> None:
    database = open_database(store, clock)
    _enqueue(database, *(_job(f"embed:{number}") for number in range(30)))

    def work(name: str) -> None:
        own = open_database(store, clock)
        while claimed := queue.claim(own, name, KINDS):
            with own.write(claimed.user_id) as writer:
                remember(writer, claimed.key)
                assert queue.finish(writer, claimed)
        own.close()

    workers = [threading.Thread(target=work, args=(f"worker {number}",)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with database.read("local") as reader:
        assert sorted(remembered(reader)) == sorted(f"embed:{number}" for number in range(30))
    assert _counts(database) == (0, 0, 0)
    database.close()


def test_looking_for_work_takes_no_lock(database: Database) -> None:
    with database.write("local") as writer:
        remember(writer, "first")
        assert _claim(database) is None


def test_everybody_learns_of_their_own_jobs_alone(database: Database) -> None:
    _enqueue(database, _job("embed:1"), _job("embed:2", user_id="ada"), _job("embed:3", user_id="ada"))
    for _ in range(3):
        queue.fail(database, replace(_claimed(database), attempt=1), "no model")
    assert [_counts(database, user) for user in ("local", "ada", "eve")] == [(1, 0, 0), (2, 0, 0), (0, 0, 0)]
    with database.write("") as writer:
        writer.execute(sql("UPDATE jobs SET state = 'dead'"))
    with database.read("ada") as reader:
        assert [job.key for job in queue.dead(reader)] == ["embed:2", "embed:3"]
    with database.read("eve") as reader:
        assert queue.dead(reader) == []


def test_payloads_that_cannot_be_read_are_left_out(database: Database) -> None:
    _enqueue(database, _job("embed:1"), _job("embed:2"))
    with database.write("") as writer:
        writer.execute(sql("UPDATE jobs SET payload = '{' WHERE key = 'embed:1'"))
    with database.read("local") as reader:
        assert [found["item"] for found in queue.waiting_payloads(reader, "embed", "local", 9)] == [7]
    with pytest.raises(ValueError, match="Expecting property name"):
        assert _claimed(database).payload
