"""Durable jobs: work for later, enqueued in the transaction that needs it, unique by key.

A job waits, is claimed by one worker for as long as a lease lasts, and is finished, or fails and waits longer
each time, or is dead after MAX_ATTEMPTS: a person then decides. A worker that dies merely loses its lease.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from m3_memory.kernel.clock import BEGINNING, plus
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from m3_memory.storage.database import Database, Reader, Writer
    from m3_memory.storage.sql import Row

MAX_ATTEMPTS = 5
LEASE_SECONDS = 60.0
BACKOFF_SECONDS = (5.0, 60.0, 600.0, 3600.0)
"""How long a job waits after each attempt that failed."""

_QUEUE = ""
"""The owner whose transactions move jobs along: no user has the empty name."""

_LONGEST_ERROR = 500
_JOB = sql("job, kind, key, payload, user_id, attempts")


@dataclass(frozen=True, slots=True)
class Job:
    """Work to be done once. `run_at` is the earliest moment, in store form; left out, at once.

    Whose clock says what time it is plays no part in "at once", so a clock that jumped delays nothing.
    """

    kind: str
    key: str
    payload: Mapping[str, object]
    user_id: str
    run_at: str = BEGINNING


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that one worker holds until its lease ends. `attempt` counts from 1."""

    job: int
    kind: str
    key: str
    written_payload: str
    user_id: str
    attempt: int

    @property
    def payload(self) -> Mapping[str, object]:
        """What the job is about. Raises ValueError where what is stored is no JSON object."""
        return _payload(self.written_payload)


@dataclass(frozen=True, slots=True)
class DeadJob:
    """A job that failed too often, with what went wrong the last time."""

    kind: str
    key: str
    user_id: str
    error: str
    enqueued_at: str


def enqueue(writer: Writer, job: Job) -> None:
    """Leaves work for later; a job of its key that waits or runs is the same one, a dead one starts anew."""
    enqueue_all(writer, [job])


def enqueue_all(writer: Writer, jobs: Sequence[Job]) -> None:
    """As `enqueue` for each; no two of them have one key."""
    now = writer.store_time
    rows = [
        (j.key, j.kind, json.dumps(j.payload), j.user_id, "waiting", 0, j.run_at, "", "", "", now)
        for j in jobs
    ]
    insert_rows(
        writer,
        sql(
            "INSERT INTO jobs (key, kind, payload, user_id, state, attempts, run_at, lease_until, worker,"
            " last_error, enqueued_at)"
        ),
        rows,
        sql(
            "ON CONFLICT (key) DO UPDATE SET state = 'waiting', attempts = 0, run_at = excluded.run_at,"
            " payload = excluded.payload, enqueued_at = excluded.enqueued_at WHERE jobs.state = 'dead'"
        ),
    )


def claim(
    database: Database, worker: str, kinds: Sequence[str], lease_seconds: float = LEASE_SECONDS
) -> Claim | None:
    """Takes the next job of these kinds that is due, for this worker alone; None if there is none.

    Without such a job it takes no lock. A job whose worker let the lease run out is taken over, or is dead if
    it has been tried MAX_ATTEMPTS times.
    """
    with database.read(_QUEUE) as reader:
        if not reader.rows(sql("SELECT 1 FROM jobs WHERE") + _claimable(kinds, reader.now) + sql("LIMIT 1")):
            return None
    with database.write(_QUEUE) as writer:
        _take_back(writer)
        taken = writer.rows(
            sql(
                "UPDATE jobs SET state = 'running', attempts = attempts + 1, worker = ?, lease_until = ?"
                " WHERE job = (SELECT job FROM jobs WHERE",
                worker,
                plus(writer.store_time, lease_seconds),
            )
            + _due(kinds, writer.store_time)
            + sql("ORDER BY run_at, job LIMIT 1) RETURNING")
            + _JOB
        )
    return _claim(taken[0]) if taken else None


def heartbeat(database: Database, claimed: Claim, lease_seconds: float = LEASE_SECONDS) -> bool:
    """Prolongs the lease; false if the job is no longer this claim's."""
    with database.write(_QUEUE) as writer:
        until = plus(writer.store_time, lease_seconds)
        return _changed(writer, claimed, sql("lease_until = ?", until))


def finish(writer: Writer, claimed: Claim) -> bool:
    """Removes a job that is done, in the transaction that did it; false if it is no longer this claim's."""
    return writer.execute(sql("DELETE FROM jobs WHERE") + _held(claimed)) == 1


