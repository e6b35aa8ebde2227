"""A store that can't be written is still read where that is possible, and otherwise says why not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from m3_memory.config import Settings
from tests.faults.children import child, write_on
from tests.faults.products import M3, PROJECT, Server, answer, environment, session, sound_counts
from tests.rights import without_root_rights

FACT = "The release train leaves on Fridays"


@pytest.fixture
def known(home: Path) -> Generator[tuple[Settings, str]]:
    """A store in a file, closed, and the id of the one memory in it."""
    settings = Settings(home=home, embedder="hashing")
    with session(settings) as writer:
        memory_id = answer(writer, "memory_write", content=FACT, type="fact")["id"]
    yield settings, memory_id
    home.chmod(0o700)


def _read_only_file(home: Path) -> None:
    (home / "m3.db").chmod(0o444)


def _read_only_folder(home: Path) -> None:
    home.chmod(0o555)


def _read_only_file_and_folder(home: Path) -> None:
    _read_only_file(home)
    _read_only_folder(home)


def _command(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of a user who may only what the permissions of files say."""
    command = without_root_rights([*M3, "--project", PROJECT, *arguments])
    return subprocess.run(command, env=environment(settings), capture_output=True, text=True, check=False)


def _assert_read_only(server: Server, memory_id: str) -> None:
    for mode in ("keyword", "vector", "hybrid"):
        assert server.found("release train", search_mode=mode) == [FACT], mode
    assert server.answered("memory_get", id=memory_id)["memory"]["content"] == FACT
    assert len(server.answered("memory_history", memory_id=memory_id)["events"]) == 1
    for tool, arguments in {
        "memory_write": {"content": "It leaves on Mondays", "type": "fact"},
        "memory_update": {"id": memory_id, "content": "It leaves on Mondays"},
        "memory_delete": {"id": memory_id},
    }.items():
        refused = server.refused(tool, **arguments)
        assert (refused["code"], bool(refused["hint"])) == ("store_read_only", True), refused
    assert server.found("release train") == [FACT]


@pytest.mark.case("B49")
@pytest.mark.parametrize("protect", [_read_only_file, _read_only_folder, _read_only_file_and_folder])
def test_a_store_without_write_permission_is_read_and_not_written(
    known: tuple[Settings, str], protect: Callable[[Path], None]
) -> None:
    settings, memory_id = known
    protect(settings.home)
    with Server(settings, confined=True) as server:
        _assert_read_only(server, memory_id)
    examined = _command(settings, "doctor", "--json")
    assert (examined.returncode, json.loads(examined.stdout)["counts"]["memories"]) == (0, 1)
    settings.home.chmod(0o700)
    (settings.home / "m3.db").chmod(0o600)
    with Server(settings, confined=True) as server:
        assert (
            server.answered("memory_write", content="The depot leaves its gates open", type="fact")["status"]
            == "created"
        )
    assert sound_counts(settings)["memories"] == 2


@pytest.mark.case("B49")
def test_a_folder_that_becomes_read_only_under_a_server_is_read_and_not_written(
    known: tuple[Settings, str],
) -> None:
    settings, memory_id = known
    with Server(settings, confined=True) as server:
        assert server.found("release train") == [FACT]
        _read_only_file_and_folder(settings.home)
        assert server.found("release train") == [FACT]
        with Server(settings, confined=True) as other:
            _assert_read_only(other, memory_id)


@pytest.mark.case("B49")
def test_a_read_only_store_with_unfinished_writes_explains_itself(home: Path) -> None:
    settings = Settings(home=home, embedder="hashing")
    with child(write_on, settings, 1, 20) as writer:
        note = writer.until("acknowledged")[-1]
        writer.killed()
    (home / "m3.db-shm").unlink()
    _read_only_file_and_folder(home)
    done = _command(settings, "memory", "search", note.mark)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "store_read_only" in done.stderr
    assert "writable" in done.stderr
    home.chmod(0o700)
    (home / "m3.db").chmod(0o600)
    with session(settings) as reader:
        found = answer(reader, "memory_search", query=note.mark, search_mode="keyword")["hits"]
        assert [hit["id"] for hit in found] == [note.memory_id]


@pytest.mark.case("B49")
def test_a_server_that_takes_no_writes_is_read_and_not_written(postgres_url: str, home: Path) -> None:
    settings = Settings(home=home, database_url=postgres_url, embedder="hashing")
    with session(settings) as writer:
        memory_id = answer(writer, "memory_write", content=FACT, type="fact")["id"]
    name = sql.Identifier(str(conninfo_to_dict(postgres_url)["dbname"]))
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
    with Server(settings) as server:
        _assert_read_only(server, memory_id)
