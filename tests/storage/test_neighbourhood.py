"""The memories nearest to a batch of vectors are those that comparing everything would find."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from m3_memory.kernel.caller import Caller, Scope
from m3_memory.kernel.fingerprint import Fingerprint
from m3_memory.storage import embeddings
from m3_memory.storage.database import Database, Reader, Writer
from m3_memory.storage.neighbourhood import nearest_all, similar_within
from m3_memory.storage.predicates import ADMITTED, Filter, View, view_of
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import number
from tests.storage.rows import remember
from tests.storage.vector_stores import random_vector, unit

HERE = Caller("local", "agent", "conversation", project="here", is_operator=True)
THERE = replace(HERE, project="there")
SPACE = Fingerprint("model", "digest", 8, "rules")
BATCHES = (1, 30)
"""A few vectors are compared by PostgreSQL, many by us."""
YEAR = "-01-01T00:00:00.000000Z"

Near = list[list[tuple[int, float]]]


def _audience(writer: Writer, caller: Caller) -> int:
    return writer.insert(
        sql(
            "INSERT INTO audiences (owner, name) VALUES (?, ?) RETURNING audience",
            writer.owner,
            caller.audience(Scope.AGENT),
        )
    )


def _kept(
    writer: Writer,
    name: str,
    vectors: Sequence[bytes],
    audience: int = 1,
    trust: str = "accepted",
    holds: tuple[str, str] | None = None,
) -> int:
    belief = remember(writer, name, audience=audience, trust=trust, holds=holds)
    ((item,),) = writer.rows(sql("SELECT item FROM memory_validity WHERE belief = ?", belief))
    embeddings.insert_vectors(writer, number(item), embeddings.space_for(writer, SPACE), vectors)
    writer.execute(sql("INSERT INTO search_changes (item, kind) VALUES (?, 'insert')", item))
    return number(item)


def _cosine(vector: bytes, query: bytes) -> float:
    left, right = (struct.unpack(f"<{len(each) // 2}e", each) for each in (vector, query))
    dot = math.fsum(a * b for a, b in zip(left, right, strict=True))
    return dot / (math.hypot(*left) * math.hypot(*right))


def _expected(
    windows: Mapping[int, Sequence[bytes]], queries: Sequence[bytes], count: int, floor: float
) -> Near:
    found = list[list[tuple[int, float]]]()
    for query in queries:
        best = {item: max(_cosine(each, query) for each in held) for item, held in windows.items()}
        near = [(item, round(cosine, 9)) for item, cosine in best.items() if cosine >= floor]
        found.append(sorted(near, key=lambda pair: (-pair[1], pair[0]))[:count])
    return found


def _is(found: Near, expected: Near) -> bool:
    """Whether these are the same items in the same order, and their cosines but for rounding."""
    if [[item for item, _ in near] for near in found] != [[item for item, _ in near] for near in expected]:
        return False
    ours, theirs = ([cosine for near in each for _, cosine in near] for each in (found, expected))
    return ours == pytest.approx(theirs, abs=1e-6)


def _nearest(reader: Reader, view: View, queries: Sequence[bytes], count: int, floor: float) -> Near:
    return nearest_all(reader, view, embeddings.space_of(reader, SPACE) or 0, queries, count, floor)


@pytest.mark.parametrize("batch", BATCHES)
def test_each_vector_gets_the_nearest_visible_memories_by_their_best_window(
    database: Database, batch: int
) -> None:
    rng = random.Random(batch)
    windows: dict[int, list[bytes]] = {}
    with database.write("local") as writer:
        _audience(writer, HERE)
        there = _audience(writer, THERE)
        for place in range(180):
            vectors = [random_vector(rng) for _ in range(rng.choice((1, 1, 2, 5)))]
            item = _kept(writer, f"memory {place}", vectors, there if place % 3 == 0 else 1)
            windows |= {item: vectors} if place % 3 else {}
    queries = [random_vector(rng) for _ in range(batch)]
    for changed in (False, True):
        if changed:  # what came since is found too, what ended is not
            with database.write("local") as writer:
                windows[_kept(writer, "late", queries[:1])] = queries[:1]
                ended = next(iter(windows))
                windows.pop(ended)
                writer.execute(
                    sql(
                        "UPDATE memory_validity SET recorded_to = ?, closed_by = 1 WHERE item = ?",
                        writer.store_time,
                        ended,
                    )
                )
                writer.execute(sql("INSERT INTO search_changes (item, kind) VALUES (?, 'belief')", ended))
        with database.read("local") as reader:
            view = view_of(reader, HERE, Filter())
            for count, floor in ((5, 0.5), (500, -1.0), (2, 0.99), (70, 0.1)):
                found = _nearest(reader, view, queries, count, floor)
                assert _is(found, _expected(windows, queries, count, floor))


@pytest.mark.parametrize("batch", BATCHES)
def test_who_looks_whenever_finds_what_was_and_what_is_to_come_too(database: Database, batch: int) -> None:
    ahead = unit([1.0, *[0.0] * 7])
    with database.write("local") as writer:
        _audience(writer, HERE)
        past, planned = (
            _kept(writer, years[0], [ahead], holds=(f"{years[0]}{YEAR}", f"{years[1]}{YEAR}"))
            for years in (("2023", "2024"), ("2098", "2099"))
        )
        present = _kept(writer, "present", [ahead])
    found = {
        Filter(): [present],
        Filter(whenever=True): [past, planned, present],
        Filter(whenever=True, valid_since=f"2024{YEAR}"): [planned, present],
    }
    with database.read("local") as reader:
        for narrowed, items in found.items():
            near = _nearest(reader, view_of(reader, HERE, narrowed), [ahead] * batch, 5, 0.9)
            assert [[item for item, _ in each] for each in near] == [items] * batch


@pytest.mark.parametrize("batch", BATCHES)
def test_equals_come_in_the_order_they_were_written_and_none_below_the_floor(
    database: Database, batch: int
) -> None:
    ahead, aside = unit([1.0, *[0.0] * 7]), unit([0.0, 1.0, *[0.0] * 6])
    with database.write("local") as writer:
        _audience(writer, HERE)
        same = [_kept(writer, f"same {place}", [aside, ahead]) for place in range(60)]
        _kept(writer, "aside", [aside])
    with database.read("local") as reader:
        view = view_of(reader, HERE, Filter())
        found = _nearest(reader, view, [ahead] * batch, 20, 0.9)
        assert _is(found, [[(item, 1.0) for item in same[:20]]] * batch)
        assert [len(near) for near in _nearest(reader, view, [ahead] * batch, 100, 0.9)] == [60] * batch


@pytest.mark.parametrize("batch", BATCHES)
def test_states_that_a_view_admits_are_found_and_others_are_not(database: Database, batch: int) -> None:
    vector = unit([1.0] * 8)
    with database.write("local") as writer:
        _audience(writer, HERE)
        items = {
            trust: _kept(writer, trust, [vector], trust=trust)
            for trust in ("candidate", "verified", "rejected")
        }
    with database.read("local") as reader:
        for states in (ADMITTED, (*ADMITTED, "candidate"), (*ADMITTED, "rejected")):
            view = view_of(reader, HERE, Filter(trust_states=states))
            found = _nearest(reader, view, [vector] * batch, 9, 0.5)
            shown = [(item, 1.0) for trust, item in items.items() if trust in states]
            assert _is(found, [shown] * batch)


@pytest.mark.parametrize("batch", BATCHES)
def test_an_empty_store_has_nothing_near_whatever_is_asked(database: Database, batch: int) -> None:
    with database.read("local") as reader:
        view = view_of(reader, HERE, Filter())
        assert _nearest(reader, view, [unit([1.0] * 8)] * batch, 20, 0.0) == [[]] * batch
    with database.write("local") as writer:
        _audience(writer, HERE)
        embeddings.space_for(writer, SPACE)
        view = view_of(writer, HERE, Filter())
        assert _nearest(writer, view, [unit([1.0] * 8)] * batch, 20, 0.0) == [[]] * batch
        assert _nearest(writer, view, [], 20, 0.0) == []


def test_a_batch_is_compared_with_itself_each_with_all_others() -> None:
    rng = random.Random(3)
    batch = [random_vector(rng) for _ in range(80)]
    batch += [batch[5], batch[5]]
    found = similar_within(batch, 0.2, 10)
    for own, near in enumerate(found):
        others = {place: [vector] for place, vector in enumerate(batch) if place != own}
        assert _is([near], _expected(others, [batch[own]], 10, 0.2))
    assert [place for place, _ in found[80][:2]] == [5, 81]
    assert similar_within([], 0.2, 10) == []
