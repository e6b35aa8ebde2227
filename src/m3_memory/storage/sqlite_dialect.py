"""SQLite's answers to the questions of the seam."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

import apsw

from m3_memory import errors
from m3_memory.kernel.analyser import audience_token
from m3_memory.storage.dialect import COUNTED_DOCUMENTS, listed, statistics
from m3_memory.storage.filesystem import MOVE
from m3_memory.storage.predicates import View, audience_numbers, visible
from m3_memory.storage.schema_objects import TABLE_MISSING, missing
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import PUT_BACK, number, text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from m3_memory.errors import M3Error
    from m3_memory.kernel.ranking import TermStatistics
    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.dialect import Found, Near
    from m3_memory.storage.filesystem import FileSystem
    from m3_memory.storage.sqlite import SqliteDatabase
    from m3_memory.storage.vectors import VectorCache

_AGAIN = "try again; nothing was stored"
_ERRORS: dict[type[apsw.Error], tuple[type[M3Error], str, str]] = {
    apsw.BusyError: (errors.StoreBusy, "another writer holds the store", _AGAIN),
    apsw.ProtocolError: (errors.StoreBusy, "the store's lock did not come free", _AGAIN),
    apsw.FullError: (
        errors.StoreFull,
        "the disk that holds the store is full",
        "free some space and try again; nothing was stored and reading goes on",
    ),
    apsw.ReadOnlyError: (
        errors.StoreReadOnly,
        "the store can't be written here",
        "make the file and its folder writable for this user; reading goes on",
    ),
    apsw.CantOpenError: (
        errors.StoreUnreachable,
        "the store's file can't be opened",
        "check that the folder named by M3_HOME exists and this user may read and write it",
    ),
    apsw.PermissionsError: (
        errors.StoreUnreachable,
        "this user may not open the store's file",
        "check the permissions of the folder named by M3_HOME",
    ),
    apsw.InterruptError: (
        errors.DeadlinePassed,
        "the call was cancelled or its time ran out while the store was read",
        "narrow what is asked, or give the call more time",
    ),
    apsw.IOError: (
        errors.StoreDamaged,
        "the disk failed while the store was used",
        "nothing was stored; check the disk, then run m3 doctor",
    ),
    apsw.CorruptError: (errors.StoreDamaged, "the store's file is damaged", PUT_BACK),
    apsw.NotADBError: (
        errors.StoreDamaged,
        "the file is no SQLite database",
        f"check M3_HOME, or {PUT_BACK}",
    ),
}
_LOCK_FAILURES = (apsw.SQLITE_IOERR_LOCK, apsw.SQLITE_IOERR_RDLOCK, apsw.SQLITE_IOERR_CHECKRESERVEDLOCK)


class SqliteDialect:
    def __init__(self, path: Path, database: SqliteDatabase, file_system: FileSystem) -> None:
        self._path = path
        self._database = database
        self._file_system = file_system
        self._cache: VectorCache | None = None

    def text_candidates(self, reader: Reader, view: View, terms: Sequence[str], limit: int) -> list[int]:
        held = audience_numbers(reader, view)
        if not held or not terms:
            return []
        asked = listed(_asked(reader, held, terms))
        places = sql("FROM json_each(?) AS asked CROSS JOIN search_index CROSS JOIN", asked) + visible(view)
        matched = sql("ON visible.item = search_index.rowid WHERE search_index MATCH asked.value")
        if len(terms) == 1:  # the newest are the best, and are found without looking at the others
            newest = sql("ORDER BY search_index.rowid DESC LIMIT ?", limit)
            found = reader.rows(sql("SELECT visible.item") + places + matched + newest)
        else:
            found = reader.rows(
                sql("WITH found AS MATERIALIZED (SELECT visible.item, asked.key AS place")
                + places
                + matched
                + _RANKED
                + sql("LIMIT ?", limit)
            )
        return [number(row[0]) for row in found]

    def vector_candidates(self, reader: Reader, view: View, near: Near) -> list[Found]:
        if self._cache is None:
            from m3_memory.storage.vectors import VectorCache

            self._cache = VectorCache(self._path, private=self._file_system.is_shared)
        return self._cache.nearest(reader, view, near)

    def cosines(self, reader: Reader, near: Near, items: Sequence[int]) -> dict[int, float]:
        from m3_memory.storage.vectors import rows

        return rows.cosines(reader, near, items)

    def vector_value(self, vector: bytes) -> bytes:
        return vector

    def term_statistics(self, reader: Reader, view: View, terms: Sequence[str]) -> TermStatistics:
        held = audience_numbers(reader, view)
        asked = _asked(reader, held, terms) if held else []
        return statistics(reader, held, terms, _HOLDING + sql("FROM json_each(?) AS asked", listed(asked)))

    def classify(self, error: Exception) -> M3Error | None:
        extended = getattr(error, "extendedresult", 0)
        if extended == apsw.SQLITE_IOERR_SHMSIZE:
            error = apsw.FullError()
        if extended in _LOCK_FAILURES:
            return errors.UnsafeFolder(f"files can't be locked here ({self._path})", MOVE)
        if isinstance(error, apsw.SQLError) and str(error).startswith("no such table"):
            return errors.StoreDamaged(f"a table of the store is missing ({self._path})", PUT_BACK)
        for theirs, (ours, message, hint) in _ERRORS.items():
            if isinstance(error, theirs):
                return ours(f"{message} ({self._path})", hint)
        return None

    def damage(self, reader: Reader) -> list[str]:
        found = missing("sqlite", reader.rows(sql("SELECT type, name FROM sqlite_master")))
        try:
            found += [text(row[0]) for row in reader.rows(sql("PRAGMA integrity_check"))]
            if not any(sentence.startswith(TABLE_MISSING) for sentence in found):
                counted = ((reader.rows(sql(statement))[0][0], what) for what, statement in _DAMAGES)
                found += [f"{count} {what}" for count, what in counted if count]
        except apsw.SQLError as error:  # a part of the word index that is no table of ours is gone
            found.append(f"the file can't be read whole: {error}")
        return [damage for damage in found if damage != "ok"]

    def remove_strays(self, writer: Writer, limit: int) -> int:
        return writer.execute(
            sql(
                "DELETE FROM search_index WHERE rowid IN (SELECT s.id FROM search_index_docsize AS s"
                " WHERE NOT EXISTS (SELECT 1 FROM search_documents AS d WHERE d.item = s.id) LIMIT ?)",
                limit,
            )
        )

    def describe(self) -> str:
        where = self._file_system
        kept = f" on {where.name}, without write-ahead log" if where.is_shared else ""
        return f"SQLite {apsw.sqlite_lib_version()}{kept}"

    @property
    def notices(self) -> tuple[str, ...]:
        return self._file_system.notices

    def copy_to(self, path: Path) -> None:
        self._database.copy_to(path)


_DAMAGES: tuple[tuple[str, LiteralString], ...] = (
    (
        "documents are not in the word index",
        "SELECT count(*) FROM search_documents AS d WHERE NOT EXISTS"
        " (SELECT 1 FROM search_index_docsize AS s WHERE s.id = d.item)",
    ),
    (
        "entries of the word index belong to no document",
        "SELECT count(*) FROM search_index_docsize AS s WHERE NOT EXISTS"
        " (SELECT 1 FROM search_documents AS d WHERE d.item = s.id)",
    ),
    (
        "vectors are not as long as their embedding space says",
        "SELECT count(*) FROM memory_embeddings AS e JOIN embedding_spaces AS s ON s.space = e.space"
        " WHERE typeof(e.vector) <> 'blob' OR length(e.vector) <> s.dimension * 2",
    ),
)

_HOLDING = sql(
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM search_index WHERE search_index MATCH asked.value LIMIT ?))",
    COUNTED_DOCUMENTS,
)
_RANKED = sql(
    "), weights AS (SELECT place, ln(1 + sum(count(*)) OVER () * 1.0 / count(*)) AS weight"
    " FROM found GROUP BY place)"
    " SELECT found.item FROM found JOIN weights ON weights.place = found.place GROUP BY found.item"
    " ORDER BY round(sum(weights.weight), 9) DESC, found.item DESC"
)


def _asked(reader: Reader, audiences: Sequence[int], terms: Sequence[str]) -> list[str]:
    """For each term the documents of these audiences that hold it, as the index is asked for them.

    Where no other audience has any document the term alone says the same, without a second list to cross.
    """
    elsewhere = sql("SELECT 1 FROM search_totals WHERE documents > 0 AND NOT (") + any_of(
        "audience", tuple(audiences)
    )
    quoted = ['"' + term.replace('"', '""') + '"' for term in terms]
    if reader.row(elsewhere + sql(") LIMIT 1")) is None:
        return quoted
    theirs = " OR ".join(f'"{audience_token(audience)}"' for audience in audiences)
    return [f"({theirs}) AND {term}" for term in quoted]
