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
    " os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
_STRETCHES_LITTLE = (
    "import sys; from m3_memory.domains.agents.service import operators;"
    " operators.PARAMETERS = 'scrypt:16:8:1'; from m3_memory.__main__ import main; sys.exit(main())"
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
        return self._talks(["-m", "m3_memory", *command], answers)

    def becomes_operator(self, passphrase: str) -> None:
        """Sets the passphrase, whose proof then costs a test no third of a second each time."""
        done = self._talks(["-c", _STRETCHES_LITTLE, "operator", "init"], [passphrase, passphrase])
        assert done.code == 0, done.shown

    def _talks(self, arguments: list[str], answers: Sequence[str]) -> Typed:
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", _TAKES_THE_TERMINAL, *arguments],
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
