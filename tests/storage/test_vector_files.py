"""Whatever happens to the vector cache's file, answers stay right and it costs one rebuild."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.sql import sql
from m3_memory.storage.vectors import VectorCache
from tests.rights import without_root_rights
from tests.sizes import size
from tests.storage.vector_stores import (
    FEW,
    Belief,
    VectorStore,
    answers_right,
    expected,
    file_of,
    filled,
    finds,
    nearest,
    random_filter,
    random_vector,
    rows_read,
    view,
)

LATER = "2026-02-01T00:00:00.000000Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m3.db"


def remember(store: VectorStore, rng: random.Random, count: int) -> dict[int, bytes]:
    vectors = [random_vector(rng) for _ in range(count)]
    items = store.add_many([([vector], Belief()) for vector in vectors])
    return dict(zip(items, vectors, strict=True))


History = Callable[[VectorStore, random.Random], dict[int, bytes]]


def embed_again(store: VectorStore, rng: random.Random, item: int) -> dict[int, bytes]:
    vector = random_vector(rng)
    store.set_vectors(item, [vector])
    return {item: vector}


def embed_some(*items: int) -> History:
    def embed(store: VectorStore, rng: random.Random) -> dict[int, bytes]:
        return {item: embed_again(store, rng, item)[item] for item in items}

    return embed


HISTORIES: dict[str, tuple[History, History]] = {
    "nothing": (partial(remember, count=50), partial(remember, count=0)),
    "less": (partial(remember, count=50), partial(remember, count=9)),
    "as much": (partial(remember, count=50), partial(remember, count=50)),
    "more": (partial(remember, count=50), partial(remember, count=99)),
    "vectors": (partial(embed_again, item=7), partial(embed_again, item=8)),
    "vectors of others, then the same": (embed_some(7, 9), embed_some(8, 9)),
}


@pytest.mark.parametrize("since", HISTORIES)
def test_a_restored_older_database_is_noticed_whatever_happened_since(path: Path, since: str) -> None:
    first, second = HISTORIES[since]
    rng, backup = random.Random(9), path.with_name("backup.db")
    store, cache = filled(path, 500), VectorCache(path)
    assert answers_right(store, cache, rng)
    store.database.dialect.copy_to(backup)
    assert finds(store, cache, first(store, rng))
    store.database.close()
    shutil.copy(backup, path)
    restored = VectorStore(path, ManualClock(LATER))
    assert answers_right(restored, cache, rng)
    added = second(restored, rng)
    for each in (cache, VectorCache(path)):
        assert finds(restored, each, added)
        assert answers_right(restored, each, rng)


def test_another_store_at_the_same_place_is_noticed(path: Path) -> None:
    store, rng = filled(path, 30), random.Random(10)
    assert answers_right(store, VectorCache(path), rng)
    store.database.close()
    path.unlink()
    other = filled(path, 40)
    assert answers_right(other, VectorCache(path), rng)


def overwritten(offset: int, content: bytes) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        with file.open("r+b") as opened:
            opened.seek(offset)
            opened.write(content)

    return damage


def truncated(length: int) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        with file.open("r+b") as opened:
            opened.truncate(length)

    return damage


DAMAGES: dict[str, Callable[[Path], None]] = {
    "gone": Path.unlink,
    "empty": truncated(0),
    "cut in the header": truncated(100),
    "cut in a block": truncated(5000),
    "another file": overwritten(0, b"notes\n" * 9000),
    "header overwritten": overwritten(40, b"?"),
    "stamps overwritten": overwritten(4096, b"\0" * 64),
    "vectors overwritten": overwritten(4096 + 512 * 89 + 100, b"\x7f" * 300),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_costs_one_rebuild(path: Path, damage: Callable[[Path], None]) -> None:
    store, rng = filled(path, 1000), random.Random(12)
    assert answers_right(store, VectorCache(path), rng)
    assert rows_read(store, VectorCache(path)) < FEW
    damage(file_of(path))
    cache = VectorCache(path)
    assert rows_read(store, cache) > 1000
    assert rows_read(store, cache) < FEW
    assert rows_read(store, VectorCache(path)) < FEW
    assert answers_right(store, cache, rng)


@pytest.mark.parametrize("name", ["gone", "empty", "cut in a block", "header overwritten"])
def test_a_file_damaged_under_a_running_process_costs_one_rebuild(path: Path, name: str) -> None:
    store, rng = filled(path, 1000), random.Random(13)
    cache = VectorCache(path)
    assert answers_right(store, cache, rng)
    DAMAGES[name](file_of(path))
    assert rows_read(store, cache) > 1000
    assert rows_read(store, cache) < FEW
    assert answers_right(store, cache, rng)


def test_a_replay_that_died_before_its_last_write_is_repeated(path: Path) -> None:
    store, rng = filled(path, 700), random.Random(17)
    cache, other = VectorCache(path), VectorCache(path)
    assert answers_right(store, cache, rng)
    assert answers_right(store, other, rng)
    header = file_of(path).read_bytes()[:4096]
    with store.database.read("local") as old:
        assert old.rows(sql("SELECT max(sequence) FROM search_changes"))
        added = remember(store, rng, 5)
        store.close_belief(3)
        assert finds(store, cache, added)
        overwritten(0, header)(file_of(path))
        for _ in range(5):
            query = random_vector(rng)
            assert nearest(old, other, query, 70) == expected(old, view(old), query, 70)
    assert finds(store, other, added)
    assert finds(store, VectorCache(path), added)
    assert other.mismatches == 0


CHILD = """
import random, resource, sys
from pathlib import Path
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.vectors import VectorCache
from tests.storage.vector_stores import VectorStore, change, expected, nearest, random_vector, rows_read, view
path, rng = Path(sys.argv[2]), random.Random(int(sys.argv[3]))
store, cache = VectorStore(path, ManualClock()), VectorCache(path)
"""
READING = """
query = random_vector(rng)
if sys.argv[1] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with store.database.read("local") as reader:
    assert nearest(reader, cache, query) == expected(reader, view(reader), query, 5)
