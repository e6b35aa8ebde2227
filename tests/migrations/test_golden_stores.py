"""A store of every release opens with today's code and answers as it did on the day it was written."""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.domains.system.service import examine
from m3_memory.kernel.clock import ManualClock
from tests.migrations.story import GOLDEN, answers, storyteller
from tests.storage.schemas import shipped

RELEASES = sorted(path.name.removesuffix(".db.gz") for path in GOLDEN.glob("*.db.gz"))


@pytest.fixture(params=RELEASES)
def golden(request: pytest.FixtureRequest, home: Path) -> Generator[tuple[App, str]]:
    """The product over a copy of a release's store, and that release."""
    home.mkdir()
    packed = (GOLDEN / f"{request.param}.db.gz").read_bytes()
    (home / "m3.db").write_bytes(gzip.decompress(packed))
    settings = Settings(home, embedder="hashing")
    with closing(App(settings, ManualClock("2026-01-01T01:00:00Z"), HostEnvironment())) as app:
        yield app, request.param


@pytest.mark.case("B83")
def test_a_golden_store_answers_as_on_its_first_day(golden: tuple[App, str]) -> None:
    app, release = golden
    told = json.loads((GOLDEN / f"{release}.json").read_text(encoding="utf-8"))
    assert len(told) > 100
    now = answers(app.database)
    assert {name: now.get(name) for name in told} == told
    assert bool(app.database.migrated) == (app.database.backup_path is not None)


@pytest.mark.case("B83")
def test_a_golden_store_is_sound_and_goes_on_being_written(golden: tuple[App, str]) -> None:
    app, _ = golden
    agent = storyteller(app.database, ManualClock("2026-01-01T02:00:00Z"))
    context = app.context(agent.caller)
    assert examine(context).faults == []
    repeated = agent.call("memory_write", content="Releases leave from the branch main", type="fact")
    assert repeated["status"] == "duplicate"
    stale = agent.refusal("memory_write", content="Releases leave from the branch stable", type="fact")
    assert (stale["code"], repeated["id"] in stale["message"]) == ("superseded_value", True)
    newer = agent.call("memory_supersede", old_id=repeated["id"], content="Releases leave from tags")
    assert newer["status"] == "superseding"
    assert examine(context).faults == []


def test_this_schema_has_a_golden_store(home: Path) -> None:
    """A schema that no golden store has can't be released: `python -m tests.migrations.story` makes one."""
    versions = set[int]()
    for release in RELEASES:
        path = home.with_name(f"{release}.db")
        path.write_bytes(gzip.decompress((GOLDEN / f"{release}.db.gz").read_bytes()))
        with closing(apsw.Connection(str(path))) as store:
            ((version,),) = store.execute("SELECT schema_version FROM stores").fetchall()
            versions.add(int(str(version)))
    assert shipped("sqlite").version in versions
