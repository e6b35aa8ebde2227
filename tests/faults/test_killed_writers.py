"""A writer that is killed at any moment loses nothing it acknowledged and leaves nothing half done."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from m3_memory.config import Settings
from tests.faults.children import (
    Note,
    child,
    open_until_the_disk_kills,
    write_on,
    write_until_the_disk_kills,
)
from tests.faults.products import answer, session, sound_counts
from tests.sizes import size

ROUNDS = size(12, 50)
LEAST_INSIDE = ROUNDS // 5
WORDS = 2000


@dataclass(frozen=True)
class Death:
    """What a killed writer had acknowledged, and whether it died within a transaction."""

    acknowledged: list[Note]
    is_inside: bool


# Where writers are killed: at a random moment between two steps, half of them inside a write's transaction.
_MOMENTS = (
    ("began", "committed"),
    ("asked", "acknowledged"),
    ("began", "committed"),
    ("acknowledged", "asked"),
)


def _killed(settings: Settings, rng: random.Random, since: str, until: str) -> Death:
    """Kills a writer that has acknowledged two memories, between these two steps of what it does next."""
    with child(write_on, settings, rng.getrandbits(32), WORDS) as writer:
        notes = writer.until("acknowledged", times=2)
        after_seconds = rng.random() * _span_seconds(notes, since, until)
        if since != "acknowledged":
            notes += writer.until("asked")
        if since == "began":
            notes += writer.until("began")
        notes += writer.killed(after_seconds)
    transaction = [note.step for note in notes if note.step in ("began", "committed")]
    return Death([note for note in notes if note.memory_id], transaction[-1] == "began")


def _span_seconds(notes: list[Note], since: str, until: str) -> float:
    """How long it took the last time."""
    end = max(note.at_seconds for note in notes if note.step == until)
    return end - max(note.at_seconds for note in notes if note.step == since and note.at_seconds < end)


@pytest.mark.case("B46")
def test_a_writer_killed_at_a_random_moment_loses_nothing_acknowledged(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    deaths = [_killed(settings, rng, *_MOMENTS[number % len(_MOMENTS)]) for number in range(ROUNDS)]
    inside = sum(death.is_inside for death in deaths)
    with capsys.disabled():
        print(f" [seed {seed}: {inside} of {ROUNDS} writers died inside a transaction] ", end="")
    kept = [note for death in deaths for note in death.acknowledged]
    counts = sound_counts(settings)
    assert len(kept) <= counts["memories"] <= len(kept) + ROUNDS
    assert counts["without_vectors"] == 0
    with session(settings) as reader:
        for note in kept:
            events = answer(reader, "memory_history", memory_id=note.memory_id)["events"]
            assert [event["kind"] for event in events] == ["create"]
            stored = answer(reader, "memory_get", id=note.memory_id)["memory"]["content"]
            assert stored.startswith(note.mark)
            for mode, query in (("keyword", note.mark), ("vector", stored[:1000])):
                found = answer(reader, "memory_search", query=query, search_mode=mode, k=1)["hits"]
                assert [hit["id"] for hit in found] == [note.memory_id], mode
        assert answer(reader, "memory_write", content="The next write", type="note")["status"] == "created"
    assert inside >= LEAST_INSIDE


@pytest.mark.case("B46")
@pytest.mark.parametrize("work", [write_until_the_disk_kills, open_until_the_disk_kills])
def test_a_writer_killed_at_any_operation_of_the_disk_leaves_the_store_whole(
    work: Callable[..., None], tmp_path: Path
) -> None:
    at, deaths = 0, 0
    steps: list[str] = []
    while "survived" not in steps:
        at += 1 + at // size(3, 1_000_000)  # few moments in the everyday run, every one in the full
        settings = Settings(home=tmp_path / str(at), embedder="hashing")
        with child(work, settings, at) as writer:
            notes = writer.rest()
        steps = [note.step for note in notes]
        deaths += "survived" not in steps
        with session(settings) as reader:
            written = answer(reader, "memory_write", content="The harbour closes at ten", type="fact")
            for note in notes:
                if note.memory_id:
                    assert answer(reader, "memory_get", id=note.memory_id)["status"] == "current"
            found = answer(reader, "memory_search", query="harbour", k=3)["hits"]
            assert written["id"] in {hit["id"] for hit in found}
        assert sound_counts(settings)["memories"] == len(found)
        shutil.rmtree(settings.home)
    assert deaths >= 5
