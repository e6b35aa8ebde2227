"""SQLite's answers to the eight questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from m3_memory import errors
from m3_memory.kernel.analyser import audience_token
from m3_memory.kernel.ranking import TermStatistics
from m3_memory.storage.predicates import View, visible
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from m3_memory.errors import M3Error
    from m3_memory.storage.database import Reader
    from m3_memory.storage.sqlite import SqliteDatabase
    from m3_memory.storage.vectors import VectorCache

_ERRORS: tuple[tuple[type[apsw.Error], type[M3Error], str, str], ...] = (
    (
        apsw.BusyError,
        errors.StoreBusy,
        "another writer holds the store",
        "try again; nothing was stored",
    ),
    (
        apsw.ProtocolError,
        errors.StoreBusy,
        "the store's lock did not come free",
        "try again; nothing was stored",
    ),
    (
        apsw.FullError,
        errors.StoreFull,
        "the disk that holds the store is full",
        "free some space and try again; nothing was stored and reading goes on",
    ),
    (
        apsw.ReadOnlyError,
        errors.StoreReadOnly,
        "the store can't be written here",
        "make the file and its folder writable for this user; reading goes on",
    ),
    (
        apsw.CantOpenError,
        errors.StoreUnreachable,
        "the store's file can't be opened",
        "check that the folder named by M3_HOME exists and this user may read and write it",
    ),
    (
        apsw.PermissionsError,
        errors.StoreUnreachable,
        "this user may not open the store's file",
        "check the permissions of the folder named by M3_HOME",
    ),
    (
        apsw.IOError,
        errors.StoreDamaged,
        "the disk failed while the store was used",
        "nothing was stored; check the disk, then run m3 doctor",
    ),
    (
        apsw.CorruptError,
        errors.StoreDamaged,
        "the store's file is damaged",
        "stop the agents and restore the last backup, which m3 doctor names",
    ),
    (
        apsw.NotADBError,
        errors.StoreDamaged,
        "the file is no SQLite database",
        "check M3_HOME, or restore the last backup",
    ),
)


class SqliteDialect:
    def __init__(self, path: Path, database: SqliteDatabase) -> None:
        self._path = path
        self._database = database
        self._cache: VectorCache | None = None

    def bind(self, text: str) -> str:
        return text

    def begin(self, owner: int | None) -> tuple[Sql, ...]:
        return (sql("BEGIN"),) if owner is None else (sql("BEGIN IMMEDIATE"),)

    def text_candidates(self, reader: Reader, view: View, terms: Sequence[str], limit: int) -> list[int]:
        audiences = [audience_token(number(row[0])) for row in reader.rows(_audiences(view))]
        if not audiences or not terms:
            return []
        expression = f"({_either(audiences)}) AND ({_either(terms)})"
        found = reader.rows(
            sql("SELECT visible.item FROM search_index JOIN")
            + visible(view)
            + sql(
                "ON visible.item = search_index.rowid WHERE search_index MATCH ?"
                " ORDER BY search_index.rank LIMIT ?",
                expression,
                limit,
            )
        )
        return [number(row[0]) for row in found]

    def vector_candidates(
        self, reader: Reader, view: View, space: int, query: bytes, limit: int
    ) -> list[tuple[int, float]]:
        if self._cache is None:
            from m3_memory.storage.vectors import VectorCache

            self._cache = VectorCache(self._path)
        return self._cache.nearest(reader, view, space, query, limit)

    def vector_value(self, vector: bytes) -> bytes:
        return vector

    def term_statistics(self, reader: Reader, view: View, terms: Sequence[str]) -> TermStatistics:
        totals = reader.rows(
            sql("SELECT coalesce(sum(documents), 0), coalesce(sum(tokens), 0) FROM search_totals")
        )
        documents, tokens = number(totals[0][0]), number(totals[0][1])
        found = reader.rows(
            sql("SELECT term, doc FROM search_vocabulary WHERE") + any_of("term", tuple(terms))
        )
        return TermStatistics(
            documents,
            tokens / documents if documents else 0.0,
            {text(term): number(doc) for term, doc in found},
        )

    def classify(self, error: Exception) -> M3Error | None:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            error = apsw.FullError()
        for theirs, ours, message, hint in _ERRORS:
            if isinstance(error, theirs):
                return ours(f"{message} ({self._path})", hint)
        return None

    def damage(self, reader: Reader) -> list[str]:
        found = [text(row[0]) for row in reader.rows(sql("PRAGMA quick_check"))]
        unindexed = reader.rows(
            sql(
                "SELECT count(*) FROM search_documents AS d WHERE NOT EXISTS"
                " (SELECT 1 FROM search_index_docsize AS s WHERE s.id = d.item)"
            )
        )
        surplus = reader.rows(
            sql(
                "SELECT count(*) FROM search_index_docsize AS s WHERE NOT EXISTS"
                " (SELECT 1 FROM search_documents AS d WHERE d.item = s.id)"
            )
        )
        if number(unindexed[0][0]):
            found.append(f"{unindexed[0][0]} documents are not in the word index")
        if number(surplus[0][0]):
            found.append(f"{surplus[0][0]} entries of the word index belong to no document")
        return [damage for damage in found if damage != "ok"]

    def describe(self) -> str:
        return f"SQLite {apsw.sqlite_lib_version()}"

    def copy_to(self, path: Path) -> None:
        self._database.copy_to(path)


def _audiences(view: View) -> Sql:
    return sql("SELECT audience FROM audiences WHERE") + any_of("name", view.audiences)


def _either(terms: Sequence[str]) -> str:
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
