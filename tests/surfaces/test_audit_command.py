"""`m3 audit` as programs and people use it: exit codes, answers, a file that is checked without us."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from m3_memory.surfaces.cli.audit import BROKEN, DIFFERENT, WHOLE
from tests.faults.tampering import Attacker
from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.terminal import Person
from tests.unit.git_folders import repository

PASSPHRASE = "correct horse battery"


@pytest.fixture
def programs(tmp_path: Path) -> CommandLine:
    """Programs in a project folder, where two memories were written."""
    made = command_line(repository(tmp_path / "atlas"))
    for content in ("The release train leaves on Fridays", "The office has a cat"):
        assert made.run("memory", "write", content, "--type", "fact").code == 0
    return made


def test_the_exit_code_tells_whether_history_and_memories_are_whole(
    programs: CommandLine, home: Path
) -> None:
    attacker = Attacker(str(home / "m3.db"), home / "m3.db.head")
    whole = programs.run("audit", "verify")
    assert (whole.code, whole.answer["ok"], whole.answer["users"][0]["events"]) == (WHOLE, True, 2)
    attacker.run("UPDATE memory_validity SET trust_state = 'verified'")
    changed = programs.run("audit", "verify")
    assert (changed.code, json.loads(changed.out)["history_is_whole"]) == (DIFFERENT, True)
    attacker.run("UPDATE memory_history SET reason = 'as agreed' WHERE sequence = 1")
    broken = programs.run("audit", "verify")
    (flaw, _) = json.loads(broken.out)["users"][0]["flaws"]
    assert (broken.code, flaw["kind"], flaw["where"]) == (BROKEN, "changed", "event 1")
    code, shown = programs.on_terminal("audit", "verify")
    assert (code, "at event 1: an event was changed" in shown, "not all is whole" in shown) == (6, True, True)
    assert {WHOLE, BROKEN, DIFFERENT} == {0, 6, 7}


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is Unix's")
def test_an_exported_history_is_checked_without_this_program(programs: CommandLine) -> None:
    """By what docs/audit.md says of it, and no more."""
    person = Person(programs.folder, programs.environment)
    person.becomes_operator(PASSPHRASE)
    assert person.types("audit", "export", "history.jsonl", answers=[PASSPHRASE]).code == 0
    text = (programs.folder / "history.jsonl").read_text()
    heading, *events = map(json.loads, text.splitlines())
    previous = "0" * 64
    for event in events:
        fields = [heading["owner"], *(event[name] for name in heading["chained"])]
        assert event["previous_hash"] == previous
        previous = hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()
        assert event["hash"] == previous
    assert heading["head"] == heading["noted_head"] == [3, previous]
    assert "Fridays" not in text
    again = person.types("audit", "export", "history.jsonl", answers=[PASSPHRASE])
    assert (again.code, "--force" in again.shown) == (2, True)
