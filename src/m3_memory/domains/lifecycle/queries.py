"""SQL over what has had its time: expired, beyond its retention, near one another, due, and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.lifecycle.model import CountedMemory, DueMemory, Policy, Scanned
from m3_memory.kernel.clock import BEGINNING, plus
from m3_memory.kernel.decay import DAY_SECONDS
from m3_memory.storage.predicates import clauses, held, is_open, of_user, relation, visible
from m3_memory.storage.sql import Sql, any_of, join, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View
    from m3_memory.storage.sql import Value

KEPT_CHANGES = 50_000
"""So many of the last changes stay for derived indexes to replay; one further behind is built anew."""

_EVERY = 1_000_000_000

DOUBTED = sql("memory_corroborations WHERE agrees = 0")
REVISED = sql("memory_items WHERE version > 1")
"""Rows about memories, by which `most` counts: doubts, and new versions but the first."""

_HELD_STILL = join(" AND ", (is_open("belief"), sql("belief.trust_state <> 'rejected'")))
_PROTECTED = sql("(coalesce(state.pinned, 0) = 1 OR visible.trust_state = 'verified')")
_WITH_STATE = sql("LEFT JOIN memory_state AS state ON state.memory_id = visible.memory_id")


# What is due: each a query for the keys of rows that maintenance may remove or close.


def count(reader: Reader, due: Sql) -> int:
    """How many rows are due."""
    row = reader.row(sql("SELECT count(*) FROM (") + due + sql(") AS due"))
    return number(row[0]) if row else 0


def first(reader: Reader, due: Sql, limit: int) -> list[Value]:
    """The keys of so many of the rows that are due, in their order."""
    return [key for (key,) in reader.rows(due + sql("ORDER BY 1 LIMIT ?", limit))]


def expired(reader: Reader, view: View, *, whole: bool) -> Sql:
    """Memories whose time is over and that the store believes still: in the view's audiences, or the user's.

    Without those that no machine ends, and the rejected: those keep what they say from coming back.
    """
    where = _of_user(reader) if whole else clauses(view)["audience"]
    past = relation([where, _HELD_STILL, sql("belief.expires_at <= ?", view.now)])
    found = sql("SELECT visible.memory_id FROM") + past + _WITH_STATE
    return found + sql("WHERE NOT") + _PROTECTED


def closed_before(reader: Reader, moment: str) -> Sql:
    """The user's memories of which no belief is open, and none was after that store time; none is pinned."""
    return (
        sql(
            "SELECT b.memory_id FROM memory_validity AS b JOIN memory_items AS i ON i.item = b.item"
            " LEFT JOIN memory_state AS s ON s.memory_id = b.memory_id"
            " WHERE coalesce(s.pinned, 0) = 0 AND"
        )
        + of_user(reader, "i.owner")
        + sql("GROUP BY b.memory_id HAVING max(b.recorded_to) <= ?", moment)
    )


def beyond(reader: Reader, policy: Policy) -> Sql:
    """Memories of the user that an agent wrote and its policy no longer keeps.

    Those older than it allows, and what is over its number: the least important go first, of equals the
    least used, then the oldest. Pinned and verified ones count and stay.
    """
    current = sql("belief.expires_at > ? AND belief.agent_id = ?", reader.now, policy.agent_id)
    since = plus(reader.now, -policy.ttl_days * DAY_SECONDS) if policy.ttl_days else BEGINNING
    return (
        sql(
            "SELECT memory_id FROM (SELECT every.*, count(*) OVER () AS total, row_number() OVER"
            " (ORDER BY stays, age, importance, uses, recorded_from, memory_id) AS place FROM"
            " (SELECT visible.memory_id, visible.recorded_from, CASE WHEN visible.recorded_from < ? THEN 0"
            " ELSE 1 END AS age, coalesce(state.importance, 0.5) AS importance, coalesce(used.use_count, 0)"
            " AS uses, CASE WHEN",
            since,
        )
        + _PROTECTED
        + sql("THEN 1 ELSE 0 END AS stays FROM")
        + relation([_of_user(reader), _HELD_STILL, current])
        + _WITH_STATE
        + sql(
            "LEFT JOIN memory_access AS used ON used.memory_id = visible.memory_id) AS every) AS ranked"
            " WHERE stays = 0 AND (age = 0 OR place <= total - ?)",
            policy.max_memories or _EVERY,
        )
    )


def beyond_policies(reader: Reader) -> Sql:
    """What no policy of the user keeps."""
    listed = [beyond(reader, policy) for policy in policies(reader)]
    return join(" UNION ALL ", listed or [sql("SELECT '' AS memory_id WHERE 1 = 0")])


def orphans(_: Reader) -> Sql:
    """The items of versions of which nothing is left but vectors."""
    return sql(
        "SELECT DISTINCT e.item FROM memory_embeddings AS e"
        " WHERE NOT EXISTS (SELECT 1 FROM memory_items AS i WHERE i.item = e.item)"
    )


def remove_vectors(writer: Writer, items: Sequence[Value]) -> None:
    """Removes the vectors of these items."""
    writer.execute(sql("DELETE FROM memory_embeddings WHERE") + any_of("item", items))


