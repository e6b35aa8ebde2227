"""SQL over what speaks against a memory, and over its texts as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.storage.predicates import held
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
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


def has_doubted(reader: Reader, caller: Caller, memory_id: str) -> bool:
    """Whether this agent spoke against a memory in this conversation already."""
    found = reader.row(
        sql(
            "SELECT 1 FROM memory_corroborations WHERE memory_id = ? AND agent_id = ? AND conversation_id = ?"
            " AND agrees = 0",
            memory_id,
            caller.agent_id,
            caller.conversation_id,
        )
    )
    return found is not None


def insert_doubt(writer: Writer, caller: Caller, memory_id: str, event: int) -> None:
    """Counts that the caller spoke against a memory."""
    writer.execute(
        sql(
            "INSERT INTO memory_corroborations (memory_id, agent_id, conversation_id, agrees, trust,"
            " recorded_at, event) VALUES (?, ?, ?, 0, 1.0, ?, ?)",
            memory_id,
            caller.agent_id,
            caller.conversation_id,
            writer.store_time,
            event,
        )
    )
