"""A process that uses a store beside the test: `python -m tests.storage.holder VERB LOCATION`.

It says what it has done, a word a line, and goes on for each line it is told. Started through `Holder`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from m3_memory.errors import M3Error
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.database import Database
from tests.storage.rows import remember

ROOT = Path(__file__).resolve().parents[2]


class Holder:
    """The test's end of such a process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def says(self) -> str:
        """The next word; empty once it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def go_on(self) -> None:
        """Lets it take its next step."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """Ends it as a power switch would."""
        self._process.kill()
        self._process.wait()


@contextmanager
def holder(verb: str, location: str, user_id: str = "local") -> Generator[Holder]:
    """A process that does the verb on the store for as long as the block lasts."""
    command = [sys.executable, "-m", "tests.storage.holder", verb, location, user_id]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Holder(process)
        finally:
            process.kill()


def _hold(database: Database, user_id: str) -> None:
    """Writes, and commits when told to."""
    with database.write(user_id) as writer:
        remember(writer, "held")
        _step("held")
    print("committed", flush=True)


def _exclude(database: Database, user_id: str) -> None:
    with database.exclusive("drain") as mine:
        _step(str(mine))


def _stay(database: Database, user_id: str) -> None:
    """Opens the store, and writes when told to."""
    _step("open")
    try:
        with database.write(user_id) as writer:
            remember(writer, "late")
    except M3Error as error:
        print(error.code, flush=True)
    else:
        print("written", flush=True)


def _step(word: str) -> None:
    print(word, flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    verb, location, user = sys.argv[1:]
    opened = open_database(location, ManualClock())
    {"hold": _hold, "exclude": _exclude, "stay": _stay}[verb](opened, user)
    opened.close()
