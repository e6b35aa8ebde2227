"""SQL over what speaks for and against a memory, and over its texts as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.predicates import held
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number, real, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader, Writer
    from m3_memory.storage.predicates import View

_TEXTS_AT_ONCE = 50
"""Texts are long: so many are held in memory at once."""


@dataclass(frozen=True, slots=True)
class StoredText:
    """One version's text and digest as the rows have them; `content` is None where it is no text."""

    version: int
    agent_id: str
    recorded_at: str
    content: str | None
    content_hash: str


def stored_texts(reader: Reader, view: View, memory_id: str, after_version: int) -> list[StoredText]:
    """The next versions of a memory that were ever believed in audiences the caller holds, in order."""
    found = reader.rows(
        sql(
            "SELECT i.version, i.agent_id, i.recorded_at, i.content, i.content_hash FROM memory_items AS i"
            " WHERE i.memory_id = ? AND i.version > ? AND i.item IN (SELECT item FROM",
            memory_id,
            after_version,
        )
        + held(view)
        + sql("WHERE memory_id = ?) ORDER BY i.version LIMIT ?", memory_id, _TEXTS_AT_ONCE)
    )
    return [
        StoredText(
            number(version), text(agent), text(at), said if isinstance(said, str) else None, text(digest)
        )
        for version, agent, at, said, digest in found
    ]


def has_voted(reader: Reader, caller: Caller, memory_id: str, *, agrees: bool) -> bool:
    """Whether this agent spoke for, or against, a memory in this conversation already."""
    found = reader.row(
        sql(
            "SELECT 1 FROM memory_corroborations WHERE memory_id = ? AND agent_id = ? AND conversation_id = ?"
            " AND agrees = ?",
            memory_id,
            caller.agent_id,
            caller.conversation_id,
            int(agrees),
        )
    )
    return found is not None


def insert_voices(
    writer: Writer, caller: Caller, heard: Sequence[tuple[str, int]], *, agrees: bool = True
) -> None:
    """Counts that the caller spoke for, or against, memories: each its id and the event that tells of it.

    With the trust its agent has now.
    """
    insert_rows(
        writer,
        sql(
            "INSERT INTO memory_corroborations (memory_id, agent_id, conversation_id, agrees, trust,"
            " recorded_at, event)"
        ),
        [
            (
                *(memory_id, caller.agent_id, caller.conversation_id),
                *(int(agrees), caller.trust, writer.store_time, event),
            )
            for memory_id, event in heard
        ],
    )


@dataclass(frozen=True, slots=True)
class Voice:
    """One entry of the ledger: who spoke for or against a memory, where, and its trust then."""

    agent_id: str
    conversation_id: str
    agrees: bool
    trust: float


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the last version of a memory comes from; `trust` is its agent's today, None for one unknown."""

    memory_id: str
    agent_id: str
    written_in: str
    source: str
    model_id: str
    variant: str
    trust: float | None


def provenance(reader: Reader, memory_ids: Sequence[str]) -> list[Provenance]:
    """Where these memories come from, by the last belief held of each."""
    found = reader.rows(
        sql(
            "SELECT v.memory_id, i.agent_id, i.written_in, i.source, i.model_id, i.variant, a.trust"
            " FROM memory_validity AS v JOIN memory_items AS i ON i.item = v.item"
            " LEFT JOIN agents AS a ON a.owner = i.owner AND a.agent_id = i.agent_id"
            " WHERE v.belief = (SELECT max(every.belief) FROM memory_validity AS every"
            " WHERE every.memory_id = v.memory_id) AND"
        )
        + any_of("v.memory_id", tuple(memory_ids))
    )
    return [Provenance(*map(text, row[:6]), trust=None if row[6] is None else real(row[6])) for row in found]


def voices(reader: Reader, memory_ids: Sequence[str]) -> dict[str, list[Voice]]:
    """The ledger's entries of these memories about the text that each has now, in order."""
    found: dict[str, list[Voice]] = {}
    for row in reader.rows(
        sql(
            "SELECT c.memory_id, c.agent_id, c.conversation_id, c.agrees, c.trust"
            " FROM memory_corroborations AS c JOIN memory_history AS h ON h.event = c.event"
            " JOIN memory_items AS said ON said.memory_id = h.memory_id AND said.version = h.version"
            " JOIN memory_items AS latest ON latest.memory_id = c.memory_id"
            " AND (latest.normal_hash = said.normal_hash OR h.kind = 'merge') AND latest.version ="
            " (SELECT max(every.version) FROM memory_items AS every WHERE every.memory_id = c.memory_id)"
            " WHERE NOT (h.kind = 'merge' AND EXISTS (SELECT 1 FROM memory_validity AS back WHERE"
            " back.memory_id = h.memory_id AND back.recorded_to = '9999-12-31T23:59:59.999999Z')) AND"
        )
        + any_of("c.memory_id", tuple(memory_ids))
        + sql("ORDER BY c.corroboration")
    ):
        found.setdefault(text(row[0]), []).append(
            Voice(text(row[1]), text(row[2]), bool(row[3]), real(row[4]))
        )
    return found