print(rows_read(store, cache))
"""
WRITING = """
items = []
while True:
    change(store, rng, items)
    with store.database.read("local") as reader:
        nearest(reader, cache, random_vector(rng))
    print(len(items), flush=True)
"""


def child(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", CHILD + program, *arguments]


def reading_child(command: list[str]) -> int:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_in_a_read_only_folder_the_cache_is_kept_in_memory(path: Path) -> None:
    filled(path, 1000).database.close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert reading_child(without_root_rights(child(READING, "read-only", str(path), "1"))) < FEW
        assert not file_of(path).exists()
    finally:
        path.parent.chmod(0o755)


def test_on_a_full_disk_answers_come_from_the_rows(path: Path) -> None:
    store = filled(path, 1000)
    assert reading_child(child(READING, "full", str(path), "1")) > 1000
    assert answers_right(store, VectorCache(path), random.Random(15))


@pytest.mark.parametrize("seed", range(size(2, 15)))
def test_processes_that_are_killed_leave_nothing_wrong(path: Path, seed: int) -> None:
    store, rng = filled(path, 600), random.Random(seed)
    cache = VectorCache(path)
    children = [
        subprocess.Popen(child(WRITING, "", str(path), str(number)), stdout=subprocess.PIPE, text=True)
        for number in (seed, seed + 1000)
    ]
    for process in children:
        with process:
            assert process.stdout is not None
            for _ in range(rng.randrange(5, 15)):
                assert process.stdout.readline()
                assert answers_right(store, cache, rng, random_filter(rng, ""))
            process.kill()
    assert all(answers_right(store, each, rng) for each in (cache, VectorCache(path)))
