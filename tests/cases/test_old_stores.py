"""A store of another version: a newer one is refused and left alone, an older one is brought up to date."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.migrate import Schema
from tests.storage.rows import remember, remembered
from tests.storage.schemas import opened, shipped
from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.doors import M3, Mcp, error
from tests.surfaces.mcp_wire import Wire, request

CONTENT = "The fog signal sounds twice"


@pytest.fixture
def m3(tmp_path: Path) -> CommandLine:
    return command_line(tmp_path)


def previous(schema: Schema) -> Schema:
    """What a version whose last migration was the one before made."""
    migrations = schema.migrations[:-1]
    return replace(schema, migrations=migrations, oldest_code_version=migrations[-1].number)


def digests(home: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in home.iterdir()}


def test_a_newer_store_is_refused_politely_and_left_untouched(m3: CommandLine, home: Path) -> None:
    """B83 By every tool and command; the server itself starts and lists its tools."""
    assert m3.run("memory", "write", CONTENT, "--type", "fact").answer["status"] == "created"
    store = apsw.Connection(str(home / "m3.db"))
    store.execute("UPDATE stores SET schema_version = 99, oldest_code_version = 98")
    store.close()
    before = digests(home)
    for words in (
        ("memory", "search", "fog"),
        ("memory", "write", "another", "--type", "fact"),
        ("doctor",),
        ("migrate",),
        ("backup",),
        ("worker", "--once"),
    ):
        refused = m3.run(*words)
        assert (refused.code, refused.error["code"]) == (5, "store_too_new"), words
        assert "99" in refused.error["message"]
        assert "untouched" in refused.error["message"]
        assert "upgrade" in refused.error["hint"]
    with Wire(command=M3, cwd=m3.folder, env=m3.environment) as wire:
        door = Mcp(wire)
        assert wire.result(request("tools/list", request_id="list"))["tools"]
        assert error(door, "memory_search", query="fog")["code"] == "store_too_new"
    assert digests(home) == before


def test_a_store_that_says_older_code_may_open_it_is_opened(m3: CommandLine, home: Path) -> None:
    """B83 A newer store whose second number allows it: the control of the test above."""
    m3.run("memory", "write", CONTENT, "--type", "fact")
    store = apsw.Connection(str(home / "m3.db"))
    store.execute("UPDATE stores SET schema_version = 99")
    store.close()
    assert [hit["content"] for hit in m3.run("memory", "search", "fog").answer["hits"]] == [CONTENT]


def test_an_older_store_is_backed_up_and_brought_up_to_date(m3: CommandLine, home: Path) -> None:
    """B83 By whatever command comes first; the copy made before is named and is the store as it was."""
    home.mkdir()
    now = shipped("sqlite")
    before = previous(now)
    older = opened(str(home / "m3.db"), ManualClock(), before)
    with older.write("local") as writer:
        remember(writer, "kept", CONTENT)
    older.close()
    migrated = json.loads(m3.run("migrate").out)
    assert migrated["migrated"] == [now.migrations[-1].name]
    copy = opened(migrated["backup"], ManualClock(), before)
    with copy.read("local") as reader:
        assert remembered(reader) == ["kept"]
    copy.close()
    assert json.loads(m3.run("doctor").out)["counts"]["versions"] == 1
    again = m3.run("migrate").answer
    assert (again["migrated"], "backup" in again) == ([], False)
    assert m3.run("memory", "write", "The fog bell rings", "--type", "fact").answer["status"] == "created"


def test_a_backup_made_before_a_migration_is_said_by_any_command(m3: CommandLine, home: Path) -> None:
    """B83."""
    home.mkdir()
    opened(str(home / "m3.db"), ManualClock(), previous(shipped("sqlite"))).close()
    done = m3.run("memory", "search", "fog")
    assert done.code == 0
    (copy,) = home.glob("*before-migration*")
    assert str(copy) in done.err
