"""`m3 status`: what it tells of a store in any condition, by which exit code, and that it changes nothing."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw
import psycopg
import pytest

from m3_memory.app import App
from m3_memory.config import Settings
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.launch import Launch
from m3_memory.storage import queue
from m3_memory.storage.sql import sql
from m3_memory.surfaces.cli.status import EXIT_CODES, Status, find_status, line
from tests.callers import Agent, embedder_named
from tests.faults.products import M3, environment
from tests.migrations.story import GOLDEN
from tests.rights import without_root_rights
from tests.storage.schemas import SHIPPED, later, opened
from tests.stores import Stores
from tests.surfaces.command_line import command_line

Ask = Callable[[Settings], Status]
HOUR = 3600


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, clock: ManualClock) -> Ask:
    """The status as the command finds it, by the settings given and the clock of the test."""

    def asked(settings: Settings) -> Status:
        monkeypatch.setattr("m3_memory.app.SystemClock", lambda: clock)
        for name, value in environment(settings).items():
            monkeypatch.setenv(name, value)
        return find_status(Launch(agent="cli", project="atlas"))

    return asked


def _agent(app: App, **who: str) -> Agent:
    caller = Caller("local", "claude", "session-1", project="atlas")
    return Agent(app.database, app.clock, caller, embedder_named("off")).who(**who)


def _settings(location: str, home: Path) -> Settings:
    if location.startswith("postgresql://"):
        return Settings(home, database_url=location, embedder="off")
    return Settings(Path(location).parent, embedder="off")


def test_a_store_in_use_is_told_with_its_counts(app: App, settings: Settings, ask: Ask) -> None:
    tea = _agent(app).call("memory_write", content="Tea is at four", type="fact")["id"]
    gone = _agent(app, project="bridge").call("memory_write", content="The bridge is up", type="fact")["id"]
    _agent(app, project="bridge").call("memory_delete", id=gone)
    _agent(app).call("memory_update", id=tea, content="Tea is at five")
    _agent(app, user_id="ada").call("memory_write", content="Her tea is at six", type="fact")
    found = ask(settings)
    told = found.told()
    assert (told["state"], EXIT_CODES[found.state]) == ("healthy", 0)
    assert told["memories"] == {"current": 1, "all": 2}
    assert told["jobs"] == {"waiting": 3, "dead": 0}
    assert told["without_vectors"] == 1
    assert told["schema_version"] == SHIPPED
    assert told["engine"] == app.database.dialect.describe()
    assert told["operator"]["is_set"] is False
    assert told["store"] in (str(settings.home / "m3.db"), settings.database_url)
    assert told["backup"]["last"] == "never"
    assert "1 memory and 1 past" in line(found)
    assert "\n" not in line(found)


def test_where_no_store_is_it_says_so_and_makes_none(stores: Stores, home: Path, ask: Ask) -> None:
    location = stores.unmade()
    settings = _settings(location, home)
    found = ask(settings)
    assert (found.told()["state"], EXIT_CODES[found.state]) == ("absent", 4)
    assert "there is none yet" in line(found)
    assert not home.exists()
    if settings.database_url:
        with psycopg.connect(location) as connection:
            assert connection.execute(
                "SELECT count(*) FROM pg_tables WHERE tablename = 'stores'"
            ).fetchone() == (0,)
    else:
        assert list(settings.home.iterdir()) == []


def test_an_older_store_is_left_as_it_is(home: Path, ask: Ask) -> None:
    home.mkdir()
    store = home / "m3.db"
    store.write_bytes(gzip.decompress((GOLDEN / "0.1.0.db.gz").read_bytes()))
    before = store.read_bytes()
    found = ask(Settings(home, embedder="off"))
    assert (found.told()["state"], EXIT_CODES[found.state]) == ("degraded", 1)
    assert "m3 migrate" in line(found)
    assert store.read_bytes() == before
    assert [path.name for path in home.iterdir()] == ["m3.db"]


def test_a_store_that_is_too_new_is_a_fault_with_what_to_do(
    stores: Stores, home: Path, clock: ManualClock, ask: Ask
) -> None:
    location = stores.fresh()
    opened(location, clock, later(stores.engine, oldest_code_version=SHIPPED + 1)).close()
    found = ask(_settings(location, home))
    assert (found.told()["code"], EXIT_CODES[found.state]) == ("store_too_new", 5)
    assert "upgrade" in line(found)


def test_a_store_without_one_of_its_tables_is_a_fault(stores: Stores, home: Path, ask: Ask) -> None:
    location = stores.fresh()
    if stores.engine == "postgres":
        with psycopg.connect(location) as connection:
            connection.execute("DROP TABLE jobs")
    else:
        connection = apsw.Connection(location)
        connection.execute("DROP TABLE jobs")
        connection.close()
    found = ask(_settings(location, home))
    assert (found.told()["code"], EXIT_CODES[found.state]) == ("store_damaged", 5)


def test_a_file_that_is_no_database_is_a_fault(home: Path, ask: Ask) -> None:
    home.mkdir()
    (home / "m3.db").write_bytes(b"no database at all" * 1000)
    found = ask(Settings(home, embedder="off"))
    assert (found.told()["code"], EXIT_CODES[found.state]) == ("store_damaged", 5)


def test_a_server_that_is_not_there_is_a_fault(home: Path, ask: Ask) -> None:
    found = ask(Settings(home, database_url="postgresql://m3:secret-word@127.0.0.1:1/none", embedder="off"))
    assert (found.told()["code"], EXIT_CODES[found.state]) == ("store_unreachable", 5)
    assert "secret-word" not in json.dumps(found.told())


def test_a_writer_at_work_does_not_hold_it_up(app: App, settings: Settings, ask: Ask) -> None:
    _agent(app).call("memory_write", content="Tea is at four", type="fact")
    with app.database.write("local"):
        assert ask(settings).told()["memories"] == {"current": 1, "all": 1}


def test_a_file_that_somebody_locked_is_told_as_such(
    home: Path, clock: ManualClock, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home, embedder="off")
    app = App.open(settings, clock)
    _agent(app).call("memory_write", content="Tea is at four", type="fact")
    app.close()
    monkeypatch.setattr("m3_memory.storage.sqlite.BUSY_SECONDS", 0.01)
    other = apsw.Connection(str(home / "m3.db"))
    other.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
    other.execute("BEGIN EXCLUSIVE")
    found = ask(settings)
    other.close()
    assert (found.told()["code"], EXIT_CODES[found.state]) == ("store_busy", 5)


def test_a_store_that_cannot_be_written_is_still_told_of(home: Path, clock: ManualClock) -> None:
    settings = Settings(home, embedder="off")
    app = App.open(settings, clock)
    _agent(app).call("memory_write", content="Tea is at four", type="fact")
    app.close()
    (home / "m3.db").chmod(0o444)
    home.chmod(0o555)
    command = without_root_rights([*M3, "status"])
    done = subprocess.run(command, env=environment(settings), capture_output=True, text=True, check=False)
    home.chmod(0o700)
    assert json.loads(done.stdout)["memories"] == {"current": 1, "all": 1}, done.stderr


def test_jobs_that_failed_too_often_want_attention(app: App, settings: Settings, ask: Ask) -> None:
    with app.database.write("local") as writer:
        queue.enqueue(writer, queue.Job("embed", "embed:1", {"item": 1}, "local"))
        writer.execute(sql("UPDATE jobs SET state = 'dead'"))
    found = ask(settings)
    assert (found.told()["state"], EXIT_CODES[found.state]) == ("degraded", 1)
    assert "1 job failed" in line(found)


def test_backups_are_told_and_missed_ones_want_attention(home: Path, clock: ManualClock, ask: Ask) -> None:
    settings = Settings(home, embedder="off")
    app = App.open(settings, clock)
    _agent(app).call("memory_write", content="Tea is at four", type="fact")
    assert ask(settings).told()["state"] == "healthy"
    clock.advance(30 * HOUR)
    assert ask(settings).told()["state"] == "healthy"
    clock.advance(30 * HOUR)
    missed = ask(settings)
    assert missed.told()["state"] == "degraded"
    assert "late" in line(missed)
    made = command_line(home.parent).run("backup").answer["backup"]
    assert ask(settings).told()["backup"]["path"] == made
    listed = command_line(home.parent).run("backup", "--list").answer["backups"]
    assert [(row["path"], row["scheduled"]) for row in listed] == [(made, False)]
    app.close()


def test_the_command_prints_one_line_on_a_terminal_and_exits_by_the_state(home: Path, tmp_path: Path) -> None:
    terminal = command_line(tmp_path)
    code, shown = terminal.on_terminal("status")
    assert (code, shown.count("\n")) == (4, 1)
    assert terminal.run("memory", "write", "Tea is at four", "--type", "fact").code == 0
    code, shown = terminal.on_terminal("status")
    assert (code, shown.count("\n")) == (0, 1)
    assert shown.startswith(f"healthy · {home / 'm3.db'} · SQLite")
    assert "1 memory" in shown
    done = terminal.run("status")
    assert (done.code, json.loads(done.out)["state"]) == (0, "healthy")
