"""SQL of the agents slice: one function per question or change; models out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from m3_memory.domains.agents.model import (
    CHANGED,
    SET,
    AgentRecord,
    Enrolment,
    Met,
    Verifier,
    state_at,
)
from m3_memory.storage.predicates import of_user, visible
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, real, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View
    from m3_memory.storage.sql import Row, Value


def verifier_of(reader: Reader) -> Verifier | None:
    """What the user's operator is verified by."""
    row = reader.row(sql("SELECT parameters, salt, verifier, set_at FROM operators WHERE") + of_user(reader))
    if row is None:
        return None
    parameters, salt, digest, set_at = row
    assert isinstance(salt, bytes)
    assert isinstance(digest, bytes)
    return Verifier(text(parameters), salt, digest, text(set_at))


def has_another_operator(reader: Reader) -> bool:
    """Whether another user of this store has an operator."""
    theirs = sql("owner NOT IN (SELECT o.owner FROM owners AS o WHERE o.user_id = ?)", reader.user_id)
    return bool(reader.rows(sql("SELECT 1 FROM operators WHERE") + theirs + sql("LIMIT 1")))


def put_verifier(writer: Writer, verifier: Verifier, event: int) -> None:
    """Sets what the owner's operator is verified by from now on."""
    writer.execute(sql("DELETE FROM operators WHERE owner = ?", writer.owner))
    writer.execute(
        sql(
            "INSERT INTO operators (owner, parameters, salt, verifier, set_at, event)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            *(writer.owner, *verifier[:3], writer.store_time, event),
        )
    )


def last_event(reader: Reader) -> tuple[str, str] | None:
    """(store time, reason) of the newest event of the user that set a passphrase."""
    return next(iter(_grants(reader, any_of("reason", (SET, CHANGED)), 1)), None)


def last_grants(reader: Reader, limit: int) -> list[tuple[str, str]]:
    """(store time, reason) of the newest events of the user about the operator, circles and grants."""
    return _grants(reader, sql("1 = 1"), limit)


def _grants(reader: Reader, condition: Sql, limit: int) -> list[tuple[str, str]]:
    rows = reader.rows(
        sql("SELECT store_time, reason FROM memory_history WHERE memory_id = '' AND kind = 'grant' AND")
        + condition
        + sql("AND")
        + of_user(reader)
        + sql("ORDER BY event DESC LIMIT ?", limit)
    )
    return [(text(row[0]), text(row[1])) for row in rows]


def standing_of(reader: Reader, agent_id: str) -> tuple[dict[str, str], Enrolment | None]:
    """The main name of every alias of the user, and what is known of the agent: one statement."""
    found = reader.rows(
        sql("SELECT name, main_name, '', 0.0 FROM projects WHERE")
        + of_user(reader)
        + sql("UNION ALL SELECT '', circle, grants, trust FROM agents WHERE agent_id = ? AND", agent_id)
        + of_user(reader)
    )
    mains = {text(row[0]): text(row[1]) for row in found if row[0]}
    return mains, next((_enrolment(*row[1:]) for row in found if not row[0]), None)


def _enrolment(circle: Value, grants: Value, trust: Value) -> Enrolment:
    return Enrolment(text(circle), frozenset(text(grants).split()), real(trust))


_AGENT = sql(
    "SELECT agent_id, state, circle, grants, trust, first_seen_at, last_seen_at, role, capabilities,"
    " metadata FROM agents WHERE"
)


def agents(reader: Reader, agent_id: str = "") -> list[AgentRecord]:
    """The user's agents by name, or the one of this name."""
    named = sql("AND agent_id = ?", agent_id) if agent_id else sql("")
    rows = reader.rows(_AGENT + of_user(reader) + named + sql("ORDER BY agent_id"))
    return [_agent(row, reader.now) for row in rows]


def _agent(row: Row, now: str) -> AgentRecord:
    agent_id, state, circle, grants, trust, first, last, role, capabilities, metadata = row
    known = _enrolment(circle, grants, trust)
    return AgentRecord(
        agent_id=text(agent_id),
        state=state_at(now, text(last), text(state)),
        circle=known.circle,
        grants=sorted(known.grants),
        trust=known.trust,
        first_seen_at=text(first),
        last_seen_at=text(last) or None,
        role=text(role),
        capabilities=json.loads(text(capabilities)),
        metadata=json.loads(text(metadata)),
    )


def put_agent(writer: Writer, agent_id: str, **columns: Value) -> None:
    """Sets these columns of the owner's agent of this name, which is known from then on."""
    known = Enrolment()
    writer.execute(
        sql(
            "INSERT INTO agents (owner, agent_id, circle, grants, trust, first_seen_at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (owner, agent_id) DO NOTHING",
            *(writer.owner, agent_id, known.circle, known.written_grants, known.trust, writer.store_time),
        )
    )
    named = Sql(", ".join([f"{column} = ?" for column in columns]), tuple(columns.values()))
    where = sql("WHERE owner = ? AND agent_id = ?", writer.owner, agent_id)
    writer.execute(sql("UPDATE agents SET") + named + where)


def put_alias(writer: Writer, name: str, main: str) -> None:
    """From now on that name, which stands for nothing else, is one of the main name's."""
    remove_alias(writer, name)
    writer.execute(
        sql(
            "INSERT INTO projects (owner, name, main_name, linked_at) VALUES (?, ?, ?, ?)",
            *(writer.owner, name, main, writer.store_time),
        )
    )


def remove_alias(writer: Writer, name: str) -> None:
    """From now on that name is a project of its own."""
    writer.execute(sql("DELETE FROM projects WHERE owner = ? AND name = ?", writer.owner, name))


def folders(reader: Reader) -> list[Met]:
    """Every folder the user's projects were met in, in that order of time."""
    found = reader.rows(
        sql("SELECT folder, name, first_seen_at FROM project_folders WHERE")
        + of_user(reader)
        + sql("ORDER BY first_seen_at, folder, name")
    )
    return [Met(text(row[0]), text(row[1]), text(row[2])) for row in found]


def put_folder(writer: Writer, folder: str, name: str) -> None:
    """Notes that the folder was met under this name, if that is not noted yet."""
    writer.execute(
        sql(
            "INSERT INTO project_folders (owner, folder, name, first_seen_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (owner, folder, name) DO NOTHING",
            *(writer.owner, folder, name, writer.store_time),
        )
    )


def written_to(reader: Reader, audiences: Sequence[str]) -> set[str]:
    """Those of these audiences that something was ever written to."""
    found = reader.rows(sql("SELECT name FROM audiences WHERE") + any_of("name", tuple(audiences)))
    return {text(row[0]) for row in found}


def shown(reader: Reader, view: View) -> tuple[int, str | None]:
    """How many memories a view shows, and when the last of them was written."""
    row = reader.row(sql("SELECT count(*), max(visible.recorded_from) FROM") + visible(view))
    assert row is not None
    return number(row[0]), text(row[1]) if row[1] is not None else None
