"""Smallest memories for tests of storage: a version, a belief and an event, without words or vectors."""

from __future__ import annotations

from m3_memory.kernel.clock import FOREVER
from m3_memory.storage import history
from m3_memory.storage.database import Reader, Writer
from m3_memory.storage.sql import Sql, Value, sql
from m3_memory.storage.transaction import number, text


def remember(
    writer: Writer,
    memory_id: str,
    content: str = "text",
    *,
    audience: int = 1,
    trust: str = "accepted",
    holds: tuple[str, str] | None = None,
) -> int:
    """Writes a memory that holds from now on, or from one time to another; the number of its belief."""
    valid_from, valid_to = holds or (writer.store_time, FOREVER)
    event = history.append(
        writer, history.Event("create", memory_id, 1, 1, "test", "operation", after=content)
    )
    shared = {"memory_id": memory_id, "version": 1, "type": "note", "audience": audience, "agent_id": "agent"}
    item = _insert(
        writer,
        "memory_items",
        "item",
        {
            **shared,
            **dict.fromkeys(("title", "content_hash", "normal_hash", "scope", "circle", "project"), ""),
            **dict.fromkeys(("conversation_id", "source", "model_id", "variant", "embed_text"), ""),
            "content": content,
            "metadata": "{}",
            "owner": writer.owner,
            "embed": 0,
            "origin": writer.origin,
            "recorded_at": writer.store_time,
        },
    )
    return _insert(
        writer,
        "memory_validity",
        "belief",
        {
            **shared,
            "item": item,
            "valid_from": valid_from,
            "valid_to": valid_to,
            "recorded_from": writer.store_time,
            "recorded_to": FOREVER,
            "trust_state": trust,
            "expires_at": FOREVER,
            "conversation_id": "",
            "variant": "",
            "opened_by": event,
        },
    )


def remembered(reader: Reader) -> list[str]:
    """The ids of all memories, in the order of writing."""
    return [text(row[0]) for row in reader.rows(sql("SELECT memory_id FROM memory_items ORDER BY item"))]


def store_times(reader: Reader) -> list[str]:
    """The store times of all events, in the order of writing."""
    return [text(row[0]) for row in reader.rows(sql("SELECT store_time FROM memory_history ORDER BY event"))]


def owner_number(reader: Reader, user_id: str) -> int:
    """The number of an owner that has written."""
    (found,) = reader.rows(sql("SELECT owner FROM owners WHERE user_id = ?", user_id))
    return number(found[0])


def _insert(writer: Writer, table: str, key: str, values: dict[str, Value]) -> int:
    marks = ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks}) RETURNING {key}"
    return writer.insert(Sql(statement, tuple(values.values())))
