"""Durable jobs: work for later, enqueued in the transaction that needs it, unique by key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.storage.sql import sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.storage.database import Writer


@dataclass(frozen=True, slots=True)
class Job:
    kind: str
    key: str
    payload: Mapping[str, object]
    user_id: str


def enqueue(writer: Writer, job: Job) -> None:
    """Leaves work for later; a job of the same key that waits already is the same job."""
    writer.execute(
        sql(
            "INSERT INTO jobs (key, kind, payload, user_id, state, attempts, run_at, lease_until, worker, last_error,"
            " enqueued_at) VALUES (?, ?, ?, ?, 'waiting', 0, ?, '', '', '', ?) ON CONFLICT (key) DO NOTHING",
            job.key, job.kind, json.dumps(job.payload), job.user_id, writer.store_time, writer.store_time,
        )
    )
