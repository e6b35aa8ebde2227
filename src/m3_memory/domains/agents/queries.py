"""SQL of the agents slice: one function per question or change; models out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.agents.model import CHANGED, SET, Met, Verifier
from m3_memory.storage.predicates import visible
from m3_memory.storage.sql import Sql, any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View


def verifier_of(reader: Reader) -> Verifier | None:
    """What the user's operator is verified by."""
    row = reader.row(sql("SELECT parameters, salt, verifier, set_at FROM operators WHERE") + _of_user(reader))
    if row is None:
        return None
    parameters, salt, digest, set_at = row
    assert isinstance(salt, bytes)
    assert isinstance(digest, bytes)
    return Verifier(text(parameters), salt, digest, text(set_at))


def has_another_operator(reader: Reader) -> bool:
    """Whether another user of this store has an operator."""
    return bool(reader.rows(sql("SELECT 1 FROM operators WHERE NOT") + _of_user(reader) + sql("LIMIT 1")))


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
    row = reader.row(
        sql("SELECT store_time, reason FROM memory_history WHERE memory_id = '' AND kind = 'grant' AND")
        + any_of("reason", (SET, CHANGED))
        + sql("AND")
        + _of_user(reader)
        + sql("ORDER BY event DESC LIMIT 1")
    )
    return (text(row[0]), text(row[1])) if row else None


def mains_of_aliases(reader: Reader) -> dict[str, str]:
    """The main name of every alias of the user."""
    found = reader.rows(sql("SELECT name, main_name FROM projects WHERE") + _of_user(reader))
    return {text(row[0]): text(row[1]) for row in found}


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
        + _of_user(reader)
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


def audiences_below(reader: Reader, prefix: str) -> list[str]:
    """The names of the user's audiences that begin so."""
    begins_so = sql("AND substr(name, 1, ?) = ? ORDER BY name", len(prefix), prefix)
    found = reader.rows(sql("SELECT name FROM audiences WHERE") + _of_user(reader) + begins_so)
    return [text(row[0]) for row in found]


def shown(reader: Reader, view: View) -> tuple[int, str | None]:
    """How many memories a view shows, and when the last of them was written."""
    row = reader.row(sql("SELECT count(*), max(visible.recorded_from) FROM") + visible(view))
    assert row is not None
    return number(row[0]), text(row[1]) if row[1] is not None else None


def _of_user(reader: Reader) -> Sql:
    return sql("owner IN (SELECT o.owner FROM owners AS o WHERE o.user_id = ?)", reader.user_id)
