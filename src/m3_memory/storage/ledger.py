"""The ledger of erasures: a copy of their records beside the database, forward only and without content.

A record holds digests by the store's key: of the ids that were erased and of the values that may not come
back. What the ledger knows and the store does not was erased after this copy of the store was made: it is
erased again before anything is served. What the store knows and the ledger does not is noted.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m3_memory.errors import M3Error
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage import erasure, history
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.locks import file_lock
from m3_memory.storage.scheduled_backup import renew_copies
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.storage.database import Reader, Store, Writer

_WAIT_SECONDS = 5.0
_NOTED = ("erasure_id", "origin", "user", "subject_kind", "ids", "values")
"""What of a record is noted beside the store."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Record:
    """One erasure: whose, of what kind of subject, and keyed digests of what is gone.

    Among `ids` is the subject's name, where that is an agent or a conversation. `files` are copies that are
    to go with it, each as `noted`; those, and whether backups made before it stay, the store alone keeps.
    """

    erasure_id: str
    origin: str
    user: str
    subject_kind: str
    ids: tuple[str, ...]
    values: tuple[str, ...]
    keeps_backups: bool = True
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cleansed:
    """What became of copies: those that went, and those that nobody can tell whose they are.

    `is_done` is false while something waits: for other processes, or for a disk with room.
    """

    is_done: bool = True
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def noted(path: Path) -> str:
    """A file as it is now: what is written to it later is not meant. Raises OSError."""
    return f"{path.stat().st_mtime_ns}:{path}"


def put_erasure(writer: Writer, record: Record, counts: dict[str, int]) -> None:
    """Keeps an erasure's record and receipt, in its transaction; its bytes are to be scrubbed still."""
    writer.execute(
        sql(
            "INSERT INTO erasures (erasure_id, owner, subject_kind, counts, record, scrubbed, erased_at)"
            " VALUES (?, ?, ?, ?, ?, 0, ?)",
            *(record.erasure_id, writer.owner, record.subject_kind, json.dumps(counts, sort_keys=True)),
            *(json.dumps(asdict(record)), writer.store_time),
        )
    )


def reconcile(database: Store, copies: Path | None = None) -> int:
    """Makes store and ledger agree, and finishes what an erasure left to do; how many were done again.

    `copies` is the folder of the store's backups.
    """
    count = agree(database)
    if removed := scrub_what_is_left(database, copies).removed:
        _log.warning("an erasure was broken off: copies that it left are removed now: %s", removed)
    return count


def agree(database: Store) -> int:
    """Makes store and ledger agree; how many erasures were done again."""
    path = _path(database)
    there = _read(path)
    with database.read("") as reader:
        rows = reader.rows(sql("SELECT erasure_id, record FROM erasures"))
        origin = reader.origin
    known = {text(row[0]): _record(json.loads(text(row[1]))) for row in rows}
    lost = [each for each in there if each.origin == origin and each.erasure_id not in known]
    for record in lost:
        _erase_again(database, record)
    _append(path, [known[name] for name in known.keys() - {each.erasure_id for each in there}])
    return len(lost)


def scrub_what_is_left(database: Store, copies: Path | None = None, *, at_once: bool = False) -> Cleansed:
    """Takes what was erased out of the store's files and of copies, where that is still to be done.

    Files that an erasure noted are removed. Backups in the folder that hold what was erased are made anew:
    all of them, or, where older ones are to be kept, those made since. They wait for the store's own files,
    which other processes may hold, unless `at_once`, and are then made anew once more.
    """
    waiting = _unscrubbed(database)
    if not waiting:
        return Cleansed()
    removed, left, is_done = [*_removed(waiting)], list[str](), database.scrub()
    if copies and (is_done or at_once):
        since = min(erased_at if record.keeps_backups else "" for _, record, erased_at in waiting)
        try:
            gone, unknown = renew_copies(database, copies, since)
            removed, left = [*removed, *map(str, gone)], [*map(str, unknown)]
        except (M3Error, OSError):
            is_done = False
    for user_id in {user_id for user_id, _, _ in waiting} if is_done else ():
        theirs = tuple(record.erasure_id for user, record, _ in waiting if user == user_id)
        with database.write(user_id) as writer:
            writer.execute(sql("UPDATE erasures SET scrubbed = 1 WHERE") + any_of("erasure_id", theirs))
    return Cleansed(is_done, tuple(removed), tuple(left))


