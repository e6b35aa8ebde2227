"""Copies of what was erased: ours go, or are named where they hold others' memories or nobody can tell."""

from __future__ import annotations

import gzip
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import ledger, open_database
from m3_memory.storage.backup import back_up, backups_in
from m3_memory.storage.probe import UNREAD, probe_files
from tests.callers import Agent

SECRET = "the vault opens with zqmarigold"


@pytest.fixture
def agent(tmp_path: Path) -> Generator[Agent]:
    """An agent at a store in a home folder, with a folder of exports beside it."""
    clock = ManualClock()
    (tmp_path / "exports").mkdir()
    with closing(open_database(tmp_path / "m3.db", clock)) as database:
        caller = Caller("local", "claude", "session-1", project="atlas")
        yield Agent(database, clock, caller, home=tmp_path)


def write(agent: Agent, content: str, **more: object) -> str:
    found: str = agent.call("memory_write", content=content, **{"type": "fact", **more})["id"]
    return found


def forget(agent: Agent, *ids: str, **how: object) -> dict[str, Any]:
    """The erasure, as a person does it; the clock goes on before it."""
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(1)
    person = replace(agent, caller=agent.caller.as_operator())
    confirm = person.call("gdpr_forget", ids=[*ids])["confirm"]
    return person.call("gdpr_forget", ids=[*ids], confirm=confirm, **how)


def exported(agent: Agent, name: str, text: str | bytes) -> Path:
    path = agent.home / "exports" / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("other", [SECRET, f"Bridge says that {SECRET} and a key"])
def test_a_backup_made_anew_stays_though_others_say_the_same(agent: Agent, other: str) -> None:
    folder = agent.home / "backups"
    id_ = write(agent, SECRET)
    stays = write(agent.who(project="bridge"), other)
    old, export = back_up(agent.database, folder), exported(agent, "mine.jsonl", SECRET)
    done = forget(agent, id_)
    (made,) = backups_in(folder)
    assert sorted(done["removed"]) == sorted([str(old), str(export)])
    assert str(made.path) in done["left"]
    with closing(open_database(made.path, agent.clock)) as copy:
        back = replace(agent, database=copy)
        assert back.refusal("memory_get", id=id_)["code"] == "not_found"
        assert back.who(project="bridge").call("memory_get", id=stays)["status"] == "current"


def test_backups_of_another_store_are_named_and_never_removed(agent: Agent) -> None:
    with closing(open_database(agent.home / "other.db", agent.clock)) as other:
        write(replace(agent, database=other), SECRET)
        theirs = back_up(other, agent.home / "backups")
    done = forget(agent, write(agent, SECRET))
    assert (str(theirs) in done["left"], theirs.exists()) == (True, True)


@pytest.mark.parametrize("damage", ["cut off", "garbled"])
def test_a_damaged_file_is_named_and_keeps_no_other_from_going(agent: Agent, damage: str) -> None:
    packed = gzip.compress(b"".join(str(n).encode() for n in range(90_000)))
    broken = packed[: len(packed) // 2] if damage == "cut off" else packed[:20] + b"\xff" * 50 + packed[70:]
    lost = exported(agent, "a.gz", broken)
    copy, whole = exported(agent, "z.jsonl", SECRET), exported(agent, "m.gz", gzip.compress(SECRET.encode()))
    kept = exported(agent, "kept.gz", gzip.compress(b"of something else"))
    done = forget(agent, write(agent, SECRET))
    assert sorted(done["removed"]) == sorted([str(copy), str(whole)])
    assert (done["scrubbed"], done["left"]) == (True, [str(lost)])
    assert [trace.form for trace in probe_files([lost, kept], [SECRET])] == [UNREAD]


def test_titles_and_metadata_are_looked_for_and_what_is_too_short_is_named(agent: Agent) -> None:
    told = {"title": "The title of zqviolet", "metadata": {"account": ["DE89 3704 zqaster"], "n": 7}}
    sure = [exported(agent, "a", f"x {told['title']}"), exported(agent, "b", "x DE89 3704 zqaster x")]
    perhaps, other = exported(agent, "c", "PIN is 47"), exported(agent, "d", "nothing of the kind")
    done = forget(agent, write(agent, SECRET, **told), write(agent, "PIN is 47"))
    assert sorted(done["removed"]) == sorted(map(str, sure))
    assert (str(perhaps) in done["left"], other.exists(), str(other) in done["left"]) == (True, True, False)


def test_what_was_not_looked_for_is_said(agent: Agent) -> None:
    ids = [write(agent, f"zqrow number {n} {'x' * (300 - n)}") for n in range(210)]
    export = exported(agent, "last", "zqrow number 209")
    done = forget(agent, *ids)
    assert (export.exists(), str(export) in done["left"]) == (True, True)
    assert any("210" in said for said in done["warnings"])


def test_backups_that_a_person_keeps_stay(agent: Agent) -> None:
    id_ = write(agent, SECRET)
    kept, export = back_up(agent.database, agent.home / "backups"), exported(agent, "mine", SECRET)
    done = forget(agent, id_, keep_backups=True)
    assert (kept.exists(), export.exists(), done["removed"]) == (True, True, [])
    assert {str(kept), str(export)} <= set(done["left"])


@pytest.mark.parametrize("noise", [b"\n\xff\xfe garbage\n", b"\n" + b"[" * 200_000 + b"\n", b"\n7\n"])
def test_a_damaged_ledger_is_told_and_keeps_nobody_out(agent: Agent, noise: bytes) -> None:
    copy = agent.home / "copy.db"
    id_ = write(agent, SECRET)
    agent.database.dialect.copy_to(copy)
    assert agent.database.heads.path
    path = agent.database.heads.path.with_suffix(".erased")
    path.write_bytes(noise)
    forget(agent, id_)
    assert ledger.reconcile(agent.database) == 0
    (told,) = ledger.unread(agent.database)
    assert str(path) in told
    with closing(open_database(copy, agent.clock, heads=agent.database.heads.path)) as older:
        assert ledger.reconcile(older) == 1
    path.write_bytes(path.read_bytes().replace(noise, b""))
    assert ledger.unread(agent.database) == []
