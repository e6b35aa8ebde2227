"""PostgreSQL's answers to the questions of the seam."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict

from m3_memory import errors
from m3_memory.kernel.analyser import audience_token
from m3_memory.storage.dialect import COUNTED_DOCUMENTS, listed, statistics
from m3_memory.storage.predicates import View, audience_numbers, visible
from m3_memory.storage.schema_objects import TABLE_MISSING, missing
from m3_memory.storage.sql import any_of, join, sql
from m3_memory.storage.transaction import number, real

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from m3_memory.errors import M3Error
    from m3_memory.kernel.ranking import TermStatistics
    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.dialect import Found, Near

_ONE_BY_ONE = 4
"""Up to so many vectors the server compares each with all rows; to send the rows costs more."""
_SENT_HEADER_BYTES = 4
"""The dimension and a reserved number, ahead of a vector's numbers as the server sends them."""

_AGAIN = "try again; nothing was stored"
_BUSY = (errors.StoreBusy, "another writer holds the store", _AGAIN)
_GONE = (
    errors.StoreUnreachable,
    "the PostgreSQL server can't be reached or ended the connection",
    "check that it runs and that M3_DATABASE_URL is right; a write under way is stored whole or not at all",
)
_DAMAGED = (
    errors.StoreDamaged,
    "the PostgreSQL server reports damaged data or a failing disk",
    "look into the server's log, then run m3 doctor",
)
_LOST_TABLE = (
    errors.StoreDamaged,
    "a table of the store is missing",
    "m3 doctor names it; put a backup in place",
)
_CROWDED = (errors.StoreBusy, "the PostgreSQL server has no free connection", "try again, or raise its limit")
_STOPPED = (errors.DeadlinePassed, "the PostgreSQL server stopped a statement", "try again with more time")
_SETUP = (
    errors.StoreUnreachable,
    "the store can't be prepared in this PostgreSQL database",
    "let its administrator run CREATE EXTENSION vector, CREATE ROLE m3_server and GRANT m3_server to this"
    " user, and name a schema that this user may create tables in",
)
_ERRORS: dict[str, tuple[type[M3Error], str, str]] = {
    "55P03": _BUSY,  # lock_not_available
    "40P01": _BUSY,  # deadlock_detected
    "40001": _BUSY,  # serialization_failure
    "53300": _CROWDED,
    "53200": (errors.StoreBusy, "the PostgreSQL server is out of memory", _AGAIN),
    "57014": _STOPPED,
    "53100": (
        errors.StoreFull,
        "the disk of the PostgreSQL server is full",
        "free some space and try again; nothing was stored and reading goes on",
    ),
    "25006": (
        errors.StoreReadOnly,
        "the PostgreSQL server takes no writes",
        "name the primary server in M3_DATABASE_URL; reading goes on",
    ),
    "58030": _DAMAGED,  # io_error
    "XX001": _DAMAGED,  # data_corrupted
    "XX002": _DAMAGED,  # index_corrupted
    "42P01": _LOST_TABLE,
    "3F000": _SETUP,  # no schema of the search path exists
}


class PostgresDialect:
    """`version` is what the server said of itself, set by whoever connected."""

    notices: tuple[str, ...] = ()

    def __init__(self, url: str) -> None:
        self.place = _place(url)
        self.version = "PostgreSQL"

    def text_candidates(self, reader: Reader, view: View, terms: Sequence[str], limit: int) -> list[int]:
        held = audience_numbers(reader, view)
        if not held or not terms:
            return []
        wanted = f"({_tokens(held)}) & ({' | '.join(map(_lexeme, terms))})"
        flags = join(", ", (sql("document.terms @@ ?::tsquery", _lexeme(term)) for term in terms))
        found = reader.rows(
            sql("WITH found AS MATERIALIZED (SELECT visible.item, ARRAY[")
            + flags
            + sql("] AS flags FROM")
            + visible(view)
            + sql("JOIN search_documents AS document ON document.item = visible.item")
            + sql("WHERE document.terms @@ ?::tsquery),", wanted)
            + _RANKED
            + sql("LIMIT ?", limit)
        )
        return [number(row[0]) for row in found]

    def vector_candidates(self, reader: Reader, view: View, near: Near) -> list[Found]:
        if len(near.vectors) > _ONE_BY_ONE:
            return _compared_here(reader, view, near)
        asked = (
            sql("WITH shown AS MATERIALIZED (SELECT visible.item FROM")
            + visible(view)
            + sql(
                ") SELECT item, cosine FROM (SELECT shown.item, max(1 - (embedding.vector <=> ?::halfvec))"
                " AS cosine FROM shown JOIN memory_embeddings AS embedding ON embedding.item = shown.item"
                " AND embedding.space = ? GROUP BY shown.item) AS near WHERE cosine >= ?"
                " ORDER BY cosine DESC, item LIMIT ?",
                self.vector_value(vector),
                near.space,
                near.floor,
                near.limit,
            )
            for vector in near.vectors
        )
        return [
            [(number(item), real(cosine)) for item, cosine in reader.rows(statement)] for statement in asked
        ]

    def cosines(self, reader: Reader, near: Near, items: Sequence[int]) -> dict[int, float]:
        if not items:
            return {}
        given = sql(
            "SELECT item, max(1 - (vector <=> ?::halfvec)) FROM memory_embeddings WHERE space = ? AND",
            self.vector_value(near.vectors[0]),
            near.space,
        )
        found = reader.rows(given + any_of("item", tuple(items)) + sql("GROUP BY item"))
        return {number(item): real(cosine) for item, cosine in found}

    def vector_value(self, vector: bytes) -> str:
        numbers = struct.unpack(f"<{len(vector) // 2}e", vector)
        return f"[{','.join(map(repr, numbers))}]"

    def term_statistics(self, reader: Reader, view: View, terms: Sequence[str]) -> TermStatistics:
        held = audience_numbers(reader, view)
        asked = listed([f"({_tokens(held)}) & {_lexeme(term)}" for term in terms] if held else [])
        given = sql("FROM json_array_elements_text(?::json) WITH ORDINALITY AS asked (query, key)", asked)
        return statistics(reader, held, terms, _HOLDING + given)

    def classify(self, error: Exception) -> M3Error | None:
        if not isinstance(error, psycopg.Error):
            return None
        state = error.sqlstate or ""
        known = _ERRORS.get(state)
        is_lost = state[:2] == "08" or state[:3] == "57P" or not state
        if known is None and is_lost and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            known = _GONE
        return self._explained(known, error) if known else None

    def unprepared(self, error: psycopg.Error) -> M3Error:
        """What to tell of an error that came while a store was made or migrated."""
        return self.classify(error) or self._explained(_SETUP, error)

    def damage(self, reader: Reader) -> list[str]:
        found = missing("postgres", reader.rows(_OBJECTS))
        invalid = reader.rows(
            sql(
                "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
                " WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace"
            )
        )
        found += [f"the index {name} is not valid" for (name,) in invalid]
        if not any(sentence.startswith(TABLE_MISSING) for sentence in found):
            ((count,),) = reader.rows(_MISFITS)
            found += [f"{count} vectors are not as long as their embedding space says"] if count else []
        return found

    def remove_strays(self, writer: Writer, limit: int) -> int:
        del writer, limit
        return 0

    def describe(self) -> str:
        return self.version

    def copy_to(self, path: Path) -> None:
        raise errors.Refused(
            "a PostgreSQL store is backed up with PostgreSQL's own tools",
            f"pg_dump --format=custom --file={path} of the database {self.place}",
        )

    def _explained(self, known: tuple[type[M3Error], str, str], error: psycopg.Error) -> M3Error:
        kind, message, hint = known
        said = str(error).strip().partition("\n")[0]
        return kind(f"{message} ({self.place}): {said}", hint)


