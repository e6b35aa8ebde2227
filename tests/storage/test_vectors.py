"""The vector cache of a SQLite store answers as the rows do, whatever happens to its file."""

from __future__ import annotations

import fcntl
import random
import threading
from pathlib import Path

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.dialect import Near
from m3_memory.storage.predicates import Filter
from m3_memory.storage.sql import sql
from m3_memory.storage.vectors import VectorCache
from tests.sizes import size
from tests.storage.vector_stores import (
    DIMENSION,
    FEW,
    TIMES,
    Belief,
    CountingReader,
    VectorStore,
    answers_right,
    change,
    expected,
    file_of,
    filled,
    finds,
    insert,
    nearest,
    random_filter,
    random_vector,
    rows_read,
    unit,
    view,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m3.db"


@pytest.mark.parametrize("seed", range(size(20, 100)))
def test_every_view_gets_what_reading_everything_would_give_it(path: Path, seed: int) -> None:
    rng, store = random.Random(seed), VectorStore(path, ManualClock())
    items: list[int] = []
    caches = [VectorCache(path), VectorCache(path), VectorCache(path)]
    moments = [""]
    for _ in range(60):
        change(store, rng, items)
        with store.database.read("local") as reader:
            moments.append(reader.now)
        if rng.random() < 0.5:
            assert answers_right(store, rng.choice(caches[:2]), rng, random_filter(rng, rng.choice(moments)))
    for cache in caches:
        for _ in range(4):
            assert answers_right(store, cache, rng, random_filter(rng, rng.choice(moments)))
        assert answers_right(store, cache, rng)
        assert cache.mismatches == 0


@pytest.mark.case("B81")
def test_three_weak_matches_inside_the_filter_come_before_a_thousand_strong_ones_outside(path: Path) -> None:
    store = VectorStore(path)
    strong = [([unit([1, 0.001 * number, *[0.0] * 6])], Belief(type="fact")) for number in range(1000)]
    store.add_many(strong)
    inside = store.add_many([([unit([0.1 * number, 1, *[0.0] * 6])], Belief()) for number in (1, 3, 2)])
    query, cache = unit([1, *[0.0] * 7]), VectorCache(path)
    with store.database.read("local") as reader:
        found = nearest(reader, cache, query, 5, Filter(types=("note",)))
        assert [item for item, _ in found] == [inside[1], inside[2], inside[0]]
        assert len(nearest(reader, cache, query, 5)) == 5


def test_a_large_store_is_answered_exactly_and_reads_few_rows(path: Path) -> None:
    store = filled(path, size(10_000, 100_000), dimension=16)
    cache, rng = VectorCache(path), random.Random(2)
    assert answers_right(store, cache, rng)
    assert rows_read(store, cache) < FEW
    assert answers_right(store, cache, rng, Filter(as_of=TIMES[3]))
    assert rows_read(store, VectorCache(path)) < FEW


def test_neighbours_closer_than_an_eight_bit_vector_can_tell_come_in_their_true_order(path: Path) -> None:
    store, rng = VectorStore(path, dimension=32), random.Random(18)
    centre = [rng.gauss(0, 1) for _ in range(32)]
    vectors = [unit([rng.gauss(number, 0.02) for number in centre]) for _ in range(1500)]
    store.add_many([([vector], Belief()) for vector in vectors])
    cache = VectorCache(path)
    with store.database.read("local") as reader:
        for query in (unit(centre), *vectors[:5]):
            assert nearest(reader, cache, query, 10) == expected(reader, view(reader), query, 10)


def test_the_dialect_answers_from_the_file_beside_the_database(path: Path) -> None:
    store = filled(path, 3)
    query = random_vector(random.Random(3))
    with store.database.read("local") as reader:
        (found,) = reader.dialect.vector_candidates(reader, view(reader), Near(1, [query], 2))
        assert [item for item, _ in found] == [item for item, _ in expected(reader, view(reader), query, 2)]
    assert file_of(path).exists()


def test_changes_are_replayed_and_not_the_whole_store(path: Path) -> None:
    store = filled(path, 1000)
    first, second, rng = VectorCache(path), VectorCache(path), random.Random(4)
    assert rows_read(store, first) > 1000
    for change_one in (
        lambda: store.add([random_vector(rng), random_vector(rng)]),
        lambda: store.close_belief(17),
        lambda: store.succeed(17, Belief()),
        lambda: store.set_vectors(18, []),
        lambda: store.remove(19),
    ):
        change_one()
        for cache in (second, first):
            assert rows_read(store, cache) < FEW
            assert answers_right(store, cache, rng)


def test_a_bulk_of_changes_is_followed_too(path: Path) -> None:
    store, rng = filled(path, 10), random.Random(5)
    cache = VectorCache(path)
    assert answers_right(store, cache, rng)
    store.add_many([([random_vector(rng)], Belief()) for _ in range(6000)])
    assert answers_right(store, cache, rng)
    assert rows_read(store, cache) < FEW
    with store.database.write("local") as writer:
        for item in range(20, 4500):
            writer.execute(sql("DELETE FROM memory_embeddings WHERE item = ?", item))
            writer.execute(sql("INSERT INTO search_changes (item, kind) VALUES (?, 'vector')", item))
    assert answers_right(store, cache, rng)
    assert rows_read(store, cache) < FEW


def test_a_snapshot_older_than_the_file_answers_as_of_itself(path: Path) -> None:
    store, rng = filled(path, 1000), random.Random(6)
    cache, other = VectorCache(path), VectorCache(path)
    query = random_vector(rng)
    with store.database.read("local") as old:
        before = nearest(old, cache, query, 3)
        (first, _), (second, _), (third, _) = before
        store.close_belief(first)
        store.remove(second)
        store.set_vectors(third, [random_vector(rng)])
        store.add([query])
        with store.database.read("local") as fresh:
            after = nearest(fresh, other, query, 3)
            assert after != before
            assert after == expected(fresh, view(fresh), query, 3)
        counting = CountingReader(old)
        assert nearest(counting, cache, query, 3) == before
        assert counting.count < FEW
    assert answers_right(store, cache, rng)


def test_while_another_process_has_the_lock_new_rows_come_from_the_database(path: Path) -> None:
    store, rng = filled(path, 1000), random.Random(7)
    cache, query = VectorCache(path), random_vector(rng)
    assert answers_right(store, cache, rng)
    with file_of(path).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        before = held.read()
        added = store.add([query])
        store.close_belief(2)
        with store.database.read("local") as reader:
            counting = CountingReader(reader)
            assert (added, 1.0) in nearest(counting, cache, query)
            assert counting.count < FEW
            assert len(nearest(reader, cache, query, 2000)) == 1000
        assert answers_right(store, VectorCache(path), rng)
        assert file_of(path).read_bytes() == before
    assert cache.mismatches == 0
    assert answers_right(store, VectorCache(path), rng)


def test_a_transaction_sees_its_own_unfinished_writes_and_leaves_none_behind(path: Path) -> None:
    store, rng = filled(path, 1000), random.Random(8)
    cache, query = VectorCache(path), random_vector(rng)
    assert answers_right(store, cache, rng)
    lost: list[int] = []

    def fail_after_searching() -> None:
        with store.database.write("local") as writer:
            lost.append(insert(writer, [query], Belief()))
            for each in (cache, VectorCache(path)):
                assert nearest(writer, each, query, 1) == [(lost[0], 1.0)]
            raise KeyError

    with pytest.raises(KeyError):
        fail_after_searching()
    assert answers_right(store, cache, rng)
    other = random_vector(rng)
    kept = store.add([other])
    assert lost == [kept]
    for each in (cache, VectorCache(path)):
        assert finds(store, each, {kept: other})


def test_trimmed_changes_cost_no_answer(path: Path) -> None:
    store, rng = filled(path, 30), random.Random(11)
    cache = VectorCache(path)
    assert answers_right(store, cache, rng)
    store.add([random_vector(rng)])
    store.close_belief(3)
    with store.database.write("local") as writer:
        writer.execute(sql("DELETE FROM search_changes WHERE sequence < 32"))
    assert answers_right(store, cache, rng)
    with store.database.write("local") as writer:
        writer.execute(sql("DELETE FROM search_changes"))
    store.close_belief(4)
    assert answers_right(store, cache, rng)
    assert answers_right(store, VectorCache(path), rng)


def test_what_the_database_hides_is_counted_and_replaced_by_the_next(path: Path) -> None:
    store, cache = filled(path, 300), VectorCache(path)
    query = random_vector(random.Random(14))
    with store.database.read("local") as reader:
        before = nearest(reader, cache, query, 80)
    with store.database.write("local") as writer:
        for item, _ in before[:60]:  # behind the cache's back: no change is noted
            writer.execute(
                sql(
                    "UPDATE memory_validity SET recorded_to = ?, closed_by = 1 WHERE item = ?",
                    writer.now,
                    item,
                )
            )
    with store.database.read("local") as reader:
        assert nearest(reader, cache, query, 80)[:20] == before[60:]
        assert len(nearest(reader, cache, query, 80)) == 80
    assert cache.mismatches == 120


def test_spaces_are_kept_apart_and_a_query_of_another_length_is_refused(path: Path) -> None:
    store, query = filled(path, 5), unit([1.0] * DIMENSION)
    cache = VectorCache(path)
    with store.database.read("local") as reader:
        assert len(nearest(reader, cache, query, 9)) == 5
        for space in (2, 3):
            assert cache.nearest(reader, view(reader), Near(space, [query], 9)) == [[]]
        with pytest.raises(ValueError, match="dimensions"):
            nearest(reader, cache, query[:-2])


def test_vectors_that_are_no_numbers_or_too_short_spoil_no_answer(path: Path) -> None:
    store, query = VectorStore(path), unit([1.0] * DIMENSION)
    nothing, broken, _, near = (
        store.add([vector]) for vector in (bytes(16), b"\xff\x7f" * DIMENSION, query[:6], query)
    )
    with store.database.read("local") as reader:
        assert nearest(reader, VectorCache(path), query) == [(near, 1.0), (nothing, 0.0), (broken, 0.0)]


def test_threads_share_one_cache_while_others_write(path: Path) -> None:
    store, cache = filled(path, 600), VectorCache(path)
    wrong: list[int] = []
    done = threading.Event()

    def look(seed: int) -> None:
        rng = random.Random(seed)
        while not done.is_set():
            if not answers_right(store, cache, rng, random_filter(rng, "")):
                wrong.append(seed)

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    rng, items = random.Random(16), [1, 2, 3]
    for _ in range(size(60, 300)):
        change(store, rng, items)
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert cache.mismatches == 0
