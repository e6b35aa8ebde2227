"""Forgetting: a subject's memories leave the store whole, and do not come back by any way."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from m3_memory.declared_stores import MAIN
from m3_memory.domains.memories.service.derived import resting_on
from m3_memory.domains.memories.service.tombstones import Burial, bury, digests_of
from m3_memory.domains.memories.service.writes import operation
from m3_memory.domains.privacy import queries
from m3_memory.domains.privacy.model import ForgetResult, Subject
from m3_memory.domains.retrieval.model import SearchRequest
from m3_memory.domains.retrieval.service import search
from m3_memory.errors import InvalidArgument, PlanStale
from m3_memory.kernel.caller import names_of
from m3_memory.kernel.ids import new_id
from m3_memory.storage import erasure, ledger
from m3_memory.storage.predicates import mains_of_aliases
from m3_memory.storage.probe import our_files, probe_files
from m3_memory.storage.scheduled_backup import renew_copies

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.context import Context
    from m3_memory.storage.database import Reader

SHOWN = 100
"""So many ids an answer names; it counts all."""

_PROBED = 200
_SHORTEST_PROBED = 12
"""Of the erased texts so many are looked for in files, none shorter than this: a word stands everywhere."""

_LEAVINGS = frozenset({"backups", "exports", "spool"})
"""Folders of the home folder whose files are copies we made: those that hold an erased text are removed."""


def forget(ctx: Context, subject: Subject, confirm: str, *, keep_backups: bool) -> ForgetResult:
    """Erases a subject's memories and all that rests on them alone; without `confirm` tells what that is.

    Every row about them goes, and their bytes from the files; their values may not be stored again; copies
    in our folders go or, kept, are cleansed when put back. Raises InvalidArgument for two subjects in one,
    PlanStale where `confirm` is not that of what would be erased now.
    """
    kind = _kind(subject)
    if subject.query:
        found = search(ctx, SearchRequest(subject.query, SHOWN))
        ids = [hit.id for hit in found.hits]
        return replace(_preview(ctx, "list", ids), status="proposed", confirm=None)
    if not confirm:
        with ctx.read() as reader:
            ids = meant(reader, subject)
        return _preview(ctx, kind, ids)
    done, texts = _erased(ctx, kind, subject, confirm)
    return _cleansed(ctx, done, texts, keep_backups=keep_backups)


def _kind(subject: Subject) -> str:
    try:
        return subject.kind
    except ValueError as error:
        raise InvalidArgument(f"{error} are two subjects", "name one: they are erased one by one") from error


def meant(reader: Reader, subject: Subject) -> list[str]:
    """The subject's memories, and what was derived from them alone."""
    match subject:
        case Subject(ids=ids) if ids:
            every = frozenset(queries.memories_of(reader, "memory_id", ids))
            found = [id_ for id_ in ids if id_ in every]
        case Subject(agent_id=agent_id) if agent_id:
            found = queries.memories_of(reader, "agent_id", [agent_id])
        case Subject(project=project) if project:
            found = queries.memories_of(reader, "project", names_of(project, mains_of_aliases(reader)))
        case Subject(conversation_id=talk) if talk:
            grouped = queries.memories_of(reader, "conversation_id", [talk])
            found = [*dict.fromkeys(grouped + queries.memories_of(reader, "written_in", [talk]))]
        case _:
            found = queries.memories_of(reader, "memory_id", [])
    return sorted(resting_on(reader, found))


def _preview(ctx: Context, kind: str, ids: list[str]) -> ForgetResult:
    with ctx.read() as reader:
        counts = erasure.counted(reader, ids)
        confirm = _confirm(reader, kind, ids)
    return ForgetResult("preview", kind, len(ids), ids[:SHOWN], counts, confirm)


def _confirm(reader: Reader, kind: str, ids: Sequence[str]) -> str:
    """What says that exactly these were shown, and said then what they say now."""
    said = (digest for _, digest in queries.texts_of(reader, ids))
    return hashlib.sha256("\x1f".join((kind, *ids, *said)).encode()).hexdigest()[:16]


def _erased(ctx: Context, kind: str, subject: Subject, confirm: str) -> tuple[ForgetResult, list[str]]:
    """The erasure of the rows, in one transaction, and the texts that are gone."""
    asked_by = ctx.started_as.user_id
    ctx.ensure_time()
    with ctx.database.erasing(asked_by) as writer:
        ids = meant(writer, subject)
        if _confirm(writer, kind, ids) != confirm:
            raise PlanStale(
                "what would be erased is not what was shown: nothing was", "look at it anew, without confirm"
            )
        op = operation(ctx, writer)
        erasure_id = new_id(writer.store_time)
        said = queries.texts_of(writer, ids)
        burials = [Burial(normal_hash) for _, normal_hash in said]
        op.record_all(
            [op.event("forget", id_, 0, reason=erasure_id) for id_ in ids] or [op.event("forget", "", 0)]
        )
        counts = erasure.erase(writer, ids)
        bury(op, burials, "erased")
        if kind in ("user", "agent"):
            queries.forget_labels(writer, subject.agent_id)
        record = ledger.Record(
            *(erasure_id, writer.origin, erasure.keyed(writer, "user", asked_by), kind),
            tuple(erasure.keyed(writer, "id", id_) for id_ in ids),
            tuple(digests_of(writer, burials)),
        )
        ledger.put_erasure(writer, record, counts)
    done = ForgetResult("erased", kind, len(ids), ids[:SHOWN], counts, erasure_id=erasure_id)
    return done, [content for content, _ in said]


def _cleansed(ctx: Context, done: ForgetResult, texts: list[str], *, keep_backups: bool) -> ForgetResult:
    """Takes the bytes out of files: the store's, then copies of it in our folders."""
    ledger.reconcile(ctx.database)
    scrubbed = ledger.scrub(ctx.database)
    removed, left = ([], []) if keep_backups else _renewed(ctx)
    long = sorted((t for t in texts if len(t) >= _SHORTEST_PROBED), key=len, reverse=True)[:_PROBED]
    for path in _holding(ctx, long):
        if path.parent.name in _LEAVINGS and not keep_backups and str(path) not in left:
            path.unlink(missing_ok=True)
            removed.append(str(path))
        elif str(path) not in left:
            left.append(str(path))
    warnings = (
        [] if scrubbed else ["other processes use the store: its files are cleansed by the next that can"]
    )
    if keep_backups:
        warnings.append("backups were kept: what was erased is erased again from one that is put back")
    return replace(done, scrubbed=scrubbed, removed=removed, left=left, warnings=warnings)


def _renewed(ctx: Context) -> tuple[list[str], list[str]]:
    """Replaces the backups of this store in our folder; those that went, and those that nobody can tell."""
    if not ctx.settings.all_stores[ctx.store].is_file:
        return [], []
    folder = ctx.settings.backup_folder
    gone, unknown = renew_copies(ctx.database, folder if ctx.store == MAIN else folder / ctx.store)
    return [*map(str, gone)], [*map(str, unknown)]


def _holding(ctx: Context, texts: Sequence[str]) -> Iterator[Path]:
    """The files of our folders that still hold one of these texts."""
    for path in our_files(ctx.settings.home) if texts else ():
        with suppress(OSError):
            if next(probe_files([path], texts), None):
                yield path
