"""Somebody who owns the account and edits a closed store by hand, with hashes made to fit again."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import apsw
import psycopg

OPEN = "9999-12-31T23:59:59.999999Z"
GUARDED = ("memory_items", "memory_validity", "memory_history")
CHAINED = (
    "sequence, store_time, kind, memory_id, version, agent, surface, operation_id, other_id, reason,"
    " digest_before, digest_after, origin, previous_hash"
)


@dataclass(frozen=True)
class Attacker:
    """At one closed store, past all guards. `heads` is the file of heads beside it."""

    location: str
    heads: Path

    def run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement, which is committed; the guards are there again after it."""
        if not self.location.startswith("postgresql://"):
            connection = apsw.Connection(self.location)
            guards = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'memory%'"
            ).fetchall()
            for name, _ in guards:
                connection.execute(f"DROP TRIGGER {name}")
            found = connection.execute(statement, cast("Any", values)).fetchall()
            for _, guard in guards:
                connection.execute(str(guard))
            connection.close()
            return found
        with psycopg.connect(self.location) as server:
            for table in GUARDED:
                server.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
            cursor = server.execute(statement.replace("?", "%s").encode(), values)
            found = cursor.fetchall() if cursor.description else []
            for table in GUARDED:
                server.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER".encode())
            return found

    def one(self, statement: str, *values: object) -> Any:
        """The first value of the first row."""
        return self.run(statement, *values)[0][0]

    def rechain(self, first: int = 1) -> None:
        """Every hash from that event on made to fit again, and the owner's record too."""
        owner = self.one("SELECT owner FROM owners WHERE user_id = 'local'")
        rows = self.run(
            f"SELECT event, {CHAINED} FROM memory_history WHERE owner = ? ORDER BY sequence", owner
        )
        previous = "0" * 64
        for event, *fields in rows:
            if fields[0] >= first:
                fields[-1] = previous
                chained = [owner, *fields]
                self.run(
                    "UPDATE memory_history SET previous_hash = ?, hash = ? WHERE event = ?",
                    previous,
                    hashlib.sha256(json.dumps(chained, separators=(",", ":")).encode()).hexdigest(),
                    event,
                )
            previous = self.one("SELECT hash FROM memory_history WHERE event = ?", event)
        self.run(
            "UPDATE owners SET last_sequence = ?, last_hash = ? WHERE owner = ?", rows[-1][1], previous, owner
        )

    def redigest(self, memory_id: str) -> None:
        """What the memory's first event digests made to be what the memory says now."""
        event, after = self.run(
            "SELECT event, digest_after FROM memory_history WHERE memory_id = ? AND kind = 'create'",
            memory_id,
        )[0]
        says = self.run(
            "SELECT i.type, i.title, i.content, i.metadata, i.conversation_id, v.valid_from, v.valid_to,"
            " v.trust_state, v.audience FROM memory_validity AS v JOIN memory_items AS i ON i.item = v.item"
            " WHERE v.opened_by = ?",
            event,
        )[0]
        digest = digest_of(self.one("SELECT salt FROM memory_history_salts WHERE event = ?", event), says)
        self.run(
            "UPDATE memory_history SET digest_after = ? WHERE event = ?",
            f"{digest}:{after.partition(':')[2]}",
            event,
        )

    def note_head(self) -> None:
        """The head beside the store made to be the end that the history has now."""
        noted = json.loads(self.heads.read_text())
        end = self.run("SELECT last_sequence, last_hash FROM owners WHERE user_id = 'local'")[0]
        self.heads.write_text(
            json.dumps({name: end if name.endswith("/local") else noted[name] for name in noted})
        )


def digest_of(salt: bytes, says: Sequence[object]) -> str:
    """What an event keeps of what a memory says, as SECURITY.md tells."""
    return hmac.digest(salt, json.dumps([*says], separators=(",", ":")).encode(), "sha256").hex()


Tampering = Callable[[Attacker, dict[str, str]], None]
