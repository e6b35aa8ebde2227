"""Forgetting: a subject's memories leave the store whole, and do not come back by any way."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.memories.service.derived import resting_on
from m3_memory.domains.memories.service.neighbours import shown_text
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
from m3_memory.storage.probe import UNREAD, our_files, probe_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from m3_memory.context import Context
    from m3_memory.storage.database import Reader

SHOWN = 100
"""So many ids an answer names; it counts all."""

_QUOTED = 20
"""Of so many memories a preview shows what they say."""

_PROBED = 200
"""So many of the erased texts, the longest, are looked for in files."""

_COPIES = frozenset({"exports", "spool"})
"""Folders of the home folder whose files are copies we made: those that hold an erased text are removed."""

_KINDS = {"user_id": "user", "conversation_id": "conversation", "ids": "list"}
"""What a subject is called by its argument, where that is not its own name."""


def subject_of(**given: Sequence[str] | None) -> Subject | None:
    """The one subject that was given; None for none. Raises InvalidArgument for two, and for an empty one."""
    named = {name: [value] if isinstance(value, str) else value for name, value in given.items()}
    match [(name, values) for name, values in named.items() if values is not None]:
        case []:
            return None
        case [(name, values)]:
            if not all(value.strip() for value in values) or not values:
                raise InvalidArgument(f"{name} is empty: it names nobody", "name whose memories are meant")
            return Subject(_KINDS.get(name, name), tuple(values))
        case several:
            names = " and ".join(name for name, _ in several)
            raise InvalidArgument(f"{names} are several subjects", "name one: they are erased one by one")


def forget(
    ctx: Context, subject: Subject | None, query: str, confirm: str, *, keep_backups: bool
) -> ForgetResult:
    """Erases a subject's memories and all that rests on them alone; without `confirm` tells what that is.

    Every row about them goes, questions that quote them too, and their bytes from the files; their values may
    not be stored again; copies in our folders go or, kept, are cleansed when put back. A query means nothing
    by itself: what it finds is proposed. Raises InvalidArgument where nobody is named, or besides a query,
    PlanStale where `confirm` is not that of what would be erased now.
    """
    if (subject is None) is not bool(query):
        raise InvalidArgument(
            "name whose memories are meant" if subject is None else "a query proposes, and erases nobody's",
            "give one of ids, agent, project, conversation_id and query, or user_id for everything of yours",
        )
    if subject is None:
        hits = search(ctx, SearchRequest(query, SHOWN)).hits
        found = _preview(ctx, "list", [hit.id for hit in hits])
        shown = [replace(each, score=hit.score) for each, hit in zip(found.shown, hits, strict=False)]
        return replace(found, status="proposed", confirm=None, shown=shown)
    if not confirm:
        with ctx.read() as reader:
            ids = meant(reader, subject)
        return _preview(ctx, subject.kind, ids, subject.name)
    with ctx.read() as reader:
        _, texts = erasure.said_by(reader, _shown(reader, subject, confirm))
    files = () if keep_backups else tuple(_copies_holding(ctx, texts))
    done = _erased(ctx, subject, confirm, files, keep_backups=keep_backups)
    return _cleansed(ctx, done, texts, keep_backups=keep_backups)


def meant(reader: Reader, subject: Subject) -> list[str]:
    """The subject's memories, and what was derived from them alone."""
    names = subject.names
    match subject.kind:
        case "list":
            every = frozenset(queries.memories_of(reader, "memory_id", names))
            found = [id_ for id_ in names if id_ in every]
        case "agent":
            found = queries.memories_of(reader, "agent_id", names)
        case "project":
            found = queries.memories_of(reader, "project", names_of(names[0], mains_of_aliases(reader)))
        case "conversation":
            grouped = queries.memories_of(reader, "conversation_id", names)
            found = [*dict.fromkeys(grouped + queries.memories_of(reader, "written_in", names))]
        case _:
            found = queries.memories_of(reader, "memory_id", [])
    return sorted(resting_on(reader, found))


def _preview(ctx: Context, kind: str, ids: list[str], name: str = "") -> ForgetResult:
    with ctx.read() as reader:
        counts = erasure.counted(reader, ids, erasure.quoting(reader, ids))
        _count_sightings(counts, len(erasure.sightings(reader, kind, name, frozenset(ids))))
        confirm = _confirm(reader, kind, ids)
        first = queries.newest_of(reader, ids[:_QUOTED])
    shown = [replace(each, text=shown_text(each.text)) for each in first]
    return ForgetResult("preview", kind, len(ids), ids[:SHOWN], counts, confirm, shown)


