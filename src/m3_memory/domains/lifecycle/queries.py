"""SQL over what has had its time: expired, beyond its retention, near one another, due, and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.lifecycle.model import CountedMemory, DueMemory, Policy, Scanned
from m3_memory.kernel.clock import BEGINNING, plus
from m3_memory.kernel.decay import DAY_SECONDS
from m3_memory.storage.predicates import clauses, held, is_open, relation, visible
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View
    from m3_memory.storage.sql import Row

KEPT_CHANGES = 50_000
"""So many of the last changes stay for derived indexes to replay; one further behind is built anew."""

EVERY = 1_000_000_000

_NOT_REJECTED = sql("belief.trust_state <> 'rejected'")
_OWNER = sql("(SELECT owner FROM owners WHERE user_id = ?)")
_ORPHANS = sql(
    "FROM memory_embeddings AS e WHERE NOT EXISTS (SELECT 1 FROM memory_items AS i WHERE i.item = e.item)"
)


def expired(reader: Reader, view: View, *, whole: bool, limit: int = EVERY) -> list[str]:
    """Memories whose time is over and that the store believes still: in the view's audiences, or the user's.

    Without those that no machine ends, and the rejected: those keep what they say from coming back.
    """
    where = [_of_user(view) if whole else clauses(view)["audience"], is_open("belief"), _NOT_REJECTED]
    past = relation([*where, sql("belief.expires_at <= ?", view.now)])
    found = reader.rows(_closable(past) + sql("ORDER BY visible.belief LIMIT ?", limit))
    return [text(row[0]) for row in found]


def closed_before(reader: Reader, moment: str) -> list[str]:
    """The user's memories of which no belief is open, and none was after that store time; none is pinned."""
    found = reader.rows(
        sql(
            "SELECT b.memory_id FROM memory_validity AS b JOIN memory_items AS i ON i.item = b.item"
            " LEFT JOIN memory_state AS s ON s.memory_id = b.memory_id WHERE coalesce(s.pinned, 0) = 0"
            " AND i.owner ="
        )
        + Sql(_OWNER.text, (reader.user_id,))
        + sql("GROUP BY b.memory_id HAVING max(b.recorded_to) <= ? ORDER BY b.memory_id", moment)
    )
    return [text(row[0]) for row in found]


