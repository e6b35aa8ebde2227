"""A whole store as lines: the same on either engine, restored verbatim into an empty store or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from m3_memory.errors import DamagedExport, StoreFull, StoreNotEmpty, StoreTooNew
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import history, integrity, open_database
from m3_memory.storage.database import Database
from m3_memory.storage.dump import restore
from m3_memory.storage.dump.tables import DERIVED, TABLES, UNTOLD
from m3_memory.storage.sql import sql
from tests.callers import Agent, embedder_named
from tests.faults.vfs import FaultyDisk, full_disk
from tests.migrations.story import answers, storyteller
from tests.negative.scene import Scene
from tests.stores import SqliteStores, Stores
from tests.whole_stores import dump, ended, fill, fill_scene, key_of

_IN_SQLITE = sql(
    "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'"
    " AND m.name NOT LIKE 'search^_index%' ESCAPE '^' AND m.name NOT LIKE 'sqlite^_%' ESCAPE '^'"
    " AND m.name <> 'search_vocabulary'"
)
_IN_POSTGRES = sql(
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
)


@pytest.fixture
def full(stores: Stores, clock: ManualClock) -> Generator[Database]:
    """A store with something of everything; the test runs once per engine."""
    with closing(open_database(stores.unmade(), clock)) as database:
        fill(database, clock)
        yield database


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, clock: ManualClock) -> Generator[Database]:
    """An empty store with an origin and key of its own, on each engine in turn."""
    made: Stores = request.getfixturevalue(f"{request.param}_stores")
    with closing(open_database(made.unmade(), clock)) as database:
        yield database
    made.discard()


def faults(database: Database, clock: ManualClock, user_id: str = "local") -> list[integrity.Fault]:
    with database.read(user_id) as reader:
        return integrity.faults(reader, database.heads.read(), clock.now())


def table_of(line: bytes) -> str:
    return json.loads(line).get("table", "")


def test_every_table_and_column_is_told_of_or_is_known_to_be_left_out(database: Database) -> None:
    is_sqlite = database.dialect.describe().startswith("SQLite")
    with database.read("local") as reader:
        columns: dict[str, set[str]] = {}
        for name, column in reader.rows(_IN_SQLITE if is_sqlite else _IN_POSTGRES):
            columns.setdefault(str(name), set()).add(str(column))
    told = {table.name: {column.name for column in table.columns} for table in TABLES}
    assert {name: columns[name] for name in columns if name not in (*DERIVED, *UNTOLD)} == told


@pytest.mark.case("B84")
def test_a_restored_store_is_the_one_that_was_dumped(
    full: Database, empty: Database, clock: ManualClock
) -> None:
    """Issue 3, point 2: equal by content with times and history, on both engines and across them."""
    lines = dump(full)
    assert {table_of(line) for line in lines} == {*(table.name for table in TABLES), ""}
    rows = restore(empty, lambda: lines, key_of(full))
    assert sum(rows.values()) == len(lines) - 2
    assert dump(empty) == lines
    assert answers(empty) == answers(full)
    assert key_of(empty) == key_of(full)
    for user in ("local", "ann/b"):
        assert faults(empty, clock, user) == faults(full, clock, user) == []


@pytest.mark.case("B84")
def test_a_restored_store_goes_on_where_it_was(full: Database, empty: Database, clock: ManualClock) -> None:
    """Its numbers and store times go on, its jobs are done, and what is restored can be undone."""
    lines = dump(full)
    restore(empty, lambda: lines, key_of(full))
    before = ManualClock("2020-01-01T00:00:00.000000Z")
    agent = storyteller(empty, before)
    written = agent.call("memory_write", content="Releases are announced in June", type="fact")
    memory = agent.call("memory_get", id=written["id"])["memory"]
    with empty.read("local") as reader:
        (times,) = reader.rows(sql("SELECT max(recorded_at), max(item) FROM memory_items"))
        assert memory["recorded_at"] == times[0]
        assert memory["recorded_at"] > before.now()
        (last,) = reader.rows(sql("SELECT sequence, hash FROM memory_history ORDER BY event DESC LIMIT 1"))
        assert reader.rows(sql("SELECT last_sequence, last_hash FROM owners WHERE user_id = 'local'")) == [
            last
        ]
    for mode in ("keyword", "vector"):
        hits = agent.call("memory_search", query="announced in June", search_mode=mode, k=1)["hits"]
        assert [hit["id"] for hit in hits] == [written["id"]]
    assert faults(empty, clock) == []
    restored = [json.loads(line) for line in dump(empty)]
    assert len(restored) > len(lines)


@pytest.mark.case("B84")
def test_what_is_hidden_stays_hidden_and_the_past_readable(
    stores: Stores, empty: Database, clock: ManualClock
) -> None:
    """Superseded, ended, expired, deleted, rejected, candidate, tagged; of others, in every place."""
    with closing(Scene(stores.unmade(), embedder_named("on"))) as scene:
        fill_scene(scene)
        lines = dump(scene.reader.database)
        restore(empty, lambda: lines, key_of(scene.reader.database))
        moved = Agent(empty, scene.clock, scene.reader.caller, scene.embedder)
        for canary in scene.canaries.values():
            for arguments in ({}, {"as_of": "2026-01-01T00:00:30Z"}, {"known_at": "2026-01-01T00:00:30Z"}):
                query = {"query": canary.word, "k": 20, **arguments}
                then = moved.outcome("memory_search", query).structured
                assert then == scene.reader.outcome("memory_search", query).structured
                got = {"id": canary.id, **arguments}
                assert moved.outcome("memory_get", got).text == scene.reader.outcome("memory_get", got).text
        assert dump(empty) == lines


def test_a_store_that_holds_memories_is_not_restored_into(
    full: Database, empty: Database, clock: ManualClock
) -> None:
    lines = dump(full)
    Agent(empty, clock).call("memory_write", content="In the way", type="fact")
    before = dump(empty)
    with pytest.raises(StoreNotEmpty, match="1 memories"):
        restore(empty, lambda: lines, key_of(full))
    assert dump(empty) == before


def test_what_an_empty_store_noted_of_itself_gives_way(
    full: Database, empty: Database, clock: ManualClock
) -> None:
    """An operator's passphrase set on a new machine, before the restore, is an event and no memory."""
    with empty.write("local") as writer:
        history.append(writer, history.Event("grant", "", 0, 1, "cli", "o"))
    lines = dump(full)
    restore(empty, lambda: lines, key_of(full))
    assert dump(empty) == lines
    assert faults(empty, clock) == []


