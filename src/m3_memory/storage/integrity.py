"""Whether rows, word index, vectors and history agree: what the doctor reads, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from m3_memory.kernel.clock import seconds_between
from m3_memory.storage import history, queue, stored_texts
from m3_memory.storage.heads import HOW_TO_ACCEPT, lost_head
from m3_memory.storage.predicates import is_open
from m3_memory.storage.schema_objects import TABLE_MISSING
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3_memory.storage.database import Reader

CLOCK_TOLERANCE_SECONDS = 60.0

_COUNTED: tuple[tuple[str, str, LiteralString], ...] = (
    (
        "rows",
        "versions that no belief was ever held of",
        "SELECT count(*) FROM memory_items AS i WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_validity AS v WHERE v.item = i.item)",
    ),
    (
        "rows",
        "beliefs of a version that is not there",
        "SELECT count(*) FROM memory_validity AS v WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_items AS i WHERE i.item = v.item)",
    ),
    (
        "rows",
        "beliefs whose opening or closing is not in the history",
        "SELECT count(*) FROM memory_validity AS v WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_history AS h WHERE h.event = v.opened_by)"
        " OR (v.closed_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory_history AS h WHERE h.event ="
        " v.closed_by))",
    ),
    (
        "rows",
        "memories without their state",
        "SELECT count(DISTINCT v.memory_id) FROM memory_validity AS v WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_state AS s WHERE s.memory_id = v.memory_id)",
    ),
    (
        "rows",
        "beliefs that say other things of their version than it does",
        "SELECT count(*) FROM memory_validity AS v JOIN memory_items AS i ON i.item = v.item"
        " WHERE v.memory_id <> i.memory_id OR v.version <> i.version OR v.audience <> i.audience"
        " OR v.type <> i.type OR v.agent_id <> i.agent_id OR v.conversation_id <> i.conversation_id"
        " OR v.variant <> i.variant",
    ),
    (
        "rows",
        "beliefs that are closed without an event, or open with one",
        "SELECT count(*) FROM memory_validity WHERE (closed_by IS NULL) <>"
        " (recorded_to = '9999-12-31T23:59:59.999999Z')",
    ),
    (
        "rows",
        "beliefs that end before they begin",
        "SELECT count(*) FROM memory_validity WHERE NOT (valid_from < valid_to AND recorded_from <"
        " recorded_to)",
    ),
    (
        "rows",
        "edges whose opening or closing is not in the history",
        "SELECT count(*) FROM memory_relationships AS e WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_history AS h WHERE h.event = e.opened_by)"
        " OR (e.closed_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM memory_history AS h WHERE h.event ="
        " e.closed_by))",
    ),
    (
        "rows",
        "edges that are closed without an event, or open with one",
        "SELECT count(*) FROM memory_relationships WHERE (closed_by IS NULL) <>"
        " (recorded_to = '9999-12-31T23:59:59.999999Z')",
    ),
    (
        "history",
        "events without their salt",
        "SELECT count(*) FROM memory_history AS h WHERE EXISTS"  # it is erased with its subject
        " (SELECT 1 FROM memory_items AS i WHERE i.memory_id = h.memory_id) AND NOT EXISTS"
        " (SELECT 1 FROM memory_history_salts AS s WHERE s.event = h.event AND length(s.salt) = 16)",
    ),
    (
        "index",
        "versions without their words",
        "SELECT count(*) FROM memory_items AS i WHERE NOT EXISTS"
        " (SELECT 1 FROM search_documents AS d WHERE d.item = i.item)",
    ),
    (
        "index",
        "words of a version that is not there",
        "SELECT count(*) FROM search_documents AS d WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_items AS i WHERE i.item = d.item)",
    ),
    (
        "index",
        "audiences whose totals are not those of their documents",
        "SELECT count(*) FROM (SELECT audience FROM (SELECT audience, documents, tokens FROM search_totals"
        " UNION ALL SELECT i.audience, -1, -d.token_count FROM search_documents AS d"
        " JOIN memory_items AS i ON i.item = d.item) AS entries GROUP BY audience"
        " HAVING sum(documents) <> 0 OR sum(tokens) <> 0) AS differing",
    ),
    (
        "vectors",
        "vectors of an embedding space that is not there",
        "SELECT count(*) FROM memory_embeddings AS e WHERE NOT EXISTS"
        " (SELECT 1 FROM embedding_spaces AS s WHERE s.space = e.space)",
    ),
    (
        "vectors",
        "vectors of a version that is not there",
        "SELECT count(*) FROM memory_embeddings AS e WHERE NOT EXISTS"
        " (SELECT 1 FROM memory_items AS i WHERE i.item = e.item)",
    ),
    (
        "vectors",
        "versions whose vectors have a gap",
        "SELECT count(*) FROM (SELECT item, space FROM memory_embeddings GROUP BY item, space"
        " HAVING count(*) <> max(window_number) + 1) AS gaps",
    ),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not agree; `part` is rows, index, vectors, history, file, schema or clock."""

    part: str
    detail: str


