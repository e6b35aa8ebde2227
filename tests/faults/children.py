"""Processes that use the product until they are killed, forked from one that has everything imported.

What they do at their store's driver they announce, each step as one message in a pipe that outlives them.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import apsw
import psycopg

from m3_memory.config import Settings
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import SystemClock
from m3_memory.storage import open_database
from m3_memory.storage.dump import restore
from m3_memory.surfaces.worker.loop import run_once
from tests.callers import Agent
from tests.faults.products import PROJECT, answer, open_session
from tests.faults.vfs import FaultyDisk, killed

PATIENCE_SECONDS = 60.0
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [__name__, "m3_memory.inference.hashing", "m3_memory.storage.postgres", "m3_memory.storage.sqlite"]
)


@dataclass(frozen=True)
class Note:
    """Something a child has come to, at a moment of the monotonic clock that all processes share."""

    step: str
    at_seconds: float
    memory_id: str = ""
    mark: str = ""


class Child:
    """The test's end of such a process."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        """Starts a process that runs `work(pipe, *arguments)`."""
        self.pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=work, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()

    def note(self) -> Note:
        """The next thing it says; fails where nothing comes."""
        assert self.pipe.poll(PATIENCE_SECONDS), "the child says nothing"
        found = self.pipe.recv()
        assert isinstance(found, Note), found
        return found

    def until(self, step: str, times: int = 1) -> list[Note]:
        """All it says until it has come to this step so often."""
        notes: list[Note] = []
        while sum(note.step == step for note in notes) < times:
            notes.append(self.note())
        return notes

    def killed(self, after_seconds: float = 0.0) -> list[Note]:
        """Ends it as a power switch would, and returns what it had said until then."""
        self.process.join(after_seconds)
        self.process.kill()
        return self.rest()

    def rest(self) -> list[Note]:
        """All it says until it has ended."""
        notes: list[Note] = []
        try:
            while True:
                notes.append(self.note())
        except (EOFError, ConnectionResetError):
            return notes


@contextmanager
def child(work: Callable[..., None], *arguments: object) -> Generator[Child]:
    """A process for as long as the block lasts."""
    started = Child(work, *arguments)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.join()
        started.process.close()
        started.pipe.close()


def payload(rng: random.Random, words: int) -> tuple[str, str]:
    """A text of random words, and one of its words that no other text has."""
    mark = _word(rng, 14)
    return mark, " ".join([mark, *(_word(rng, 7) for _ in range(words))])


def write_on(pipe: Connection, settings: Settings, seed: int, words: int) -> None:
    """Writes memory after memory and does what they leave for later; says when each step begins and ends."""
    say = partial(_say, pipe)
    announce_transactions(say)
    rng = random.Random(seed)
    session = open_session(settings, "writer")
    while True:
        mark, content = payload(rng, words)
        say("asked")
        written = answer(session, "memory_write", content=content, type="note")
        assert written["status"] == "created"
        say("acknowledged", written["id"], mark)
        run_once(session.app)


def berths(first: int, count: int) -> list[dict[str, str]]:
    """So many items of a bulk write, from this number on."""
    return [
        {"content": f"Container {number} waits at berth {number % 97} for the crane", "type": "fact"}
        for number in range(first, first + count)
    ]


def write_many(pipe: Connection, settings: Settings, count: int, at_once: int) -> None:
    """Writes so many memories, in calls of `at_once`; says when each transaction and each call is done."""
    announce_transactions(partial(_say, pipe))
    session = open_session(settings, "writer")
    for first in range(0, count, at_once):
        told = answer(session, "memory_write_bulk", items=berths(first, at_once))
        assert told["failed"] == 0
        _say(pipe, "acknowledged")
    _say(pipe, "done")


def import_text(pipe: Connection, settings: Settings, path: str) -> None:
    """Imports what a file says, and says when each transaction begins and ends."""
    announce_transactions(partial(_say, pipe))
    session = open_session(settings, "importer")
    answer(session, "memory_import", data=Path(path).read_text(encoding="utf-8"))
    _say(pipe, "done")


def restore_whole(pipe: Connection, settings: Settings, path: str, key: bytes) -> None:
    """Restores a whole store from a file, and says when the transaction begins and ends."""
    announce_transactions(partial(_say, pipe))
    database = open_database(settings.store, SystemClock())
    _say(pipe, "opened")
    restore(database, lambda: Path(path).read_bytes().splitlines(keepends=True), key)
    _say(pipe, "done")