def fail(database: Database, claimed: Claim, error: str) -> bool:
    """Lets the job wait for its next attempt, or be dead after the last; false if it is not this claim's now.

    `error` says what went wrong, without text of memories.
    """
    last = claimed.attempt >= MAX_ATTEMPTS
    with database.write(_QUEUE) as writer:
        delay = BACKOFF_SECONDS[min(claimed.attempt, len(BACKOFF_SECONDS)) - 1]
        again = sql("state = ?, run_at = ?", "dead" if last else "waiting", plus(writer.store_time, delay))
        return _changed(
            writer,
            claimed,
            again + sql(", lease_until = '', worker = '', last_error = ?", error[:_LONGEST_ERROR]),
        )


def put_back(database: Database, claimed: Claim) -> bool:
    """Lets the job wait as if nobody had claimed it: what it needs is not there now; false if it is not this
    claim's any more.
    """
    with database.write(_QUEUE) as writer:
        as_before = sql("state = 'waiting', attempts = attempts - 1, lease_until = '', worker = ''")
        return _changed(writer, claimed, as_before)


def is_queued(reader: Reader, key: str) -> bool:
    """Whether a job of this key waits, runs or is dead."""
    return bool(queued(reader, [key]))


def queued(reader: Reader, keys: Sequence[str]) -> set[str]:
    """Those of the keys of which a job waits, runs or is dead."""
    found = reader.rows(sql("SELECT key FROM jobs WHERE") + any_of("key", tuple(keys)))
    return {text(row[0]) for row in found}


def waiting_payloads(reader: Reader, kind: str, user_id: str, limit: int) -> list[Mapping[str, object]]:
    """What the next jobs of a kind, that wait for one user, are about; without those that can't be read."""
    found = reader.rows(
        sql(
            "SELECT payload FROM jobs WHERE kind = ? AND user_id = ? AND state <> 'dead'"
            " ORDER BY job LIMIT ?",
            kind,
            user_id,
            limit,
        )
    )
    payloads: list[Mapping[str, object]] = []
    for row in found:
        with suppress(ValueError):
            payloads.append(_payload(str(row[0])))
    return payloads


def counts(reader: Reader) -> dict[str, int]:
    """How many jobs the reader's user has in each of the states waiting, running, dead."""
    found = reader.rows(
        sql("SELECT state, count(*) FROM jobs WHERE user_id = ? GROUP BY state", reader.user_id)
    )
    return dict.fromkeys(("waiting", "running", "dead"), 0) | {text(r[0]): number(r[1]) for r in found}


def dead(reader: Reader, limit: int = 100) -> list[DeadJob]:
    """The jobs of the reader's user that failed too often, the oldest first."""
    found = reader.rows(
        sql(
            "SELECT kind, key, user_id, last_error, enqueued_at FROM jobs WHERE state = 'dead'"
            " AND user_id = ? ORDER BY job LIMIT ?",
            reader.user_id,
            limit,
        )
    )
    return [DeadJob(*map(text, row)) for row in found]


def _due(kinds: Sequence[str], now: str) -> Sql:
    return sql("state = 'waiting' AND run_at <= ? AND", now) + any_of("kind", tuple(kinds))


def _claimable(kinds: Sequence[str], now: str) -> Sql:
    return sql("(") + _due(kinds, now) + sql(") OR (state = 'running' AND lease_until <= ?)", now)


def _take_back(writer: Writer) -> None:
    writer.execute(
        sql(
            "UPDATE jobs SET state = CASE WHEN attempts >= ? THEN 'dead' ELSE 'waiting' END, worker = '',"
            " last_error = CASE WHEN last_error = '' THEN 'its worker died or hung' ELSE last_error END"
            " WHERE state = 'running' AND lease_until <= ?",
            MAX_ATTEMPTS,
            writer.store_time,
        )
    )


def _changed(writer: Writer, claimed: Claim, to: Sql) -> bool:
    return writer.execute(sql("UPDATE jobs SET") + to + sql("WHERE") + _held(claimed)) == 1


def _held(claimed: Claim) -> Sql:
    """True for the job while this very claim of it stands: attempts count up with each."""
    return sql("job = ? AND state = 'running' AND attempts = ?", claimed.job, claimed.attempt)


def _claim(row: Row) -> Claim:
    return Claim(number(row[0]), text(row[1]), text(row[2]), str(row[3]), text(row[4]), number(row[5]))


def _payload(written: str) -> Mapping[str, object]:
    found: object = json.loads(written)
    match found:
        case dict():
            return cast("dict[str, object]", found)
        case _:
            raise ValueError("the payload is no JSON object")
