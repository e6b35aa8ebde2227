"""Files and whole stores moved by commands, typed by a person or run by a program."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.domains.agents.service import operators
from m3_memory.kernel.clock import SystemClock
from m3_memory.launch import Launch
from m3_memory.storage import open_database
from m3_memory.surfaces.session import open_session
from tests.faults.products import answer
from tests.postgres import PostgresServer
from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.terminal import Person
from tests.unit.git_folders import repository

PASSPHRASE = "correct horse battery"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
FACTS = ("Releases leave on Tuesdays", "Ключ 鍵 🗝️ \u2028 e\u0301", f"The token is {SECRET}")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is Unix's")


@pytest.fixture
def programs(tmp_path: Path) -> CommandLine:
    """Programs that start `m3` in a project folder, without a terminal."""
    return command_line(repository(tmp_path / "atlas"), M3_EMBEDDER="hashing")


@pytest.fixture
def operator(programs: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Person:
    """The operator of a store that holds a few memories."""
    monkeypatch.setenv("M3_EMBEDDER", "hashing")
    session = open_session(Launch(agent="cli", project=str(programs.folder)))
    written = [answer(session, "memory_write", content=fact, type="fact") for fact in (*FACTS, "Deleted")]
    answer(session, "memory_delete", id=written[-1]["id"])
    caller, _ = session.app.caller_for(Launch(agent="cli"))
    operators.set_passphrase(session.app.context(caller), PASSPHRASE)
    session.close()
    return Person(programs.folder, programs.environment)


@pytest.fixture
def elsewhere(tmp_path: Path, postgres_server: PostgresServer) -> Generator[dict[str, dict[str, str]]]:
    """Variables that name an empty store of each engine."""
    url = postgres_server.create()
    yield {
        "sqlite": {"M3_HOME": str(tmp_path / "other home")},
        "postgres": {"M3_HOME": str(tmp_path / "third home"), "M3_DATABASE_URL": url},
    }
    postgres_server.drop(url)


def there(programs: CommandLine, variables: dict[str, str]) -> CommandLine:
    return CommandLine(programs.folder, programs.environment | variables)


def contents(programs: CommandLine) -> list[str]:
    lines = programs.run("export", "-").out.split("\n")
    found = [json.loads(line) for line in lines if line]
    return sorted(line["content"] for line in found if line["kind"] == "memory")


def whole(person: Person, file: Path) -> bytes:
    done = person.types("export", "--whole-store", str(file), answers=[PASSPHRASE])
    assert done.code == 0, done.shown
    return file.read_bytes()


@pytest.mark.case("B84")
def test_a_wiped_store_comes_back_equal_on_either_engine(
    operator: Person,
    programs: CommandLine,
    elsewhere: dict[str, dict[str, str]],
    tmp_path: Path,
) -> None:
    """Issue 3, point 2: `cmp` of two exports, by way of both engines, one after the other."""
    file = tmp_path / "whole.jsonl"
    first = whole(operator, file)
    assert whole(operator, tmp_path / "again.jsonl") == first
    before = contents(programs)
    for engine in ("postgres", "sqlite"):
        new = there(programs, elsewhere[engine])
        person = Person(new.folder, new.environment)
        done = person.types("--json", "restore", str(file), answers=[PASSPHRASE])
        assert done.code == 0, done.shown
        told: dict[str, Any] = json.loads(done.shown[done.shown.index("{") :])
        assert (told["memories"], told["ok"], told["faults"]) == (len(FACTS) + 1, True, [])
        file = tmp_path / f"{engine}.jsonl"
        assert whole(person, file) == first
        assert contents(new) == before
    said_again = new.run("memory", "write", FACTS[2], "--type", "fact").answer
    assert said_again["status"] == "duplicate"
    assert new.run("doctor").answer["ok"] is True


def test_a_whole_export_is_for_its_user_alone_and_replaces_nothing_unasked(
    operator: Person, programs: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "whole.jsonl"
    made = whole(operator, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = operator.types("export", "--whole-store", str(file), answers=[PASSPHRASE])
    assert (again.code, "--force" in again.shown) == (2, True)
    file.write_bytes(b"something else")
    assert operator.types("export", "--whole-store", "--force", str(file), answers=[PASSPHRASE]).code == 0
    assert file.read_bytes() == made
    assert [path.name for path in tmp_path.iterdir() if "unfinished" in path.name] == []
    assert PASSPHRASE.encode() not in made
    heading = json.loads(made.split(b"\n")[0])
    assert heading["seal"].keys() == {"method", "key", "proof"}
    for command in (["export", "--whole-store", str(tmp_path / "x")], ["move", str(tmp_path / "y")]):
        assert programs.run(*command).error["code"] == "needs_operator"
    assert operator.types("move", str(tmp_path / "y"), answers=["a wrong passphrase"]).code == 3
    assert not (tmp_path / "x").exists()
    narrowed = programs.run("export", "--whole-store", "--agent", "cli", str(tmp_path / "x"))
    assert narrowed.error["code"] == "invalid_argument"


def test_one_operator_of_several_takes_no_whole_store(operator: Person, tmp_path: Path) -> None:
    session = open_session(Launch(agent="cli"))
    caller, _ = session.app.caller_for(Launch(agent="cli"))
    operators.set_passphrase(session.app.context(replace(caller, user_id="bob")), "another long passphrase")
    session.close()
    for command in (["export", "--whole-store", str(tmp_path / "x")], ["move", str(tmp_path / "y")]):
        refused = operator.types(*command, answers=[PASSPHRASE])
        assert (refused.code, "needs_operator" in refused.shown) == (3, True)
    assert not list(tmp_path.glob("[xy]*"))


def test_a_whole_store_is_not_taken_for_what_is_imported(operator: Person, tmp_path: Path) -> None:
    file = tmp_path / "whole.jsonl"
    whole(operator, file)
    refused = operator.types("import", str(file), answers=[])
    assert (refused.code, "m3 restore" in refused.shown) == (2, True)


def test_a_restore_wants_the_passphrase_a_whole_file_and_an_empty_store(
    operator: Person, programs: CommandLine, elsewhere: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    file, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    cut.write_bytes(whole(operator, file)[:-100])
    new = there(programs, elsewhere["sqlite"])
    person = Person(new.folder, new.environment)
    damaged = person.types("restore", str(cut), answers=[PASSPHRASE])
    assert (damaged.code, "damaged_export" in damaged.shown) == (2, True), damaged.shown
    assert new.run("restore", str(tmp_path / "nowhere")).error["code"] == "file_unavailable"
    assert new.run("restore", str(file)).error["code"] == "needs_operator"
    wrong = person.types("restore", str(file), answers=["a wrong passphrase"])
    assert (wrong.code, "not the passphrase" in wrong.shown) == (3, True)
    assert contents(new) == []
    full = operator.types("restore", str(file), answers=[PASSPHRASE])
    assert (full.code, "4 memories" in full.shown, "of the export" in full.shown) == (3, True, False)
    assert person.types("operator", "init", answers=["what the new machine says"] * 2).code == 0
    assert person.types("restore", str(file), answers=["what the new machine says", PASSPHRASE]).code == 0
    assert contents(new) == contents(programs)
    assert person.types("export", "--whole-store", str(tmp_path / "b"), answers=[PASSPHRASE]).code == 0
    assert (tmp_path / "b").read_bytes() == file.read_bytes()


def test_a_store_moves_in_one_command(
    operator: Person, programs: CommandLine, elsewhere: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    before = whole(operator, tmp_path / "before.jsonl")
    places = {"sqlite": elsewhere["sqlite"]["M3_HOME"], "postgres": elsewhere["postgres"]["M3_DATABASE_URL"]}
    for engine, place in places.items():
        done = operator.types("--json", "move", place, answers=[PASSPHRASE])
        assert done.code == 0, done.shown
        told: dict[str, Any] = json.loads(done.shown[done.shown.index("{") :])
        assert ("M3_HOME=" if engine == "sqlite" else "database_url") in told["settings"]
        new = there(programs, elsewhere[engine])
        person = Person(new.folder, new.environment)
        assert whole(person, tmp_path / f"{engine}.jsonl") == before
        again = operator.types("move", place, answers=[PASSPHRASE] * 2)
        assert (again.code, "4 memories" in again.shown) == (3, True)
    assert whole(operator, tmp_path / "after.jsonl") == before
    itself = operator.types("move", programs.environment["M3_HOME"], answers=[PASSPHRASE])
    assert (itself.code, "invalid_argument" in itself.shown) == (2, True)


def test_nothing_moves_into_a_store_declared_read_only(
    operator: Person, programs: CommandLine, tmp_path: Path
) -> None:
    archive = tmp_path / "archive.db"
    open_database(archive, SystemClock()).close()
    declared = f"[stores.archive]\npath = {str(archive)!r}\n"
    settings = Path(programs.environment["M3_HOME"]) / "m3_config.toml"
    settings.write_text(f"{declared}read_only = true\n", encoding="utf-8")
    refused = operator.types("move", "archive", answers=[PASSPHRASE])
    assert ("read-only" in refused.shown, refused.code != 0) == (True, True), refused.shown
    settings.write_text(declared, encoding="utf-8")
    assert operator.types("move", "archive", answers=[PASSPHRASE]).code == 0


def test_devices_and_pipes_are_neither_replaced_nor_read(
    operator: Person, programs: CommandLine, tmp_path: Path
) -> None:
    """`m3 export /dev/null --force` by root must not put a file in its place."""
    pipe, file, link = tmp_path / "pipe", tmp_path / "file", tmp_path / "link"
    os.mkfifo(pipe)
    for command in (["export", "--force", str(pipe)], ["export", str(tmp_path)], ["import", str(pipe)]):
        assert programs.run(*command).error["code"] == "invalid_argument"
    assert pipe.is_fifo()
    file.touch()
    link.symlink_to(file)
    assert programs.run("export", "--force", str(link)).answer["memories"] == len(FACTS)
    assert (link.is_symlink(), file.read_bytes().count(b"\n")) == (True, len(FACTS) + 1)


@pytest.mark.usefixtures("operator")
def test_no_export_takes_the_place_of_a_store_or_a_backup(programs: CommandLine, tmp_path: Path) -> None:
    """A name typed wrong, with --force, was the end of every memory."""
    store, link = Path(programs.environment["M3_HOME"]) / "m3.db", tmp_path / "link"
    link.symlink_to(store)
    backup = Path(programs.run("backup").answer["backup"])
    kept = backup.read_bytes()
    for name in (store, link, backup):
        assert programs.run("export", "--force", str(name)).error["code"] == "invalid_argument"
    assert (backup.read_bytes(), sorted(contents(programs))) == (kept, contents(programs))
    assert len(contents(programs)) == len(FACTS)


def test_an_import_that_could_not_read_all_of_a_file_does_not_succeed(
    programs: CommandLine, tmp_path: Path
) -> None:
    prose, mixed, line = (
        tmp_path / "README.md",
        tmp_path / "mixed.jsonl",
        '{"content": "one", "type": "fact"}\n',
    )
    prose.write_text("# A project\n\nIt does things.\n")
    mixed.write_text(f"{line}cut o")
    for more in ([], ["--dry-run"]):
        refused = programs.run("import", str(prose), *more)
        assert (refused.code, refused.error["code"]) == (2, "damaged_export")
    some = programs.run("import", str(mixed))
    told = json.loads(some.out)
    assert (some.code, told["imported"], told["malformed"]) == (2, 1, 1)
    mixed.write_text(line)
    assert programs.run("import", str(mixed)).answer["unchanged"] == 1
    missing = programs.run("import", str(tmp_path / "nosuch"))
    assert (missing.code, missing.error["code"]) == (5, "file_unavailable")


def test_what_one_may_see_leaves_in_a_file_and_comes_in_from_it(
    operator: Person, programs: CommandLine, elsewhere: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    file = str(tmp_path / "mine.jsonl")
    code, shown = programs.on_terminal("export", "-")
    assert (code, "\u2028" in shown, "\\u2028" in shown) == (0, False, True)
    assert programs.run("export", str(tmp_path / "nowhere" / "x")).error["code"] == "file_unavailable"
    made = programs.run("export", file).answer
    assert (made["memories"], made["edges"]) == (len(FACTS), 0)
    new = there(programs, elsewhere["sqlite"])
    person = Person(new.folder, new.environment)
    assert new.run("import", file, "--dry-run").answer["imported"] == len(FACTS)
    assert new.run("import", file).answer["trust_state"] == "candidate"
    assert contents(new) == []
    assert new.run("import", file).answer["unchanged"] == len(FACTS)
    assert new.run("import", "--operator", file).error["code"] == "needs_operator"
    assert programs.run("export", "--type", "note", str(tmp_path / "notes")).answer["memories"] == 0
    assert programs.run("export", "--type", "opinion", "-").error["code"] == "invalid_argument"
    assert programs.run("export", "--since", "then", "-").error["code"] == "invalid_time"
    third = there(programs, {"M3_HOME": str(tmp_path / "fourth home")})
    person = Person(third.folder, third.environment)
    person.becomes_operator(PASSPHRASE)
    done = person.types("import", "--operator", file, answers=[PASSPHRASE])
    assert done.code == 0, done.shown
    assert contents(third) == contents(programs)
    found = third.run("memory", "search", "releases tuesdays").answer["hits"]
    assert [hit["content"] for hit in found][:1] == [FACTS[0]]