Tampering = Callable[[list[bytes]], list[bytes]]
KEY = b"k" * 32


def _changed(old: bytes, new: bytes) -> Tampering:
    """One place changed, under an ending that vouches for it."""
    return lambda lines: ended([*_replaced(lines, old, new)], KEY)


def _replaced(lines: list[bytes], old: bytes, new: bytes) -> list[bytes]:
    """The first row that holds it changed; the first line where no row does."""
    place = next((place for place, line in enumerate(lines) if place and old in line), 0)
    return [*lines[:place], lines[place].replace(old, new, 1), *lines[place + 1 :]]


def _twice(lines: list[bytes]) -> list[bytes]:
    place = next(place for place, line in enumerate(lines) if table_of(line) == "memory_items")
    return ended([*lines[:place], lines[place], *lines[place:]], KEY)


def _second_open_belief(lines: list[bytes]) -> list[bytes]:
    place = max(place for place, line in enumerate(lines) if table_of(line) == "memory_validity")
    found = json.loads(lines[place])
    found["row"]["belief"] += 1
    again = json.dumps(found, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    return ended([*lines[: place + 1], again, *lines[place + 1 :]], KEY)


HOSTILE: dict[str, Tampering] = {
    "cut off": lambda lines: lines[:-1],
    "cut off in a line": lambda lines: [*lines[:7], lines[7][:-5]],
    "empty": lambda lines: lines[:0],
    "a changed byte": lambda lines: _replaced(lines, b"Releases", b"Re1eases"),
    "a memory made verified": lambda lines: _replaced(lines, b'"accepted"', b'"verified"'),
    "vouched for under another key": lambda lines: ended(lines, b"x" * 32),
    "a line left out": lambda lines: [*lines[:9], *lines[10:]],
    "lines in another order": lambda lines: ended([*lines[:2], lines[3], lines[2], *lines[4:]], KEY),
    "something after the end": lambda lines: [*lines, lines[5]],
    "a row twice": _twice,
    "a foreign table": _changed(b'"table":"owners"', b'"table":"pg_authid"'),
    "SQL as a table": _changed(b'"table":"owners"', b'"table":"owners; DROP TABLE owners"'),
    "a derived table": _changed(b'"table":"jobs"', b'"table":"search_totals"'),
    "a foreign column": _changed(b'"agent_id":', b'"secret_key":'),
    "SQL as a column": _changed(b'"agent_id":', b'"agent_id) VALUES (1); --":'),
    "text for a number": _changed(b'"version":1', b'"version":"1"'),
    "a truth for a number": _changed(b'"embed":1', b'"embed":true'),
    "a number beyond 64 bits": _changed(b'"version":1', b'"version":9223372036854775808'),
    "a number for text": _changed(b'"title":""', b'"title":1'),
    "a list for text": _changed(b'"title":""', b'"title":[]'),
    "absence for text": _changed(b'"title":""', b'"title":null'),
    "a NUL in text": _changed(b'"title":""', b'"title":"\\u0000"'),
    "half a surrogate pair": _changed(b'"title":""', b'"title":"\\ud800"'),
    "no time": _changed(b'"valid_from":"2', b'"valid_from":"x'),
    "no base64": _changed(b'"salt":"', b'"salt":"***'),
    "an infinite vector": _changed(b'"vector":"', b'"vector":"AHwA'),
    "no such trust": _changed(b'"trust_state":"accepted"', b'"trust_state":"verified!"'),
    "two open beliefs of one memory": _second_open_belief,
    "no JSON": lambda lines: ended([lines[0], b"{\n", *lines[1:]], KEY),
    "deep JSON": lambda lines: ended([lines[0], b"[" * 100_000 + b"\n", *lines[1:]], KEY),
    "no object": lambda lines: ended([lines[0], b"[]\n", *lines[1:]], KEY),
    "half a surrogate pair as the origin": lambda lines: ended(
        [lines[0].replace(b'"origin":"', b'"origin":"\xed\xa0\x80'), *lines[1:]], KEY
    ),
    "another first line": _changed(b'"format":"m3-store"', b'"format":"m3-memories"'),
}  # fmt: skip


@pytest.mark.case("B84")
def test_a_hostile_file_is_refused_with_nothing_written(stores: Stores, clock: ManualClock) -> None:
    with closing(open_database(stores.unmade(), clock)) as source:
        with source.rebuild() as store:
            store.execute(sql("UPDATE stores SET secret_key = ?", KEY))
        fill(source, clock)
        lines = dump(source)
    with closing(open_database(stores.unmade(), clock)) as empty:
        before = dump(empty)
        for name, tamper in HOSTILE.items():
            tampered = tamper(list(lines))
            assert tampered != lines, name
            with pytest.raises(DamagedExport) as refused:
                restore(empty, lambda found=tampered: found, KEY)
            assert refused.value.hint, name
            assert dump(empty) == before, name
        restore(empty, lambda: lines, KEY)
        assert dump(empty) == lines


@pytest.mark.parametrize("change", [(b'"version":1', b'"version":2'), (b'"schema":', b'"schema":9')])
def test_an_export_of_a_newer_version_is_refused(
    full: Database, empty: Database, change: tuple[bytes, bytes]
) -> None:
    lines = dump(full)
    newer = ended([lines[0].replace(*change), *lines[1:]], key_of(full))
    before = dump(empty)
    with pytest.raises(StoreTooNew, match=r"newer|schema"):
        restore(empty, lambda: newer, key_of(full))
    assert dump(empty) == before


def test_a_file_that_changes_between_the_two_readings_leaves_nothing(full: Database, empty: Database) -> None:
    lines = dump(full)
    readings = iter([lines, lines, _replaced(lines, b"Releases", b"Re1eases")])
    before = dump(empty)
    with pytest.raises(DamagedExport):
        restore(empty, lambda: next(readings), key_of(full))
    assert dump(empty) == before
    restore(empty, lambda: lines, key_of(full))
    assert dump(empty) == lines


def test_who_has_the_empty_store_open_goes_on_in_the_restored_one(
    full: Database, stores: Stores, clock: ManualClock
) -> None:
    lines = dump(full)
    location = stores.unmade()
    with closing(open_database(location, clock)) as first, closing(open_database(location, clock)) as second:
        agent = storyteller(first, clock)
        assert agent.call("memory_search", query="releases")["hits"] == []
        restore(second, lambda: lines, key_of(full))
        assert len(agent.call("memory_search", query="releases", k=20)["hits"]) > 3
        agent.call("memory_write", content="Releases go on", type="fact")
        assert faults(first, clock) == faults(second, clock) == []


def test_vectors_cached_for_a_store_that_was_wiped_show_nothing_of_it(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    """An older export restored in the same place, where the wiped store's files still lie."""
    location = Path(sqlite_stores.unmade())
    with closing(open_database(location, clock)) as database:
        agent = Agent(database, clock)
        kept = agent.call("memory_write", content="The lighthouse is lit", type="fact")["id"]
        lines, key = dump(database), key_of(database)
        agent.call("memory_delete", id=kept)
        agent.call("memory_write", content="The lighthouse is dark", type="fact")
        assert agent.call("memory_search", query="lighthouse", search_mode="vector")["hits"]
    location.unlink()
    assert list(location.parent.glob("m3.db.vectors-*"))
    with closing(open_database(location, clock)) as database:
        restore(database, lambda: lines, key)
        hits = Agent(database, clock).call("memory_search", query="lighthouse", search_mode="vector")["hits"]
        assert [hit["content"] for hit in hits] == ["The lighthouse is lit"]
    sqlite_stores.discard()


def test_a_restore_that_the_disk_fails_leaves_the_store_empty(
    sqlite_stores: SqliteStores, clock: ManualClock
) -> None:
    with closing(open_database(sqlite_stores.unmade(), clock)) as source:
        fill(source, clock)
        lines, key = dump(source), key_of(source)
    disk = FaultyDisk()
    with closing(open_database(sqlite_stores.unmade(), clock, vfs=disk.name)) as database:
        before = dump(database)
        at, failures = 1, 0
        while True:
            with disk.failing(at, full_disk, lasting=True):
                try:
                    restore(database, lambda: lines, key)
                except StoreFull:
                    failures += 1
            if dump(database) == lines:
                break
            assert dump(database) == before
            at += at // 3 + 1
    assert failures >= 3
    sqlite_stores.discard()
