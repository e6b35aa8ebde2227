"""Stores that hold something of everything, and dumps of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import LiteralString

from m3_memory.kernel.clock import BEGINNING, FOREVER, ManualClock
from m3_memory.storage.database import Database
from m3_memory.storage.dump import Tally, dumped
from m3_memory.storage.sql import Value, sql, values_of
from tests.migrations.story import storyteller, tell
from tests.negative.scene import HIDDEN, Scene

UNICODE = 'Ключ 鍵 🗝️\u200d e\u0301 \u202eabc\u202c \u2028 line\n\ttab "quote" \\ back\u0007'
_AT = "2026-01-02T00:00:00.000000Z"

_ERASED = json.dumps(
    {"erasure_id": "e-1", "origin": "", "user": "", "subject_kind": "ids", "ids": [], "values": []}
)
_PLANTED: Mapping[LiteralString, Sequence[Value]] = {
    "memory_tombstones (owner, audience, digest, reason, set_by, set_at, lifted_at, memory_id)": (
        1, None, "d" * 64, f"erased: {UNICODE}", "operator", _AT, FOREVER, "",
    ),
    "review_items (review_id, owner, audience, kind, evidence, plan, state, decision, decided_by, decided_at,"
    " opened_at, lapses_at, opened_by)": (
        "r-1", 1, 1, "conflict", "{}", "[]", "open", "", "", "", _AT, FOREVER, 1,
    ),
    "review_memories (review_id, place, memory_id)": ("r-1", 0, "00000000-0000-7000-8000-000000000001"),
    "retention_policies (owner, agent_id, max_memories, ttl_days, set_at, event)": (1, "a", 9, 30, _AT, 1),
    "erasures (erasure_id, owner, subject_kind, counts, record, scrubbed, erased_at)": (
        "e-1", 1, "ids", "{}", _ERASED, 1, _AT,
    ),
    "operators (owner, parameters, salt, verifier, set_at, event)": (
        1, "scrypt:2:8:1", b"\x00salt", b"\xffverifier", _AT, 1,
    ),
    "projects (owner, name, main_name, linked_at)": (1, "b.example/old", "b.example/new", _AT),
    "project_folders (owner, folder, name, first_seen_at)": (1, "/home/a/work", "b.example/new", _AT),
    "memory_access (memory_id, last_used_at, use_count)": ("00000000-0000-7000-8000-000000000001", _AT, 7),
    "derivations (derived_kind, derived_id, source_kind, source_id)": ("memory", "a", "turn", "b"),
    "jobs (key, kind, payload, user_id, state, attempts, run_at, lease_until, worker, last_error,"
    " enqueued_at)": ("x:1", "x", "{}", "local", "dead", 5, BEGINNING, "", "", "went wrong", _AT),
}  # fmt: skip


def fill(database: Database, clock: ManualClock) -> None:
    """Memories in every state, of several users and agents, in every script, and a row in every table."""
    tell(database, clock)
    agent = storyteller(database, clock)
    agent.call(
        "memory_write", content=UNICODE, title="Schlüssel", type="note", metadata={"k": [None, UNICODE]}
    )
    agent.who(user_id="ann/b").call("memory_write", content="Nobody else's", type="fact")
    with database.write("local") as writer:
        for into, row in _PLANTED.items():
            writer.execute(sql("INSERT INTO") + sql(into) + values_of([row]))


def fill_scene(scene: Scene) -> None:
    """Own memories in every way of not being current, and those of others."""
    scene.add_foreign()
    scene.add_own(tuple(HIDDEN))
    for name in HIDDEN:
        scene.hide(scene.canaries[name])


def dump(database: Database) -> list[bytes]:
    """All lines of a store's dump."""
    with database.read("local") as reader:
        return list(dumped(reader, {}))


def key_of(database: Database) -> bytes:
    """The secret key by which a store's dumps are vouched for."""
    with database.read("local") as reader:
        return reader.secret_key


def ended(lines: Iterable[bytes], key: bytes) -> list[bytes]:
    """Lines that were tampered with, under an ending by which who knows the key vouches for them."""
    kept = list(lines)[:-1]
    tally = Tally(key)
    for line in kept:
        tally.add(line)
    return [*kept, tally.ending()]
