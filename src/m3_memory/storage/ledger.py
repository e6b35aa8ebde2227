"""The ledger of erasures: a copy of their records beside the database, forward only and without content.

A record holds digests by the store's key: of the ids that were erased and of the values that may not come
back. What the ledger knows and the store does not was erased after this copy of the store was made: it is
erased again before anything is served. What the store knows and the ledger does not is noted.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from m3_memory.kernel.clock import FOREVER
from m3_memory.storage import erasure, history
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.locks import file_lock
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from m3_memory.storage.database import Reader, Store, Writer

_WAIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Record:
    """One erasure: whose, of what kind of subject, and keyed digests of what is gone."""

    erasure_id: str
    origin: str
    user: str
    subject_kind: str
    ids: tuple[str, ...]
    values: tuple[str, ...]


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


def reconcile(database: Store) -> int:
    """Makes store and ledger agree, and finishes what an erasure left to do; how many were done again."""
    path = _path(database)
    noted = _read(path)
    with database.read("") as reader:
        rows = reader.rows(sql("SELECT erasure_id, record, scrubbed FROM erasures"))
        origin = reader.origin
    known = {text(row[0]): text(row[1]) for row in rows}
    lost = [each for each in noted if each.origin == origin and each.erasure_id not in known]
    for record in lost:
        _erase_again(database, record)
    _append(path, [known[name] for name in known.keys() - {each.erasure_id for each in noted}])
    if lost or any(not row[2] for row in rows):
        scrub(database)
    return len(lost)


def scrub_what_is_left(database: Store) -> None:
    """Takes out what an erasure before could not, if there is any."""
    with database.read("") as reader:
        is_left = reader.row(sql("SELECT 1 FROM erasures WHERE scrubbed = 0 LIMIT 1"))
    if is_left:
        scrub(database)


def scrub(database: Store) -> bool:
    """Takes what was erased out of the files; False if that waits for other processes, and is done later."""
    if not database.scrub():
        return False
    with database.read("") as reader:
        users = reader.rows(
            sql(
                "SELECT DISTINCT o.user_id FROM owners AS o JOIN erasures AS e ON e.owner = o.owner"
                " WHERE e.scrubbed = 0"
            )
        )
    for row in users:
        with database.write(text(row[0])) as writer:
            writer.execute(sql("UPDATE erasures SET scrubbed = 1 WHERE owner = ?", writer.owner))
    return True


def _erase_again(database: Store, record: Record) -> None:
    with database.read("") as reader:
        owners = [text(row[0]) for row in reader.rows(sql("SELECT user_id FROM owners"))]
        theirs = [user_id for user_id in owners if erasure.keyed(reader, "user", user_id) == record.user]
    for user_id in theirs:
        with database.erasing(user_id) as writer:
            ids = _named(writer, frozenset(record.ids))
            counts = erasure.erase(writer, ids)
            because = "erased before; this was an older copy"
            history.append_all(
                writer,
                [history.Event("forget", id_, 0, 0, "ledger", record.erasure_id, "", because) for id_ in ids],
            )
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


def _read(path: Path | None) -> list[Record]:
    """Every record that can be understood; a line that a crash cut off is none."""
    found: list[Record] = []
    lines: list[str] = []
    if path:
        with suppress(OSError):
            lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            found.append(_record(json.loads(line)))
    return found


def _record(given: dict[str, Any]) -> Record:
    erasure_id, origin, user, kind = (
        str(given[name]) for name in ("erasure_id", "origin", "user", "subject_kind")
    )
    ids, values = (tuple(map(str, given[name])) for name in ("ids", "values"))
    return Record(erasure_id, origin, user, kind, ids, values)


def _append(path: Path | None, records: Sequence[str]) -> None:
    """Adds records to the file, its user's alone; what can't be written now the next opening notes."""
    if path is None or not records:
        return
    with suppress(OSError), file_lock(path.with_name(f"{path.name}.lock"), _WAIT_SECONDS) as held:
        there = {each.erasure_id for each in _read(path)}
        fresh = [written for written in records if json.loads(written)["erasure_id"] not in there]
        if held and fresh:
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, "".join(f"\n{written}\n" for written in fresh).encode())
                os.fsync(file)
            finally:
                os.close(file)