def write_and_die_before_the_answer(pipe: Connection, settings: Settings) -> None:
    """Writes a memory, and dies when the database has it."""

    def say(step: str) -> None:
        _say(pipe, step)
        if step == "committed":
            killed()

    session = open_session(settings, "writer")
    answer(session, "memory_search", query="ready")
    session.close()
    announce_transactions(say)
    say("asked")
    answer(session, "memory_write", content="The lighthouse is lit", type="fact")


def write_together(pipe: Connection, settings: Settings, agent: str, content: str) -> None:
    """Opens the store, and writes this text when told to."""
    session = open_session(settings, agent)
    answer(session, "memory_search", query="ready")
    _say(pipe, "ready")
    pipe.recv()
    written = answer(session, "memory_write", content=content, type="fact")
    _say(pipe, written["status"], written["id"])
    session.close()


def write_until_the_disk_kills(pipe: Connection, settings: Settings, at: int) -> None:
    """Writes a memory, and a second one in the middle of which it dies; says so if it does not."""
    disk = FaultyDisk()
    agent = _on_disk(settings, disk)
    _say(pipe, "before", agent.call("memory_write", content="The harbour opens at six", type="fact")["id"])
    with disk.failing(at, killed):
        _, content = payload(random.Random(at), 300)
        agent.call("memory_write", content=f"The harbour: {content}", type="fact")
    _say(pipe, "survived")


def open_until_the_disk_kills(pipe: Connection, settings: Settings, at: int) -> None:
    """Makes a store, and dies in the middle of it; says so if it does not."""
    disk = FaultyDisk()
    with disk.failing(at, killed):
        _on_disk(settings, disk)
    _say(pipe, "survived")


def _on_disk(settings: Settings, disk: FaultyDisk) -> Agent:
    settings.home.mkdir(exist_ok=True)
    database = open_database(settings.store, SystemClock(), vfs=disk.name)
    return Agent(database, SystemClock(), Caller("local", "writer", "session", project=PROJECT))


def announce_transactions(say: Callable[[str], None]) -> None:
    """From now on the drivers' connections say when a writing transaction begins, commits, and is committed.

    They also take their time over each statement, as on a slow machine: a moment chosen at random then falls
    inside a transaction more often than between two.
    """
    traced = apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE
    apsw.connection_hooks.append(lambda connection: connection.trace_v2(traced, partial(_traced, say)))
    psycopg.connect = partial(_connected, psycopg.connect, _announcing_cursor(say))


_BEFORE = {"COMMIT": "committing"}
_AFTER = {"BEGIN IMMEDIATE": "began", "BEGIN ISOLATION LEVEL READ COMMITTED": "began", "COMMIT": "committed"}


def _traced(say: Callable[[str], None], event: dict[str, Any]) -> None:
    is_done = event["code"] == apsw.SQLITE_TRACE_PROFILE
    _announce(say, event["sql"], _AFTER if is_done else _BEFORE)
    time.sleep(0.00005)


def _connected(
    connect: Callable[..., psycopg.Connection[Any]],
    cursor: type[psycopg.Cursor[Any]],
    address: str,
    **options: Any,
) -> psycopg.Connection[Any]:
    options.pop("cursor_factory", None)
    return connect(address, cursor_factory=cursor, **options)


def _announcing_cursor(say: Callable[[str], None]) -> type[psycopg.Cursor[Any]]:
    class Announcing(psycopg.RawCursor[Any]):
        def execute(self, query: Any, *arguments: Any, **options: Any) -> Announcing:
            _announce(say, query, _BEFORE)
            super().execute(query, *arguments, **options)
            _announce(say, query, _AFTER)
            time.sleep(0.001)
            return self

    return Announcing


def _announce(say: Callable[[str], None], statement: object, steps: dict[str, str]) -> None:
    for beginning, step in steps.items():
        if str(statement).startswith(beginning):
            say(step)


def forget_under(pipe: Connection, settings: Settings, id_: str, confirm: str, at: int) -> None:
    """Erases a memory as its operator, and is killed at that access to the disk, or ends."""
    disk = FaultyDisk()
    with closing(open_database(settings.store, SystemClock(), vfs=disk.name)) as database:
        person = Agent(database, SystemClock(), Caller("local", "cli", "s").as_operator(), home=settings.home)
        with disk.failing(at, killed):
            person.call("gdpr_forget", ids=[id_], confirm=confirm)
    _say(pipe, "done")


def _say(pipe: Connection, step: str, memory_id: str = "", mark: str = "") -> None:
    pipe.send(Note(step, time.monotonic(), memory_id, mark))


def _word(rng: random.Random, letters: int) -> str:
    return "".join(rng.choices(ascii_lowercase, k=letters))