_OBJECTS = sql(
    # A trigger that is switched off is as good as missing.
    "SELECT 'table', tablename::text FROM pg_tables WHERE schemaname = current_schema()"
    " UNION ALL SELECT 'index', indexname::text FROM pg_indexes WHERE schemaname = current_schema()"
    " UNION ALL SELECT 'trigger', t.tgname::text FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
    " WHERE c.relnamespace = current_schema()::regnamespace AND t.tgenabled <> 'D'"
)
_MISFITS = sql(
    "SELECT count(*) FROM memory_embeddings AS e JOIN embedding_spaces AS s ON s.space = e.space"
    " WHERE vector_dims(e.vector) <> s.dimension"
)

_HOLDING = sql(
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM search_documents WHERE terms @@ asked.query::tsquery"
    " LIMIT ?) AS counted)",
    COUNTED_DOCUMENTS,
)
_RANKED = sql(
    # A word counts more the fewer of the rows found hold it; sums are rounded so that their order of
    # addition decides nothing.
    "weights AS (SELECT place, ln(1 + sum(count(*)) OVER () / count(*)::float8) AS weight"
    " FROM found CROSS JOIN unnest(flags) WITH ORDINALITY AS flag (holds, place) WHERE holds GROUP BY place)"
    " SELECT found.item FROM found CROSS JOIN unnest(flags) WITH ORDINALITY AS flag (holds, place)"
    " JOIN weights ON weights.place = flag.place WHERE holds GROUP BY found.item"
    " ORDER BY round(sum(weights.weight)::numeric, 9) DESC, found.item DESC"
)


def _compared_here(reader: Reader, view: View, near: Near) -> list[Found]:
    """Every visible vector is sent once and compared with all the queries: one is compared by the server."""
    from m3_memory.storage.vectors import search

    dimension = reader.row(sql("SELECT dimension FROM embedding_spaces WHERE space = ?", near.space))
    if dimension is None:
        return [[] for _ in near.vectors]

    def windows(items: Sequence[int]) -> search.Windows:
        given = sql(
            "SELECT item, halfvec_send(vector) FROM memory_embeddings WHERE space = ? AND", near.space
        )
        found = reader.rows(given + any_of("item", items))
        sent = [cast("bytes", vector)[_SENT_HEADER_BYTES:] for _, vector in found]
        return [number(item) for item, _ in found], search.unit_vectors(sent, width, ">f2")

    width = number(dimension[0])
    shown = reader.rows(sql("SELECT DISTINCT visible.item FROM") + visible(view))
    asked = search.question(near, width)
    return search.over_rows(asked, [number(row[0]) for row in shown], windows)


def _place(url: str) -> str:
    """The address as people may see it: without password or options."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise errors.InvalidSettings(
            "the PostgreSQL address can't be understood",
            "write it as postgresql://user:password@host:port/name, with special characters percent-encoded",
        ) from None
    user, host, port = (str(parts.get(key) or "") for key in ("user", "host", "port"))
    server = f"{host or 'localhost'}{':' if port else ''}{port}"
    return f"{user}{'@' if user else ''}{server}/{parts.get('dbname') or ''}"


def _lexeme(term: str) -> str:
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _tokens(audiences: Sequence[int]) -> str:
    return " | ".join(_lexeme(audience_token(audience)) for audience in audiences)
