"""Erasing at the command line: a person's passphrase, copies in our folders, and the probe that tells."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.terminal import Person
from tests.unit.git_folders import origin, repository

PASSPHRASE = "correct horse battery"
SECRET = "the vault opens with zqmarigold"
FOUND = 8

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is Unix's")


@pytest.fixture
def m3(tmp_path: Path) -> CommandLine:
    """A command line standing in a project, searching by words only."""
    return command_line(repository(tmp_path / "atlas", origin()))


@pytest.fixture
def person(m3: CommandLine) -> Person:
    """A person at a terminal, who set the passphrase."""
    found = Person(m3.folder, m3.environment)
    found.becomes_operator(PASSPHRASE)
    return found


def asked(person: Person, arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer to the tool, asked for by the person."""
    given = json.dumps(arguments)
    done = person.types("call", "gdpr_forget", given, "--json", answers=[PASSPHRASE])
    assert done.code == 0, done.shown
    found: dict[str, Any] = json.loads(done.shown[done.shown.index("{") :])
    return found


def probed(person: Person, *texts: str) -> int:
    return person.types("privacy", "probe", *texts, answers=[PASSPHRASE]).code


def test_what_a_person_erases_is_in_no_file_of_ours_and_comes_back_from_no_backup(
    m3: CommandLine, person: Person
) -> None:
    id_ = str(m3.run("memory", "write", SECRET).answer["id"])
    other = str(m3.run("memory", "write", "the vault is in the cellar").answer["id"])
    backup = Path(m3.run("backup").answer["backup"])
    kept = backup.parent.parent.parent / "kept-elsewhere.db"
    shutil.copy(backup, kept)
    assert probed(person, SECRET) == FOUND
    shown = asked(person, {"ids": [id_]})
    assert (shown["status"], shown["memories"]) == ("preview", 1)
    done = asked(person, {"ids": [id_], "confirm": shown["confirm"]})
    assert (done["status"], done["scrubbed"], done["left"]) == ("erased", True, [])
    assert str(backup) in done["removed"]
    assert not backup.exists()
    assert probed(person, SECRET, "zqmarigold") == 0
    assert probed(person, "the vault is in the cellar") == FOUND
    store = backup.parent.parent / "m3.db"
    for beside in store.parent.glob("m3.db-*"):
        beside.unlink()
    shutil.copy(kept, store)
    assert m3.run("memory", "get", id_).code == 4
    assert m3.run("memory", "get", other).answer["status"] == "current"
    assert m3.run("memory", "write", SECRET).code == 3
    assert probed(person, SECRET, "zqmarigold") == 0


def test_the_probe_names_the_memory_and_files_that_it_could_not_read(m3: CommandLine, person: Person) -> None:
    id_ = str(m3.run("memory", "write", SECRET).answer["id"])
    lost = Path(m3.environment["M3_HOME"]) / "lost.gz"
    lost.write_bytes(b"no such thing")
    found = person.types("privacy", "probe", SECRET, "--json", answers=[PASSPHRASE])
    told = json.loads(found.shown[found.shown.index("{") :])
    rows = [place for place in told["places"] if place["form"] == "row"]
    assert {place.get("memory_id") for place in rows} >= {id_}
    assert [place["form"] for place in told["places"] if place["place"] == str(lost)] == ["unreadable"]
    assert probed(person, "zqnowhere") == FOUND
    lost.unlink()
    assert probed(person, "zqnowhere") == 0


def test_a_program_neither_erases_nor_probes(m3: CommandLine, person: Person) -> None:
    id_ = str(m3.run("memory", "write", SECRET).answer["id"])
    for command in (
        ("call", "gdpr_forget", json.dumps({"ids": [id_]})),
        ("call", "gdpr_export", "{}"),
        ("privacy", "probe", SECRET),
    ):
        refused = m3.run(*command)
        assert (refused.code, refused.error["code"]) == (3, "needs_operator")
    assert person.types("privacy", "probe", SECRET, answers=["not the passphrase"]).code == 3
    assert m3.run("memory", "get", id_).answer["status"] == "current"
