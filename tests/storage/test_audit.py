"""The audit of a long history holds a page of it at a time."""

from __future__ import annotations

import tracemalloc

from m3_memory.storage import audit, history
from m3_memory.storage.database import Database
from tests.sizes import size

SHORT, LONG = 2_500, size(7_500, 100_000)


def lengthen(database: Database, count: int) -> None:
    """Adds so many events of memories that are gone."""
    with database.write("local") as writer:
        for start in range(0, count, 500):
            history.append_all(
                writer,
                [
                    history.Event(
                        "corroborate", f"memory {start + n}", 1, 1, "test", "operation", reason="seen"
                    )
                    for n in range(500)
                ],
            )


def peak_bytes(database: Database, events: int) -> int:
    """The most memory that an audit of so many events held at a time."""
    with database.read("local") as reader:
        (owner,) = audit.owners(reader)
        tracemalloc.start()
        report = audit.audited(reader, owner, {})
        exported = sum(1 for _ in audit.exported(reader, owner, {}))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (report.events, report.flaws, exported) == (events, {}, events + 1)
    return peak


def test_the_memory_of_an_audit_does_not_grow_with_the_history(database: Database) -> None:
    lengthen(database, SHORT)
    short = peak_bytes(database, SHORT)
    lengthen(database, LONG - SHORT)
    assert peak_bytes(database, LONG) < short * 1.5
