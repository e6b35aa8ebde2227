"""Examining a store: whether its parts agree, and what a person should know of it."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.context import as_started
from m3_memory.declared_stores import MAIN
from m3_memory.domains.agents.service.operators import status_of
from m3_memory.domains.agents.service.standing import operator_news
from m3_memory.domains.correction.service.reviews import waiting_for_owner
from m3_memory.domains.memories.service.writes import operation
from m3_memory.domains.system.model import Acceptance, Examination, Finding
from m3_memory.kernel.counting import counted
from m3_memory.storage import embeddings, integrity, ledger, queue
from m3_memory.storage.heads import lost_head
from m3_memory.storage.overview import without_vectors
from m3_memory.storage.scheduled_backup import missed, schedule_of

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.inference.embedder import Embedder
    from m3_memory.storage.database import Reader

_LOAD_SECONDS = 10.0


def examine(ctx: Context) -> Examination:
    """What does not agree, and how much the caller's user has; changes nothing, and takes the time it takes.

    `faults` make the store unsound; where a table is missing nothing is counted. `notes` are what a person
    may want to act on. Of other users of the same store nothing is told but that rows, files and indexes are
    sound or not.
    """
    embedder = ctx.embedder.get(_LOAD_SECONDS)
    heads = ctx.database.heads.read()
    with replace(ctx, deadline=math.inf, stand=as_started).read() as reader:
        faults = integrity.faults(reader, heads, ctx.clock.now())
        is_whole = all(fault.part != "schema" for fault in faults)
        counts = integrity.counts(reader) if is_whole else {}
        dead = queue.dead(reader) if is_whole else []
        behind = _behind(reader, embedder) if is_whole and embedder else []
        standing = _standing(ctx, reader) if is_whole else []
        late = missed(reader, schedule_of(ctx.settings)) if is_whole and ctx.store == MAIN else []
        engine, kept = reader.dialect.describe(), reader.dialect.notices
    return Examination(
        ok=not faults,
        engine=engine,
        embedder=f"{ctx.embedder.state}{f': {ctx.embedder.reason}' if ctx.embedder.reason else ''}",
        counts=counts,
        faults=[Finding(fault.part, fault.detail) for fault in faults],
        notes=[
            *ctx.notices,
            *kept,
            *standing,
            *behind,
            *late,
            *ledger.unread(ctx.database),
            *(f"job {job.key} failed too often: {job.error}" for job in dead),
            *_exposed(ctx),
        ],
    )


def _behind(reader: Reader, embedder: Embedder) -> list[str]:
    """How much can't be found by meaning with the model in use, such as what another one embedded."""
    space = embeddings.space_of(reader, embedder.fingerprint)
    lacking = without_vectors(reader, 0 if space is None else space)
    if not lacking:
        return []
    name = embedder.fingerprint.name
    return [f"memories with no vector of the model {name}, so found by words only: {lacking:,}"]


def _standing(ctx: Context, reader: Reader) -> list[str]:
    """What is new about the caller's place and the operator, a passphrase taken out by hand, what waits."""
    found = status_of(reader)
    removed = [f"{found.last_event}, and is no longer in the store"] if found.removed else []
    news = operator_news(reader)
    place = [said for said in ctx.stand(reader, ctx.started_as).notices if not said.startswith(tuple(news))]
    waiting = waiting_for_owner(reader)
    asked = [f"{counted(waiting, 'question waits', 'questions wait')} for you: m3 review"] if waiting else []
    return [*news, *place, *removed, *asked]


def accept_head(ctx: Context) -> Acceptance:
    """Takes the history of a store that was put back for the caller's own, by an event that says so.

    Changes nothing where the history holds what was noted beside the store. Raises the Unavailable errors.
    """
    heads = ctx.database.heads.read()
    with ctx.write() as writer:
        lost = lost_head(writer, heads)
        if lost is None:
            return Acceptance(accepted=False)
        event = operation(ctx, writer).record("restore", "", 0, reason=f"accepted: {lost}")
    with suppress(OSError):  # where nothing can be written beside the store, the doctor goes on telling
        ctx.database.heads.accept(writer)
    return Acceptance(accepted=True, lost=str(lost), event=event)


def _exposed(ctx: Context) -> list[str]:
    """Whether other users of this machine can read the store."""
    home = ctx.settings.home
    if ctx.settings.database_url or os.name == "nt" or not home.exists() or not home.stat().st_mode & 0o077:
        return []
    return [f"other users of this machine can read {home}: chmod 700 {home}"]
