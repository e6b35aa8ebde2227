"""The story that golden stores were written with, and the questions they are asked from then on.

`python -m tests.migrations.story` writes the golden store of the version at hand before its release:
`golden/<version>.db.gz` and, beside it, the answers it gave then. A released one is never written again.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from m3_memory import __version__
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.database import Database
from tests.callers import Agent

GOLDEN = Path(__file__).parent / "golden"
BEFORE, BETWEEN, AFTER = "2026-01-01T00:00:30Z", "2026-01-01T00:10:30Z", "2026-01-01T01:00:00Z"
"""Moments before, between and after the corrections of the story."""

KEPT = (
    *(
        "id",
        "version",
        "type",
        "title",
        "content",
        "metadata",
        "scope",
        "agent_id",
        "importance",
        "trust_state",
    ),
    *("valid_from", "valid_to", "recorded_at", "conversation_id", "variant", "refresh_on"),
)
"""Fields of a memory that every version shows alike."""

WRITTEN: tuple[dict[str, object], ...] = (
    {"content": "日本語メモ: リリースは金曜 👩‍👩‍👧‍👦 cafe\u0301", "type": "note", "conversation_id": "c-1"},
    {
        "content": "The freeze lasted through March",
        "type": "fact",
        "valid_from": "2025-03-01",
        "valid_to": "2025-04-01",
    },
    {"content": "I prefer short releases", "type": "preference", "scope": "user", "refresh_on": "2026-06-01"},
    {"content": "Scratch about releases", "type": "scratchpad", "scope": "session"},
    {"content": "Releases of the trial are silent", "type": "fact", "variant": "trial"},
    {"content": "releases LEAVE from the branch stable.", "type": "fact"},
)
"""Written and left alone; the last says again what was said."""


def storyteller(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock, Caller("local", "claude", "session-1", project="atlas"))


def tell(database: Database, clock: ManualClock) -> None:
    """Writes, corrects, deletes and restores, in three places and several scripts, an operation a minute."""
    agent = storyteller(database, clock)
    other = agent.who(agent_id="codex", project="bridge")

    def done(teller: Agent, tool: str, **arguments: object) -> str:
        found: str = teller.call(tool, **arguments)["id"]
        clock.advance(60)
        return found

    told = {"title": "Branch", "metadata": {"ticket": 7, "k": None}, "importance": 0.75}
    branch = done(agent, "memory_write", content="Releases leave from the branch stable", type="fact", **told)
    for arguments in WRITTEN:
        done(agent, "memory_write", **arguments)
    done(other, "memory_write", content="Releases of the bridge are manual", type="fact")
    wrong = done(agent, "memory_write", content="Releases leave on Mondays", type="decision")
    gone = done(agent, "memory_write", content="Releases need two signatures", type="procedure")
    back = done(agent, "memory_write", content="Releases are tagged and signed", type="procedure")
    done(agent, "memory_update", id=wrong, content="Releases leave on Tuesdays", title="Day")
    done(agent, "memory_update", id=wrong, importance=0.9)
    done(agent, "memory_supersede", old_id=branch, content="Releases leave from the branch main")
    done(agent, "memory_delete", id=gone)
    done(agent, "memory_delete", id=back)
    done(agent, "memory_restore", id=back)
    long = " ".join(f"Crate{number} holds releases." for number in range(600))
    done(agent, "memory_write", content=f"{long} The last crate holds the kestrel.", type="log")


def answers(database: Database) -> dict[str, object]:
    """What a store of this story shows today, at moments of either clock, to those who may see it."""
    agent = storyteller(database, ManualClock(AFTER))
    return dict(_answers(agent, "atlas")) | dict(
        _answers(agent.who(project="bridge", agent_id="codex"), "bridge")
    )


def _answers(agent: Agent, place: str) -> Iterator[tuple[str, object]]:
    seen = set[str]()
    for query in ("releases", "branch", "リリース", "café", "kestrel", "freeze"):
        for as_of in ("", BEFORE, "2025-03-15"):
            for known_at in ("", BEFORE, BETWEEN):
                ids = _found(agent, query, as_of, known_at)
                seen.update(ids)
                yield f"{place}: {query} as of {as_of or 'now'} known at {known_at or 'now'}", ids
    near = agent.call("memory_search", query="Releases leave on Tuesdays", search_mode="vector", k=1)["hits"]
    yield f"{place}: nearest", [hit["content"] for hit in near]
    for memory_id in sorted(seen):
        memory = agent.call("memory_get", id=memory_id, as_of=AFTER).get("memory", {})
        yield f"{place}: {memory_id}", {name: memory[name] for name in KEPT if name in memory}
        events = agent.call("memory_history", memory_id=memory_id, limit=100)["events"]
        yield f"{place}: events of {memory_id}", [[event["at"], event["kind"]] for event in events]


def _found(agent: Agent, query: str, as_of: str, known_at: str) -> list[str]:
    whole = {"variant": "trial", "search_mode": "keyword", "include_scratchpad": True, "k": 100}
    found = agent.call("memory_search", query=query, as_of=as_of, known_at=known_at, **whole)
    return sorted(hit["id"] for hit in found["hits"])


def main() -> int:
    """Writes the golden store of this version; refuses to touch one that is there without `--again`."""
    store, told = GOLDEN / f"{__version__}.db.gz", GOLDEN / f"{__version__}.json"
    if store.exists() and "--again" not in sys.argv[1:]:
        print(f"{store} is there already; --again writes it anew, which only an unreleased version may")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m3.db"
        clock = ManualClock()
        database = open_database(path, clock)
        tell(database, clock)
        lines = (
            f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in answers(database).items()
        )
        told.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        copy = Path(folder) / "copy.db"
        database.dialect.copy_to(copy)
        database.close()
        store.write_bytes(gzip.compress(copy.read_bytes(), 9, mtime=0))
    print(f"wrote {store}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
