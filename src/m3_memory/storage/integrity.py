"""Whether rows, word index, vectors and history agree: what the doctor reads, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from m3_memory.kernel.clock import FOREVER, seconds_between
from m3_memory.storage import audit, queue, stored_texts
from m3_memory.storage.heads import HOW_TO_ACCEPT, lost_head
from m3_memory.storage.predicates import of_user
from m3_memory.storage.schema_objects import TABLE_MISSING
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3_memory.storage.database import Reader

CLOCK_TOLERANCE_SECONDS = 60.0

_ORPHANS: dict[str, tuple[tuple[str, LiteralString, LiteralString], ...]] = {
    "rows": (
        ("versions that no belief was ever held of", "memory_items.item", "memory_validity.item"),
        ("beliefs of a version that is not there", "memory_validity.item", "memory_items.item"),
        ("beliefs without their state", "memory_validity.memory_id", "memory_state.memory_id"),
        ("beliefs whose opening is in no history", "memory_validity.opened_by", "memory_history.event"),
        ("beliefs whose closing is in no history", "memory_validity.closed_by", "memory_history.event"),
        ("edges whose opening is in no history", "memory_relationships.opened_by", "memory_history.event"),
        ("edges whose closing is in no history", "memory_relationships.closed_by", "memory_history.event"),
    ),
    "index": (
        ("versions without their words", "memory_items.item", "search_documents.item"),
        ("words of a version that is not there", "search_documents.item", "memory_items.item"),
    ),
    "vectors": (
        ("vectors of a space that is not there", "memory_embeddings.space", "embedding_spaces.space"),
        ("vectors of a version that is not there", "memory_embeddings.item", "memory_items.item"),
    ),
}
"""Rows whose column names what another table must have, and does not."""

_COUNTED: tuple[tuple[str, str, LiteralString], ...] = (
    (
        "rows",
        "beliefs that end before they begin",
        "memory_validity WHERE NOT (valid_from < valid_to AND recorded_from < recorded_to)",
    ),
    (
        "rows",
        "edges that are closed without an event, or open with one",
        "memory_relationships WHERE (closed_by IS NULL) <> (recorded_to = '9999-12-31T23:59:59.999999Z')",
    ),
    (
        "history",
        "events without their salt",
        "memory_history AS h WHERE EXISTS"  # it is erased with its subject
        " (SELECT 1 FROM memory_items AS i WHERE i.memory_id = h.memory_id) AND NOT EXISTS"
        " (SELECT 1 FROM memory_history_salts AS s WHERE s.event = h.event AND length(s.salt) = 16)",
    ),
    (
        "index",
        "audiences whose totals are not those of their documents",
        "(SELECT audience FROM (SELECT audience, documents, tokens FROM search_totals"
        " UNION ALL SELECT i.audience, -1, -d.token_count FROM search_documents AS d"
        " JOIN memory_items AS i ON i.item = d.item) AS entries GROUP BY audience"
        " HAVING sum(documents) <> 0 OR sum(tokens) <> 0) AS differing",
    ),
    (
        "vectors",
        "versions whose vectors have a gap",
        "(SELECT item, space FROM memory_embeddings GROUP BY item, space"
        " HAVING count(*) <> max(window_number) + 1) AS gaps",
    ),
)
"""What may be in no row of these relations."""

_OPEN: LiteralString = (
    f"memory_items AS i JOIN memory_validity AS v ON v.item = i.item AND v.recorded_to = '{FOREVER}'"
)
_BARE: LiteralString = (
    "i.embed = 1 AND NOT EXISTS (SELECT 1 FROM memory_embeddings AS e WHERE e.item = i.item) AND"
)
_JOBLESS: LiteralString = "NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.key = 'embed:' || i.item) AND"
_HELD: dict[str, LiteralString] = {
    "memories": "count(DISTINCT memory_id) FROM memory_items WHERE",
    "versions": "count(*) FROM memory_items WHERE",
    "open_beliefs": f"count(*) FROM {_OPEN} WHERE",
    "vectors": "count(*) FROM memory_items AS i JOIN memory_embeddings AS e ON e.item = i.item WHERE",
    "without_vectors": f"count(*) FROM {_OPEN} WHERE {_BARE}",
    "without_vectors_or_job": f"count(*) FROM {_OPEN} WHERE {_BARE} {_JOBLESS}",
    "events": "count(*) FROM memory_history WHERE",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not agree; `part` is rows, index, vectors, history, file, schema or clock."""

    part: str
    detail: str


