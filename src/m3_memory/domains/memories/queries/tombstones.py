"""SQL over values that may not come back: rejected ones of an audience, erased ones of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from m3_memory.domains.memories.queries.edges import in_parts
from m3_memory.kernel.clock import FOREVER
from m3_memory.storage.inserts import insert_rows
from m3_memory.storage.predicates import of_user
from m3_memory.storage.sql import Row, Sql, any_of, sql
from m3_memory.storage.transaction import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader, Writer


@dataclass(frozen=True, slots=True)
class Tombstone:
    """That a value may not come back. `memory_id` held it when it was rejected; "" for an erased one.

    `audience` is the name of where it was rejected; "" for an erased value, which no place of its user takes.
    """

    digest: str
    memory_id: str
    audience: str
    reason: str
    set_by: str
    set_at: str

    @property
    def is_erased(self) -> bool:
        return not self.audience


_STANDING = sql(
    "SELECT t.digest, t.memory_id, coalesce(a.name, ''), t.reason, t.set_by, t.set_at"
    " FROM memory_tombstones AS t LEFT JOIN audiences AS a ON a.audience = t.audience"
    " WHERE t.lifted_at = '9999-12-31T23:59:59.999999Z' AND"
)


def standing_tombstones(reader: Reader, digests: Sequence[str]) -> dict[str, Tombstone]:
    """Those of these digests under a tombstone that was not lifted."""
    parts = [any_of("t.digest", part) for part in in_parts(digests)]
    return {text(row[0]): _tombstone(row) for part in parts for row in reader.rows(_STANDING + part)}


def tombstones_of(reader: Reader, memory_id: str = "", prefix: str = "") -> list[Tombstone]:
    """The user's tombstones that stand, newest first: all, one memory's, or a digest's by its prefix."""
    own = of_user(reader, "t.owner")
    named = sql("AND t.memory_id = ?", memory_id) if memory_id else sql("")
    begun = sql("AND t.digest >= ? AND t.digest < ?", prefix, f"{prefix}g") if prefix else sql("")
    return [
        _tombstone(row)
        for row in reader.rows(_STANDING + own + named + begun + sql("ORDER BY t.tombstone DESC"))
    ]


def has_rejected(reader: Reader) -> bool:
    """Whether any value of the user is under a tombstone as rejected."""
    statement = sql(
        "SELECT 1 FROM memory_tombstones WHERE lifted_at = '9999-12-31T23:59:59.999999Z'"
        " AND audience IS NOT NULL AND"
    )
    return reader.row(statement + of_user(reader) + sql("LIMIT 1")) is not None


def insert_tombstones(writer: Writer, buried: Sequence[tuple[int | None, str, str, str, str]]) -> None:
    """Sets tombstones: each an (audience, None for the user; digest, memory id, reason, set by)."""
    insert_rows(
        writer,
        sql(
            "INSERT INTO memory_tombstones (owner, audience, digest, memory_id, reason, set_by, set_at,"
            " lifted_at)"
        ),
        [(writer.owner, *tombstone, writer.store_time, FOREVER) for tombstone in buried],
    )


def lift_tombstones(writer: Writer, digests: Sequence[str]) -> None:
    """Ends the tombstones of these digests."""
    for part in in_parts(digests):
        writer.execute(
            sql("UPDATE memory_tombstones SET lifted_at = ?", writer.store_time) + _of_standing(part)
        )


def _of_standing(digests: Sequence[str]) -> Sql:
    return sql("WHERE lifted_at = '9999-12-31T23:59:59.999999Z' AND") + any_of("digest", digests)


def _tombstone(row: Row) -> Tombstone:
    return Tombstone(*map(text, row))
