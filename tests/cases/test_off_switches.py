"""What is switched off in the settings file is off, and on without it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from m3_memory.app import App
from m3_memory.catalog.dispatch import dispatch
from m3_memory.config import FILE_NAME, SETTINGS, HostEnvironment, load_settings
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.sql import sql
from m3_memory.surfaces.worker.loop import work_once
from m3_memory.toolbox import CATALOG
from tests.surfaces.command_line import command_line
from tests.unit.git_folders import repository

DAY_SECONDS = 24 * 60 * 60
SECRET = "ghp_" + "a1B2" * 9
SAID, NEWER = "The gateway listens on port 8080.", "The gateway listens on port 9090."


class Running(NamedTuple):
    """The product as the settings file in `home` makes it."""

    app: App
    clock: ManualClock
    home: Path
    caller: Caller = Caller("local", "claude", "session-1", project="atlas")

    def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """The answer of a call that must succeed, under the settings in force."""
        found = dispatch(CATALOG, self.app.context(self.caller), tool, arguments)
        assert found.structured is not None, (tool, found.text)
        return found.structured

    def count(self, table: Any) -> int:
        with self.app.database.read("local") as reader:
            return len(reader.rows(sql("SELECT 1 FROM " + table)))

    def write(self, content: str, **given: object) -> dict[str, Any]:
        self.clock.advance(60)
        return self.call("memory_write", content=content, type="fact", **given)


def _embedder(run: Running) -> bool:
    """A vector, a space, a vector file beside the store, a thread, a job that can be done."""
    threads = threading.active_count()
    run.write(SAID)
    run.call("memory_search", query="which port")
    vector_files = [path for path in run.home.iterdir() if path.name.startswith("m3.db.v")]
    traces = (
        run.count("memory_embeddings"),
        run.count("embedding_spaces"),
        len(vector_files),
        work_once(run.app)["done"],
        threading.active_count() - threads,
    )
    assert run.call("memory_search", query="port", search_mode="keyword")["hits"]
    return any(traces)


def _contradiction(run: Running) -> bool:
    """Something superseded, or a question about it."""
    run.write(SAID)
    newer = run.write(NEWER)
    asked = run.call("review_list")["reviews"]
    total = run.call("memory_list", counts=True)["total"]
    edges = run.count("memory_relationships")
    return bool(newer["superseded"] or newer["conflicts"] or asked or edges or total != 2)


def _secrets(run: Running) -> bool:
    """A text other than what was said."""
    id_ = run.write(f"The token is {SECRET} here")["id"]
    stored = run.call("memory_get", id=id_)["memory"]["content"]
    assert (SECRET in stored) is (stored == f"The token is {SECRET} here")
    return SECRET not in stored


def _backups(run: Running) -> bool:
    """A backup that nobody asked for, however long the worker goes on."""
    run.write(SAID)
    for _ in range(3):
        run.clock.advance(40 * DAY_SECONDS)
        work_once(run.app)
    return (run.home / "backups").exists()


def _fading(run: Running) -> bool:
    """A score that fell with the time that passed."""
    for number in range(3):
        run.write(f"Crate {number} holds port wine", importance=1.0)

    def scores() -> list[float]:
        hits = run.call("memory_search_scored", query="port wine")["hits"]
        return [hit["score"] for hit in hits]

    before = scores()
    run.clock.advance(2000 * DAY_SECONDS)
    assert before
    return scores() != before


SWITCHES: dict[str, tuple[object, Callable[[Running], bool]]] = {
    "embedder": ("off", _embedder),
    "contradiction": ("off", _contradiction),
    "secrets": ("allow", _secrets),
    "backup_hours": (0, _backups),
    "importance_half_life_days": (0, _fading),
}
"""Every setting that turns something off: its value for that, and whether a trace of the thing is there."""


@contextmanager
def running(home: Path, **given: object) -> Generator[Running]:
    home.mkdir()
    lines = [f"{name} = {value!r}" for name, value in ({"embedder": "hashing"} | given).items()]
    (home / FILE_NAME).write_text("\n".join(lines))
    clock = ManualClock()
    app = App(load_settings({"M3_HOME": str(home)}), clock, HostEnvironment())
    try:
        yield Running(app, clock, home)
    finally:
        app.close()


def test_every_setting_that_turns_something_off_is_tried() -> None:
    """B72."""
    off = {setting.name for setting in SETTINGS if {"off", "allow"} & {*setting.choices}}
    off |= {setting.name for setting in SETTINGS if isinstance(setting.default, float) and not setting.low}
    assert off == SWITCHES.keys()


@pytest.mark.parametrize("name", SWITCHES)
def test_what_is_switched_off_leaves_no_trace_and_what_is_not_does(tmp_path: Path, name: str) -> None:
    """B72 No row, no file, no thread, no change; the same steps under the default leave one."""
    value, leaves_a_trace = SWITCHES[name]
    with running(tmp_path / "off", **{name: value}) as run:
        assert not leaves_a_trace(run)
    with running(tmp_path / "on") as run:
        assert leaves_a_trace(run)


@pytest.mark.parametrize("limit", ["max_memories", "ttl_days"])
def test_a_limit_that_was_lifted_closes_nothing_more(tmp_path: Path, limit: str) -> None:
    """B72 Retention is off at 0: set to one, it closes; back at 0, the worker leaves all alone."""
    with running(tmp_path / "home", backup_hours=0) as run:
        operator = run._replace(caller=run.caller.as_operator())
        for value, standing in ((1, {"max_memories": 1, "ttl_days": 0}[limit]), (0, 3)):
            policy = {"max_memories": 0, "ttl_days": 0, limit: value}
            operator.call("memory_set_retention", agent_id="claude", **policy)
            for number in range(3):
                run.write(f"Shelf {number} of case {value} is empty")
            run.clock.advance(2 * DAY_SECONDS)
            work_once(run.app)
            found = run.call("memory_search", query=f"case {value}", search_mode="keyword", k=9)["hits"]
            assert len([hit for hit in found if f"case {value}" in hit["content"]]) == standing


def test_no_file_in_a_project_switches_anything(tmp_path: Path) -> None:
    """B72 A settings file is read from the home folder alone."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in (FILE_NAME, ".m3_config.toml"):
        (folder / name).write_text('secrets = "allow"\ncontradiction = "off"\n')
    m3 = command_line(repository(folder))
    shown = {row["name"]: row["value"] for row in m3.run("config", "--json").answer["settings"]}
    assert (shown["secrets"], shown["contradiction"]) == ("redact", "auto")
    id_ = m3.run("memory", "write", f"The token is {SECRET} here").answer["id"]
    assert SECRET not in m3.run("memory", "get", id_).out
