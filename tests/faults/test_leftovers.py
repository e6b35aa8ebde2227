"""What a process leaves beside the store when it dies is used, repaired or ignored, and never believed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from m3_memory.config import Settings
from tests.faults.children import child, write_and_die_before_the_answer
from tests.faults.products import answer, noted_heads, recorded, session, sound_counts

FACTS = {f"The {thing} stands on pier {number}" for number, thing in enumerate(("crane", "light", "bell"), 1)}


def _nothing(path: Path) -> None:
    path.write_bytes(b"")


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _noise(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size + 100))


def _zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _missing(path: Path) -> None:
    path.unlink()


@pytest.mark.case("B46")
@pytest.mark.parametrize("spoil", [_nothing, _half, _noise, _zeros, _missing])
def test_spoiled_files_beside_the_store_cost_no_answer(
    settings: Settings, spoil: Callable[[Path], None]
) -> None:
    with session(settings) as writer:
        for fact in FACTS:
            answer(writer, "memory_write", content=fact, type="fact")
        answer(writer, "memory_search", query="pier", search_mode="vector")
    expected = {"postgres.head"} if settings.database_url else {"m3.db.head", "m3.db.vectors-1"}
    beside = [path for path in settings.home.iterdir() if path.name in expected]
    assert len(beside) == len(expected)
    for path in beside:
        path.with_name(f"{path.name}.new").write_bytes(b"unfinished")
        spoil(path)
    assert sound_counts(settings)["memories"] == len(FACTS)
    with session(settings) as reader:
        for fact in FACTS:
            found = answer(reader, "memory_search", query=fact, search_mode="vector", k=1)["hits"]
            assert [hit["content"] for hit in found] == [fact]
        last = answer(reader, "memory_write", content="The buoy lies off pier 9", type="fact")["id"]
        found = answer(reader, "memory_search", query="buoy off pier 9", search_mode="vector", k=1)["hits"]
        assert [hit["id"] for hit in found] == [last]
    assert sound_counts(settings)["memories"] == len(FACTS) + 1
    assert noted_heads(settings) == recorded(
        settings, "SELECT last_sequence, last_hash FROM owners WHERE last_sequence > 0"
    )


@pytest.mark.case("B46")
def test_a_writer_that_dies_between_its_commit_and_its_answer_has_written(settings: Settings) -> None:
    with child(write_and_die_before_the_answer, settings) as writer:
        assert [note.step for note in writer.rest()] == ["asked", "began", "committing", "committed"]
    assert sound_counts(settings)["memories"] == 1
    with session(settings) as reader:
        assert answer(reader, "memory_search", query="lighthouse")["hits"]
        again = answer(reader, "memory_write", content="The lighthouse is lit", type="fact")
        assert again["status"] == "duplicate"
    assert noted_heads(settings) == recorded(
        settings, "SELECT last_sequence, last_hash FROM owners WHERE last_sequence > 0"
    )
    assert sound_counts(settings)["memories"] == 1
