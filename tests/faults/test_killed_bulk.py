"""A bulk write that is killed in the middle keeps what it acknowledged, and run again repeats nothing."""

from __future__ import annotations

import random

import pytest

from m3_memory.config import Settings
from m3_memory.domains.memories.service.chunks import CHUNK_ROWS
from tests.faults.children import Note, berths, child, write_many
from tests.faults.products import answer, recorded, session, sound_counts
from tests.sizes import size

MEMORIES = size(3_000, 100_000)
AT_ONCE = size(1_000, 5_000)
DEATHS = size(3, 8)


def _killed(settings: Settings, rng: random.Random) -> list[Note]:
    """What a writer said that was killed after some of its transactions, most likely inside another."""
    with child(write_many, settings, MEMORIES, AT_ONCE) as writer:
        notes = writer.until("began", times=rng.randint(2, 4))
        return notes + writer.killed(rng.random() * 0.05)


def _contents(settings: Settings) -> list[tuple[str, int]]:
    return recorded(settings, "SELECT content, count(*) FROM memory_items GROUP BY content ORDER BY content")


@pytest.mark.case("B46")
def test_a_bulk_killed_in_the_middle_and_run_again_loses_and_repeats_nothing(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    kept, inside = 0, 0
    for _ in range(DEATHS):
        notes = _killed(settings, rng)
        steps = [note.step for note in notes]
        assert "done" not in steps
        contents = _contents(settings)
        assert {count for _, count in contents} == {1}
        assert len(contents) % CHUNK_ROWS == 0  # a chunk is stored whole or not at all
        assert len(contents) >= max(kept, AT_ONCE * steps.count("acknowledged"))
        kept = len(contents)
        inside += [step for step in steps if step in ("began", "committed")][-1] == "began"
    with capsys.disabled():
        print(f" [seed {seed}: {inside} of {DEATHS} died inside a transaction, {kept} kept] ", end="")
    assert 0 < kept < MEMORIES
    with session(settings, "writer") as writer:
        told = [
            answer(writer, "memory_write_bulk", items=berths(first, AT_ONCE))
            for first in range(0, MEMORIES, AT_ONCE)
        ]
    assert [call["failed"] for call in told] == [0] * len(told)
    assert (sum(call["created"] for call in told), sum(call["duplicates"] for call in told)) == (
        MEMORIES - kept,
        kept,
    )
    counts = sound_counts(settings)
    assert (counts["memories"], counts["without_vectors"]) == (MEMORIES, 0)
    assert _contents(settings) == sorted((item["content"], 1) for item in berths(0, MEMORIES))


def test_two_that_write_the_same_at_once_make_each_memory_once(settings: Settings) -> None:
    count = AT_ONCE * 2
    with (
        child(write_many, settings, count, AT_ONCE) as one,
        child(write_many, settings, count, AT_ONCE) as two,
    ):
        ends = [writer.rest()[-1].step for writer in (one, two)]
    assert ends == ["done", "done"]
    assert _contents(settings) == sorted((item["content"], 1) for item in berths(0, count))
    (sightings,) = recorded(settings, "SELECT count(*) FROM memory_corroborations")
    assert sightings == (count,)
    assert sound_counts(settings)["memories"] == count