def faults(reader: Reader, heads: Mapping[str, tuple[int, str]], clock_now: str) -> list[Fault]:
    """What in the store does not agree with the rest; empty for a sound store.

    Rows, indexes and files are looked at whole, and no row is named; of the audit's findings only where they
    are of the user's own; of clocks, theirs alone. Where a table is missing nothing else is looked at.
    `heads` are the heads noted beside the store, by `origin/user`; they are to be read before the transaction
    begins, since a commit in between moves them on.
    """
    damage = reader.dialect.damage(reader)
    gone = [Fault("schema", sentence) for sentence in damage if sentence.startswith(TABLE_MISSING)]
    found = gone + [Fault("file", sentence) for sentence in damage if not sentence.startswith(TABLE_MISSING)]
    if gone:
        return found
    checks: tuple[tuple[str, Callable[[], list[Fault]]], ...] = (
        ("rows", lambda: _disagreeing(reader)),
        ("rows", lambda: _texts(reader)),
        ("history", lambda: _audited(reader, heads)),
        ("clock", lambda: early_store_time(reader, clock_now)),
    )
    return found + [fault for part, check in checks for fault in _found(part, check)]


def counts(reader: Reader) -> dict[str, int]:
    """How much the reader's user has: memories, versions, open beliefs, vectors, events, jobs by state."""
    theirs = of_user(reader)
    found = {
        name: number(reader.rows(sql("SELECT") + sql(counted) + theirs)[0][0])
        for name, counted in _HELD.items()
    }
    jobs = queue.counts(reader)
    return found | {"jobs_waiting": jobs["waiting"] + jobs["running"], "jobs_dead": jobs["dead"]}


def _found(part: str, check: Callable[[], list[Fault]]) -> list[Fault]:
    """What a check finds; values that it can't even read are a fault too."""
    try:
        return check()
    except (ValueError, TypeError, AssertionError) as error:
        return [Fault(part, f"1 value or more can't be read ({type(error).__name__})")]


def _disagreeing(reader: Reader) -> list[Fault]:
    asked = [
        (part, what, _orphans(column, of)) for part, pairs in _ORPHANS.items() for what, column, of in pairs
    ]
    asked += [(part, what, sql("SELECT count(*) FROM") + sql(rows)) for part, what, rows in _COUNTED]
    counted = ((part, what, number(reader.rows(statement)[0][0])) for part, what, statement in asked)
    return [Fault(part, f"{count} {what}") for part, what, count in counted if count]


def _orphans(column: LiteralString, of: LiteralString) -> Sql:
    """How many values of a column, given as `table.column`, the other one lacks."""
    table, parent = Sql(column.partition(".")[0]), Sql(of.partition(".")[0])
    held = sql("SELECT count(*) FROM") + table + Sql(f"WHERE {column} IS NOT NULL AND NOT EXISTS")
    return held + sql("(SELECT 1 FROM") + parent + Sql(f"WHERE {of} = {column})")


def _texts(reader: Reader) -> list[Fault]:
    return [Fault(part, f"{count} {what}") for part, what, count in stored_texts.differences(reader)]


def _audited(reader: Reader, heads: Mapping[str, tuple[int, str]]) -> list[Fault]:
    """What the audit finds; of other users only that a memory of theirs is unsound."""
    found: list[Fault] = []
    for owner in audit.owners(reader, everybody=True):
        is_own = owner.user_id == reader.user_id
        for flaw in audit.audited(reader, owner, {}).flaws.values():
            where = flaw.where if is_own else "a memory of another user"
            part = "rows" if flaw.part == "memories" else flaw.part
            if is_own or part == "rows":
                found.append(Fault(part, f"at {where}: {flaw.detail}"))
    lost = None if any(fault.part == "history" for fault in found) else lost_head(reader, heads)
    return [*found, Fault("history", f"{lost}; {HOW_TO_ACCEPT}")] if lost else found


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