def _count_sightings(counts: dict[str, int], more: int) -> None:
    if more:
        counts["memory_corroborations"] = counts.get("memory_corroborations", 0) + more


def _confirm(reader: Reader, kind: str, ids: Sequence[str]) -> str:
    """What says that exactly these were shown, and said then what they say now."""
    hashes, _ = erasure.said_by(reader, ids)
    return hashlib.sha256("\x1f".join((kind, *ids, *hashes)).encode()).hexdigest()[:16]


def _shown(reader: Reader, subject: Subject, confirm: str) -> list[str]:
    """The subject's memories. Raises PlanStale where others were shown, or said other things."""
    ids = meant(reader, subject)
    if _confirm(reader, subject.kind, ids) != confirm:
        raise PlanStale(
            "what would be erased is not what was shown: nothing was", "look at it anew, without confirm"
        )
    return ids


def _erased(
    ctx: Context, subject: Subject, confirm: str, files: tuple[str, ...], *, keep_backups: bool
) -> ForgetResult:
    """The erasure of the rows, in one transaction, which notes what copies are to go."""
    kind, asked_by = subject.kind, ctx.started_as.user_id
    ctx.ensure_time()
    with ctx.database.erasing(asked_by) as writer:
        ids = _shown(writer, subject, confirm)
        if not ids and kind in ("list", "project"):
            return ForgetResult("erased", kind, 0, [], {})
        op = operation(ctx, writer)
        erasure_id = new_id(writer.store_time)
        burials = [Burial(normal_hash) for normal_hash in erasure.said_by(writer, ids)[0]]
        op.record_all([op.event("forget", id_, 0, reason=erasure_id) for id_ in ids])
        counts = erasure.erase(writer, ids, erasure.quoting(writer, ids))
        bury(op, burials, "erased")
        _count_sightings(counts, erasure.erase_traces(writer, kind, subject.name))
        named = [erasure.keyed(writer, kind, subject.name)] if subject.name else []
        record = ledger.Record(
            *(erasure_id, writer.origin, erasure.keyed(writer, "user", asked_by), kind),
            (*(erasure.keyed(writer, "id", id_) for id_ in ids), *named),
            tuple(digests_of(writer, burials)),
            keeps_backups=keep_backups,
            files=files,
        )
        ledger.put_erasure(writer, record, counts)
    return ForgetResult("erased", kind, len(ids), ids[:SHOWN], counts, erasure_id=erasure_id)


def _cleansed(ctx: Context, done: ForgetResult, texts: list[str], *, keep_backups: bool) -> ForgetResult:
    """Takes the bytes out of files: the store's, then copies of it in our folders."""
    if done.erasure_id is None:
        return done
    ledger.agree(ctx.database)
    found = ledger.scrub_what_is_left(ctx.database, ctx.settings.backups_of(ctx.store), at_once=True)
    files = map(str, (path for path in our_files(ctx.settings.home) if _may_hold(path, texts)))
    warnings = (
        [] if found.is_done else ["what is left of it in files, the next that opens the store takes out"]
    )
    if keep_backups:
        warnings.append("backups were kept: what was erased is erased again from one that is put back")
    if len(texts) > _PROBED:
        warnings.append(f"of {len(texts):,} texts the longest {_PROBED} were looked for in files")
    left = [*dict.fromkeys((*found.left, *files))]
    return replace(done, scrubbed=found.is_done, removed=[*found.removed], left=left, warnings=warnings)


def _copies_holding(ctx: Context, texts: Sequence[str]) -> Iterator[str]:
    """The files we made that hold one of these texts, each as it is noted."""
    for path in our_files(ctx.settings.home):
        traces = probe_files([path], _telling(texts)) if path.parent.name in _COPIES else ()
        if any(trace.form != UNREAD for trace in traces):
            with suppress(OSError):
                yield ledger.noted(path)


def _may_hold(path: Path, texts: Sequence[str]) -> bool:
    """Whether a file holds one of these texts; of a copy we made also whether that can't be told."""
    is_copy = path.parent.name in _COPIES
    looked_for = texts[:_PROBED] if is_copy else _telling(texts)
    is_untold = is_copy and len(texts) > _PROBED
    return is_untold or any(probe_files([path] if looked_for else [], looked_for))


def _telling(texts: Sequence[str]) -> list[str]:
    return [text for text in texts[:_PROBED] if len(text) >= erasure.TELLING_CHARACTERS]