def policies(reader: Reader) -> list[Policy]:
    """Every retention policy of the reader's user."""
    where = sql("WHERE owner =") + _OWNER + sql("ORDER BY agent_id")
    found = reader.rows(
        sql("SELECT agent_id, max_memories, ttl_days FROM retention_policies")
        + Sql(where.text, (reader.user_id,))
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


def beyond(reader: Reader, view: View, policy: Policy) -> list[str]:
    """Memories of the user that an agent wrote and its policy no longer keeps, in the order of their going.

    First those older than it allows, then what is over its number: the least important first, of equals the
    least used, then the oldest. Pinned and verified ones count and stay.
    """
    of_agent = relation(
        [
            _of_user(view),
            is_open("belief"),
            _NOT_REJECTED,
            sql("belief.expires_at > ?", view.now),
            sql("belief.agent_id = ?", policy.agent_id),
        ]
    )
    since = plus(view.now, -policy.ttl_days * DAY_SECONDS) if policy.ttl_days else BEGINNING
    closable = _closable(of_agent)
    by_worth = sql(
        "ORDER BY coalesce(state.importance, 0.5), coalesce(used.use_count, 0), visible.recorded_from,"
        " visible.memory_id LIMIT ?"
    )
    old = reader.rows(closable + sql("AND visible.recorded_from < ?", since) + Sql(by_worth.text, (EVERY,)))
    (count,) = reader.row(sql("SELECT count(*) FROM") + of_agent) or (0,)
    excess = number(count) - len(old) - policy.max_memories if policy.max_memories else 0
    rest = closable + sql("AND visible.recorded_from >= ?", since) + Sql(by_worth.text, (max(0, excess),))
    return [text(row[0]) for row in [*old, *reader.rows(rest)]]


def orphan_count(reader: Reader) -> int:
    """How many versions there are of which nothing is left but vectors."""
    row = reader.row(sql("SELECT count(DISTINCT e.item)") + _ORPHANS)
    return number(row[0]) if row else 0


def remove_orphans(writer: Writer, limit: int) -> int:
    """Removes the vectors of so many versions that are not there; how many that were."""
    found = writer.rows(sql("SELECT DISTINCT e.item") + _ORPHANS + sql("ORDER BY e.item LIMIT ?", limit))
    if found:
        writer.execute(sql("DELETE FROM memory_embeddings WHERE") + any_of("item", [row[0] for row in found]))
    return len(found)


def lapsing(reader: Reader) -> int:
    """How many open questions of the reader's user nobody answered in time."""
    row = reader.row(
        sql("SELECT count(*) FROM review_items WHERE state = 'open' AND lapses_at <= ? AND", reader.now)
        + sql("owner IN (SELECT owner FROM owners WHERE user_id = ?)", reader.user_id)
    )
    return number(row[0]) if row else 0


def old_changes(reader: Reader) -> int:
    """How many changes no derived index needs any more."""
    row = reader.row(sql("SELECT count(*) FROM search_changes WHERE") + _old_changes())
    return number(row[0]) if row else 0


def trim_changes(writer: Writer, limit: int) -> int:
    """Removes so many of them, the oldest first; how many there were."""
    return writer.execute(
        sql("DELETE FROM search_changes WHERE sequence IN (SELECT sequence FROM search_changes WHERE")
        + _old_changes()
        + sql("ORDER BY sequence LIMIT ?)", limit)
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
    (count,) = reader.row(sql("SELECT count(*) FROM") + asked) or (0,)
    return memories, number(count)


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


def most_contradicted(reader: Reader, view: View, since: str, limit: int) -> list[CountedMemory]:
    """The memories that were doubted most often."""
    return _most(
        reader,
        view,
        sql(
            "SELECT memory_id, count(*) AS times FROM memory_corroborations WHERE agrees = 0"
            " AND recorded_at >= ? GROUP BY memory_id",
            since,
        ),
        limit,
    )


def most_revised(reader: Reader, view: View, since: str, limit: int) -> list[CountedMemory]:
    """The memories that got the most new versions, their first not counted."""
    return _most(
        reader,
        view,
        sql(
            "SELECT memory_id, count(*) AS times FROM memory_items WHERE version > 1 AND recorded_at >= ?"
            " GROUP BY memory_id",
            since,
        ),
        limit,
    )


def scan(reader: Reader, view: View, limit: int) -> list[Scanned]:
    """What the view shows, the newest first."""
    found = reader.rows(
        sql(
            "SELECT visible.item, visible.memory_id, visible.version, visible.audience, visible.type,"
            " visible.variant, said.title, said.content, visible.trust_state, visible.recorded_from,"
            " coalesce(state.pinned, 0) FROM"
        )
        + visible(view)
        + sql(
            "JOIN memory_items AS said ON said.item = visible.item"
            " LEFT JOIN memory_state AS state ON state.memory_id = visible.memory_id"
            " ORDER BY visible.item DESC LIMIT ?",
            limit,
        )
    )
    return [
        Scanned(number(r[0]), text(r[1]), number(r[2]), number(r[3]), *_texts(r), pinned=bool(r[10]))
        for r in found
    ]


def _texts(row: Row) -> tuple[str, str, str, str, str, str]:
    return text(row[4]), text(row[5]), text(row[6]), text(row[7]), text(row[8]), text(row[9])


def _of_user(view: View) -> Sql:
    return sql(
        "belief.audience IN (SELECT a.audience FROM audiences AS a JOIN owners AS o ON o.owner = a.owner"
        " WHERE o.user_id = ?)",
        view.caller.user_id,
    )


def _closable(beliefs: Sql) -> Sql:
    """The ids of those of these beliefs' memories that a machine may end, up to and with a condition."""
    return (
        sql("SELECT visible.memory_id FROM")
        + beliefs
        + sql(
            "LEFT JOIN memory_state AS state ON state.memory_id = visible.memory_id"
            " LEFT JOIN memory_access AS used ON used.memory_id = visible.memory_id"
            " WHERE coalesce(state.pinned, 0) = 0 AND visible.trust_state <> 'verified'"
        )
    )


def _old_changes() -> Sql:
    return sql("sequence <= (SELECT max(sequence) FROM search_changes) - ?", KEPT_CHANGES)


def _held_ids(view: View) -> Sql:
    return sql("(SELECT held.memory_id FROM") + held(view) + sql(")")


def _most(reader: Reader, view: View, counted: Sql, limit: int) -> list[CountedMemory]:
    found = reader.rows(
        sql("SELECT counted.memory_id, counted.times, coalesce(said.title, '') FROM (")
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
