"""The command line as a program that other programs start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "m3_memory")


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        """The JSON on standard output of a command that succeeded and said nothing else."""
        assert (self.code, self.err) == (0, "")
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The JSON on standard error of a command that failed and printed nothing."""
        assert self.out == ""
        assert self.code != 0
        found: dict[str, str] = json.loads(self.err)
        assert set(found) == {"code", "message", "hint"}
        return found


@dataclass(frozen=True)
class CommandLine:
    """Runs `m3` in a folder, with this environment and no other."""

    folder: Path
    environment: dict[str, str]
    command: tuple[str, ...] = COMMAND

    def run(self, *arguments: str, stdin: str = "") -> Done:
        """Runs to the end; half a surrogate pair stands for a byte that is no text."""
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.folder,
            env=self.environment,
            input=stdin.encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
            timeout=60,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def on_terminal(self, *arguments: str) -> tuple[int, str]:
        """Runs with a terminal as its output; returns the exit code and what the terminal was sent."""
        ours, theirs = os.openpty()
        with subprocess.Popen(
            [*self.command, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            sent = b""
            try:
                while piece := os.read(ours, 65536):
                    sent += piece
            except OSError:
                pass  # how a terminal says that nobody writes any more
            code = process.wait()
        os.close(ours)
        return code, sent.decode().replace("\r\n", "\n")


def command_line(folder: Path, **variables: str) -> CommandLine:
    """A command line in `folder`, started by no host, with the home folder of the test."""
    environment = {"M3_HOME": os.environ["M3_HOME"], "M3_EMBEDDER": "off", "HOME": str(folder / "user")}
    return CommandLine(folder, environment | {"PATH": os.environ["PATH"]} | variables)
