"""A store on a volume that fills up: clear errors, reading goes on, and room is all it takes to go on."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from m3_memory.config import Settings
from tests.faults.children import payload
from tests.faults.products import Server, error_of, sound_counts
from tests.sizes import size

VOLUME_BYTES = 20 * 2**20
BALLAST_BYTES = size(15, 4) * 2**20
_MOUNT = ["mount", "-t", "tmpfs", "-o", f"size={VOLUME_BYTES}", "tmpfs"]


@pytest.fixture
def volume(tmp_path: Path) -> Generator[Path]:
    """An empty volume of twenty megabytes; where none may be mounted, test_failing_calls stands for it."""
    folder = tmp_path / "volume"
    folder.mkdir()
    mounted = subprocess.run([*_MOUNT, str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no volume can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _fill(server: Server, words: int) -> list[str]:
    """Writes memories of so many words until one is refused; returns the ids of those that were not."""
    rng = random.Random(words)
    ids: list[str] = []
    while True:
        _, content = payload(rng, words)
        result = server.outcome("memory_write", content=content, type="note")
        if "structuredContent" not in result:
            error = error_of(result)
            assert (error["code"], bool(error["hint"])) == ("store_full", True), error
            return ids
        ids.append(result["structuredContent"]["id"])


def _take_the_rest(path: Path) -> None:
    """Another program leaves no byte free."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 4096):
            pass


def _assert_readable(server: Server, ids: list[str]) -> None:
    for memory_id in (ids[0], ids[-1]):
        memory = server.answered("memory_get", id=memory_id)["memory"]
        mark = memory["content"].split()[0]
        assert server.found(mark, search_mode="keyword", k=1) == [memory["content"]]
        assert memory["content"] in server.found(memory["content"][:500], search_mode="vector", k=3)


@pytest.mark.case("B47")
def test_a_volume_that_fills_up_refuses_writes_and_nothing_else(volume: Path) -> None:
    ballast = volume / "ballast"
    ballast.write_bytes(b"\0" * BALLAST_BYTES)
    settings = Settings(home=volume / "home", embedder="hashing")
    with Server(settings) as server:
        ids = _fill(server, 4000)
        for words in (400, 20, 1):
            ids += _fill(server, words)
        _assert_readable(server, ids)
        with Server(settings) as other:
            _assert_readable(other, ids)
            assert (
                other.refused("memory_write", content="No room for this", type="note")["code"] == "store_full"
            )
        server.process.kill()
        server.process.wait()
    (settings.home / "m3.db-shm").unlink()  # the machine started anew, too
    _take_the_rest(volume / "other")
    with Server(settings) as server:
        _assert_readable(server, ids)
        assert server.refused("memory_write", content="No room for this", type="note")["code"] == "store_full"
        with ballast.open("rb+") as file:
            file.truncate(0)
        ids.append(server.answered("memory_write", content="There is room again", type="note")["id"])
        _assert_readable(server, ids)
    assert sound_counts(settings)["memories"] == len(ids)