def unread(database: Store) -> list[str]:
    """How much of the ledger can't be understood, as a person is told; nothing where all can.

    A line that a crash cut off does not count: what it said is in the store, and is noted again.
    """
    path = _path(database)
    lines = (line for line in _lines(path) if line.strip() and (line[0] != "{" or line[-1] == "}"))
    count = sum(1 for _ in lines) - len(_read(path))
    told = f"{count:,} lines of {path} can't be read: what they tell of may come back with an older copy"
    return [told] if count > 0 else []


def _removed(waiting: Sequence[tuple[str, Record, str]]) -> Iterator[str]:
    """Removes the files that these erasures noted, and that nobody has written to since."""
    for name in (name for _, record, _ in waiting for name in record.files):
        path = Path(name.partition(":")[2])
        with suppress(OSError):
            if noted(path) == name:
                path.unlink()
                yield str(path)


def _unscrubbed(database: Store) -> list[tuple[str, Record, str]]:
    """(user, erasure, when) of those whose bytes may still be there."""
    with database.read("") as reader:
        rows = reader.rows(
            sql(
                "SELECT o.user_id, e.record, e.erased_at FROM erasures AS e"
                " JOIN owners AS o ON o.owner = e.owner WHERE e.scrubbed = 0"
            )
        )
    return [(text(user), _record(json.loads(text(record))), text(at)) for user, record, at in rows]


def _erase_again(database: Store, record: Record) -> None:
    with database.read("") as reader:
        owners = [text(row[0]) for row in reader.rows(sql("SELECT user_id FROM owners"))]
        theirs = [user_id for user_id in owners if erasure.keyed(reader, "user", user_id) == record.user]
    for user_id in theirs:
        with database.erasing(user_id) as writer:
            ids = _named(writer, frozenset(record.ids))
            counts = erasure.erase(writer, ids, erasure.quoting(writer, ids))
            because = "erased before; this was an older copy"
            history.append_all(
                writer,
                [history.Event("forget", id_, 0, 0, "ledger", record.erasure_id, "", because) for id_ in ids],
            )
            names = ((kind, name) for kind, name in erasure.subjects(writer))
            for kind, name in [(record.subject_kind, ""), *names]:
                if not name or erasure.keyed(writer, kind, name) in record.ids:
                    erasure.erase_traces(writer, kind, name)
            _bury_again(writer, record)
            put_erasure(writer, record, counts)


def _named(reader: Reader, digests: frozenset[str]) -> list[str]:
    every = reader.rows(
        sql(
            "SELECT DISTINCT i.memory_id FROM memory_items AS i JOIN owners AS o ON o.owner = i.owner"
            " WHERE o.user_id = ?",
            reader.user_id,
        )
    )
    return [text(row[0]) for row in every if erasure.keyed(reader, "id", text(row[0])) in digests]


def _bury_again(writer: Writer, record: Record) -> None:
    known = {text(row[0]) for row in writer.rows(sql("SELECT digest FROM memory_tombstones"))}
    insert_rows(
        writer,
        sql(
            "INSERT INTO memory_tombstones (owner, audience, digest, memory_id, reason, set_by, set_at,"
            " lifted_at)"
        ),
        [
            (writer.owner, None, digest, "", "erased", "ledger", writer.store_time, FOREVER)
            for digest in record.values
            if digest not in known
        ],
    )


def _path(database: Store) -> Path | None:
    heads = database.heads.path
    return heads.with_suffix(".erased") if heads else None


def _lines(path: Path | None) -> list[str]:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    return []


def _read(path: Path | None) -> list[Record]:
    """Every record that can be understood, as of a store that keeps its backups."""
    found: list[Record] = []
    for line in _lines(path):
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            found.append(_record(json.loads(line)))
    return found


def _record(given: dict[str, Any]) -> Record:
    erasure_id, origin, user, kind = (
        str(given[name]) for name in ("erasure_id", "origin", "user", "subject_kind")
    )
    ids, values, files = (tuple(map(str, given.get(name, ()))) for name in ("ids", "values", "files"))
    return Record(erasure_id, origin, user, kind, ids, values, given.get("keeps_backups", True), files)


def _append(path: Path | None, records: Sequence[Record]) -> None:
    """Adds records to the file, its user's alone; what can't be written now the next opening notes."""
    if path is None or not records:
        return
    with suppress(OSError), file_lock(path.with_name(f"{path.name}.lock"), _WAIT_SECONDS) as held:
        there = {each.erasure_id for each in _read(path)}
        fresh = [asdict(each) for each in records if each.erasure_id not in there]
        if held and fresh:
            lines = (json.dumps({name: each[name] for name in _NOTED}) for each in fresh)
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, "".join(f"\n{line}\n" for line in lines).encode())
                os.fsync(file)
            finally:
                os.close(file)