def old_changes(_: Reader) -> Sql:
    """The sequences of changes that no derived index needs any more."""
    return sql(
        "SELECT sequence FROM search_changes"
        " WHERE sequence <= (SELECT max(sequence) FROM search_changes) - ?",
        KEPT_CHANGES,
    )


def remove_changes(writer: Writer, sequences: Sequence[Value]) -> None:
    """Removes these changes."""
    writer.execute(sql("DELETE FROM search_changes WHERE") + any_of("sequence", sequences))


# Policies.


def policies(reader: Reader) -> list[Policy]:
    """Every retention policy of the reader's user."""
    found = reader.rows(
        sql("SELECT agent_id, max_memories, ttl_days FROM retention_policies WHERE")
        + of_user(reader)
        + sql("ORDER BY agent_id")
    )
    return [Policy(text(row[0]), number(row[1]), number(row[2])) for row in found]


def put_policy(writer: Writer, policy: Policy, event: int) -> None:
    """Sets the policy of an agent; one without any limit is none."""
    writer.execute(
        sql("DELETE FROM retention_policies WHERE owner = ? AND agent_id = ?", writer.owner, policy.agent_id)
    )
    if policy.max_memories or policy.ttl_days:
        writer.execute(
            sql(
                "INSERT INTO retention_policies (owner, agent_id, max_memories, ttl_days, set_at, event)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                *(writer.owner, *policy, writer.store_time, event),
            )
        )


def due(reader: Reader, view: View, until: str, limit: int) -> tuple[list[DueMemory], int]:
    """What is to be looked at again by then, the longest due first, and how much of that there is."""
    asked = visible(view) + sql(
        "JOIN memory_state AS state ON state.memory_id = visible.memory_id"
        " JOIN memory_items AS said ON said.item = visible.item"
        " WHERE state.refresh_on <> '' AND state.refresh_on <= ?",
        until,
    )
    found = reader.rows(
        sql(
            "SELECT visible.memory_id, visible.type, said.title, substr(said.content, 1, 400),"
            " state.refresh_on, state.refresh_reason FROM"
        )
        + asked
        + sql("ORDER BY state.refresh_on, visible.memory_id LIMIT ?", limit)
    )
    memories = [
        DueMemory(memory_id, kind, title, content, on, on <= view.now, reason or None)
        for memory_id, kind, title, content, on, reason in (map(text, row) for row in found)
    ]
    return memories, count(reader, sql("SELECT visible.memory_id FROM") + asked)


def events_since(reader: Reader, view: View, since: str) -> dict[str, int]:
    """How many events of each kind memories of held audiences had, the most frequent first."""
    told = sql("SELECT h.kind, count(*) AS events FROM memory_history AS h WHERE h.memory_id IN")
    elsewhere = sql("AND NOT (h.kind IN ('link', 'unlink') AND h.other_id NOT IN")
    found = reader.rows(
        told
        + _held_ids(view)
        + elsewhere
        + _held_ids(view)
        + sql(") AND h.store_time >= ? GROUP BY h.kind ORDER BY events DESC, h.kind", since)
    )
    return {text(kind): number(count) for kind, count in found}


def sightings_since(reader: Reader, view: View, since: str) -> dict[bool, int]:
    """How often somebody agreed with memories of held audiences, and how often not."""
    found = reader.rows(
        sql(
            "SELECT c.agrees, count(*) FROM memory_corroborations AS c WHERE c.recorded_at >= ? AND"
            " c.memory_id IN",
            since,
        )
        + _held_ids(view)
        + sql("GROUP BY c.agrees")
    )
    return {bool(agrees): number(count) for agrees, count in found}


def most(reader: Reader, view: View, rows: Sql, since: str, limit: int) -> list[CountedMemory]:
    """The memories of held audiences with the most of these rows since then; titles of what is visible."""
    counted = rows + sql("AND recorded_at >= ? GROUP BY memory_id", since)
    found = reader.rows(
        sql("SELECT counted.memory_id, counted.times, coalesce(said.title, '') FROM")
        + sql("(SELECT memory_id, count(*) AS times FROM")
        + counted
        + sql(") AS counted LEFT JOIN")
        + visible(view)
        + sql(
            "ON visible.memory_id = counted.memory_id LEFT JOIN memory_items AS said"
            " ON said.item = visible.item WHERE counted.memory_id IN"
        )
        + _held_ids(view)
        + sql("ORDER BY counted.times DESC, counted.memory_id LIMIT ?", limit)
    )
    return [CountedMemory(text(row[0]), number(row[1]), text(row[2]) or None) for row in found]


def scan(reader: Reader, view: View, limit: int) -> list[Scanned]:
    """What the view shows, the newest first."""
    newest = sql("ORDER BY visible.item DESC LIMIT ?", limit)
    shown = sql("SELECT visible.item, visible.memory_id, audience, type, variant FROM") + visible(view)
    return [
        Scanned(number(item), text(memory_id), tuple(place))
        for item, memory_id, *place in reader.rows(shown + newest)
    ]


def _of_user(reader: Reader) -> Sql:
    return sql("belief.audience IN (SELECT audience FROM audiences WHERE") + of_user(reader) + sql(")")


def _held_ids(view: View) -> Sql:
    return sql("(SELECT held.memory_id FROM") + held(view) + sql(")")