def faults(reader: Reader, heads: Mapping[str, tuple[int, str]], clock_now: str) -> list[Fault]:
    """What in the store does not agree with the rest; empty for a sound store.

    Rows, indexes and files are looked at whole, and no row is named; of histories and clocks, the user's own
    alone. Where a table is missing nothing else is looked at. `heads` are the heads noted beside the store,
    by `origin/user`; they are to be read before the transaction begins, since a commit in between moves them
    on.
    """
    damage = reader.dialect.damage(reader)
    gone = [Fault("schema", sentence) for sentence in damage if sentence.startswith(TABLE_MISSING)]
    found = gone + [Fault("file", sentence) for sentence in damage if not sentence.startswith(TABLE_MISSING)]
    if gone:
        return found
    checks: tuple[tuple[str, Callable[[], list[Fault]]], ...] = (
        ("rows", lambda: _disagreeing(reader)),
        ("rows", lambda: _texts(reader)),
        ("history", lambda: _broken_chain(reader, heads)),
        ("clock", lambda: early_store_time(reader, clock_now)),
    )
    return found + [fault for part, check in checks for fault in _found(part, check)]


def counts(reader: Reader) -> dict[str, int]:
    """How much the reader's user has: memories, versions, open beliefs, vectors, events, jobs by state."""
    owner = sql("(SELECT owner FROM owners WHERE user_id = ?)", reader.user_id)
    theirs = sql("(SELECT * FROM memory_items WHERE owner =") + owner + sql(") AS i")
    believed = theirs + sql("JOIN memory_validity AS v ON v.item = i.item AND") + is_open("v")
    tables: dict[str, Sql] = {
        "memories": sql("SELECT count(DISTINCT i.memory_id) FROM") + theirs,
        "versions": sql("SELECT count(*) FROM") + theirs,
        "open_beliefs": sql("SELECT count(*) FROM") + believed,
        "vectors": sql("SELECT count(*) FROM")
        + theirs
        + sql("JOIN memory_embeddings AS e ON e.item = i.item"),
        "without_vectors": sql("SELECT count(*) FROM")
        + believed
        + sql(
            "WHERE i.embed = 1 AND NOT EXISTS (SELECT 1 FROM memory_embeddings AS e WHERE e.item = i.item)"
        ),
        "without_vectors_or_job": sql("SELECT count(*) FROM")
        + believed
        + sql(
            "WHERE i.embed = 1 AND NOT EXISTS (SELECT 1 FROM memory_embeddings AS e WHERE e.item = i.item)"
            " AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.key = 'embed:' || i.item)"
        ),
        "events": sql("SELECT count(*) FROM memory_history WHERE owner =") + owner,
    }
    found: dict[str, int] = {}
    for name, counted in tables.items():
        row = reader.row(counted)
        found[name] = number(row[0]) if row else 0
    jobs = queue.counts(reader)
    return found | {"jobs_waiting": jobs["waiting"] + jobs["running"], "jobs_dead": jobs["dead"]}


def _found(part: str, check: Callable[[], list[Fault]]) -> list[Fault]:
    """What a check finds; values that it can't even read are a fault too."""
    try:
        return check()
    except (ValueError, TypeError, AssertionError) as error:
        return [Fault(part, f"1 value or more can't be read ({type(error).__name__})")]


def _disagreeing(reader: Reader) -> list[Fault]:
    counted = ((part, what, reader.row(sql(statement))) for part, what, statement in _COUNTED)
    return [Fault(part, f"{row[0]} {what}") for part, what, row in counted if row and number(row[0])]


def _texts(reader: Reader) -> list[Fault]:
    return [Fault(part, f"{count} {what}") for part, what, count in stored_texts.differences(reader)]


def _broken_chain(reader: Reader, heads: Mapping[str, tuple[int, str]]) -> list[Fault]:
    row = reader.row(sql("SELECT owner FROM owners WHERE user_id = ?", reader.user_id))
    broken = history.verify(reader, number(row[0]) if row else 0)
    if broken:
        return [Fault("history", f"at event {broken.sequence}: {broken.reason}")]
    lost = lost_head(reader, heads)
    return [Fault("history", f"{lost}; {HOW_TO_ACCEPT}")] if lost else []


def early_store_time(reader: Reader, clock_now: str) -> list[Fault]:
    """Whether the last store time of the reader's user is ahead of the clock by more than it may be."""
    row = reader.row(sql("SELECT last_store_time FROM owners WHERE user_id = ?", reader.user_id))
    try:
        ahead = seconds_between(clock_now, text(row[0])) if row else 0.0
    except (ValueError, TypeError, AssertionError):
        return [Fault("clock", "the last store time is no time")]
    if ahead <= CLOCK_TOLERANCE_SECONDS:
        return []
    return [Fault("clock", f"the last store time is {ahead:.0f} seconds ahead of the clock")]
