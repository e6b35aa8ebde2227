"""A person at a terminal: real processes whose controlling terminal is a pseudo-terminal of the test's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PATIENCE_SECONDS = 60
_TAKES_THE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " os.execv(sys.executable, [sys.executable, '-m', 'm3_memory', *sys.argv[1:]])"
)


@dataclass(frozen=True)
class Typed:
    """What a command came to, and all that the terminal showed."""

    code: int
    shown: str


@dataclass(frozen=True)
class Person:
    """Runs `m3` at a terminal, in a folder."""

    folder: Path
    environment: dict[str, str]

    def types(self, *command: str, answers: Sequence[str] = ()) -> Typed:
        """Runs a command; each question, a line that stands open, gets the next answer."""
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", _TAKES_THE_TERMINAL, *command],
            cwd=self.folder,
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        try:
            shown = _talk(ours, list(answers))
            return Typed(process.wait(_PATIENCE_SECONDS), shown.decode().replace("\r\n", "\n"))
        finally:
            process.kill()
            process.wait()
            os.close(ours)


def _talk(terminal: int, answers: list[str]) -> bytes:
    """Reads until nobody writes any more; who asks once too often is told that no line will come."""
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
            if shown.endswith((b": ", b"/N] ")):
                os.write(terminal, f"{answers.pop(0)}\n".encode() if answers else b"\x04")
    except OSError:
        pass  # how a terminal says that nobody writes any more
    return shown
