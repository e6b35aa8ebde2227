"""While another process holds the write lock, a new server reads, and its writes give up in time."""

from __future__ import annotations

import pytest

from m3_memory.config import Settings
from m3_memory.kernel.clock import SystemClock
from m3_memory.storage import open_database
from tests.faults.products import Server, answer, session, sound_counts
from tests.surfaces.mcp_wire import request

FACT = "The release train leaves on Fridays"
LATE = "The depot leaves its gates open"


@pytest.mark.case("B44")
def test_a_write_behind_a_lock_gives_up_in_time_and_stores_nothing(settings: Settings) -> None:
    with session(settings) as writer:
        memory_id = answer(writer, "memory_write", content=FACT, type="fact")["id"]
    database = open_database(settings.store, SystemClock())
    with Server(settings) as server:
        with database.write(settings.user_id):
            assert server.result(request("tools/list"))["tools"]
            for tool, arguments in {
                "memory_write": {"content": LATE, "type": "fact"},
                "memory_update": {"id": memory_id, "content": LATE},
                "memory_delete": {"id": memory_id},
            }.items():
                refused = server.refused(tool, timeout=0.3, **arguments)
                assert (refused["code"], bool(refused["hint"])) == ("store_busy", True), refused
            assert server.found("release train leaves") == [FACT]
            assert server.answered("memory_get", id=memory_id)["memory"]["content"] == FACT
        assert server.found("release train leaves") == [FACT]
        assert server.answered("memory_write", content=LATE, type="fact")["status"] == "created"
        assert sorted(server.found("release train leaves")) == sorted([FACT, LATE])
    database.close()
    counts = sound_counts(settings)
    assert (counts["memories"], counts["events"]) == (2, 2)
