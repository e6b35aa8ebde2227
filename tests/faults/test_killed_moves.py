"""An import or a restore that is killed loses nothing it took in, repeats nothing, and can be run again."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path

import pytest

from m3_memory.config import Settings
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from tests.faults.children import child, import_text, restore_whole
from tests.faults.products import recorded, sound_counts
from tests.sizes import size
from tests.stores import SqliteStores
from tests.whole_stores import dump, fill, key_of

LINES = size(1_200, 12_000)
ROUNDS = size(3, 20)


def _file(path: Path, count: int) -> str:
    lines = (
        {"kind": "memory", "id": f"{number:08d}-1111-4111-8111-111111111111", "content": f"Crate {number}"}
        for number in range(count)
    )
    path.write_text("".join(f"{json.dumps(line | {'type': 'note'})}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.mark.case("B46")
def test_a_killed_import_is_run_again_and_repeats_nothing(settings: Settings, tmp_path: Path) -> None:
    """Killed within its second chunk, and again at random: every chunk is whole or not there."""
    path = _file(tmp_path / "crates.jsonl", LINES)
    with child(import_text, settings, path) as importer:
        importer.until("committed", times=1)
        importer.until("began", times=1)
        importer.killed(random.random() * 0.05)
    taken_in = sound_counts(settings)["memories"]
    assert taken_in % 500 == 0
    assert taken_in < LINES
    for _ in range(ROUNDS):
        with child(import_text, settings, path) as importer:
            importer.killed(random.random() * 2)
        assert taken_in <= (taken_in := sound_counts(settings)["memories"])
    with child(import_text, settings, path) as importer:
        assert importer.rest()[-1].step == "done"
    assert sound_counts(settings)["memories"] == LINES
    created = "SELECT count(*), count(DISTINCT memory_id) FROM memory_history WHERE kind = 'create'"
    assert recorded(settings, created) == [(LINES, LINES)]
    assert recorded(settings, "SELECT count(*) FROM memory_corroborations") == [(0,)]


@pytest.mark.case("B46")
def test_a_killed_restore_leaves_the_store_empty_or_whole(
    settings: Settings, sqlite_stores: SqliteStores, tmp_path: Path
) -> None:
    clock = ManualClock()
    with closing(open_database(sqlite_stores.unmade(), clock)) as full:
        fill(full, clock)
        lines, key = dump(full), key_of(full)
    path = tmp_path / "whole.jsonl"
    path.write_bytes(b"".join(lines))
    settings.home.mkdir(exist_ok=True)
    with closing(open_database(settings.store, clock)) as store:
        empty = dump(store)
    for _ in range(ROUNDS):
        with child(restore_whole, settings, str(path), key) as restoring:
            restoring.until("opened")
            restoring.until("began")
            restoring.killed(random.random() * 0.05)
        with closing(open_database(settings.store, clock)) as store:
            if (found := dump(store)) == lines:
                return
            assert found == empty
    with child(restore_whole, settings, str(path), key) as restoring:
        assert restoring.rest()[-1].step == "done"
    with closing(open_database(settings.store, clock)) as store:
        assert dump(store) == lines
    sqlite_stores.discard()
