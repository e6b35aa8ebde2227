"""Examining a store: whether its parts agree, and what a person should know of it."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.system.model import Examination, Finding
from m3_memory.storage import integrity, queue

if TYPE_CHECKING:
    from m3_memory.context import Context

_LOAD_SECONDS = 10.0


def examine(ctx: Context) -> Examination:
    """What does not agree, and how much the caller's user has; changes nothing, and takes the time it takes.

    `faults` make the store unsound; where a table is missing nothing is counted. `notes` are what a person
    may want to act on. Of other users of the same store nothing is told but that rows, files and indexes are
    sound or not.
    """
    ctx.embedder.get(_LOAD_SECONDS)
    heads = ctx.database.heads.read()
    with replace(ctx, deadline=math.inf).read() as reader:
        faults = integrity.faults(reader, heads, ctx.clock.now())
        is_whole = all(fault.part != "schema" for fault in faults)
        counts = integrity.counts(reader) if is_whole else {}
        dead = queue.dead(reader) if is_whole else []
        engine = reader.dialect.describe()
    return Examination(
        ok=not faults,
        engine=engine,
        embedder=f"{ctx.embedder.state}{f': {ctx.embedder.reason}' if ctx.embedder.reason else ''}",
        counts=counts,
        faults=[Finding(fault.part, fault.detail) for fault in faults],
        notes=[
            *ctx.notices,
            *(f"job {job.key} failed too often: {job.error}" for job in dead),
            *_exposed(ctx),
        ],
    )


def _exposed(ctx: Context) -> list[str]:
    """Whether other users of this machine can read the store."""
    home = ctx.settings.home
    if ctx.settings.database_url or os.name == "nt" or not home.exists() or not home.stat().st_mode & 0o077:
        return []
    return [f"other users of this machine can read {home}: chmod 700 {home}"]
