"""What the person at the terminal sees: one line a question, one line its answer."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

_MARGIN = 16
_NARROWEST = 24
_COLOURS = {"ok": "\x1b[32m", "WRONG": "\x1b[1;31m", "head": "\x1b[1m", "faint": "\x1b[2m"}


@dataclass(frozen=True)
class Checked:
    """One thing that was tried, what came of it, and whether that was right."""

    ok: bool
    milliseconds: float
    asked: str
    answered: str
    why: str = ""


class Screen:
    """Prints to standard output, in colour only where a person reads it, and counts what was wrong."""

    def __init__(self) -> None:
        self._coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self._width = min(shutil.get_terminal_size((118, 40)).columns, 140)
        self.checks = 0
        self.wrong = 0

    def title(self, text: str, about: str = "") -> None:
        print(
            f"\n{self._painted('head', text)}{'  ' + self._painted('faint', about) if about else ''}",
            flush=True,
        )

    def fact(self, text: str) -> None:
        print(f"{'':{_MARGIN}}{text}", flush=True)

    def show(self, checked: Checked) -> None:
        """A check: whether it is right, how long it took, the question and the reason; then the answer."""
        self.checks += 1
        self.wrong += not checked.ok
        verdict = "ok" if checked.ok else "WRONG"
        asked = self._cut(checked.asked, _MARGIN)
        why = self._cut(f"  {checked.why}", _MARGIN + len(asked)) if checked.why else ""
        print(
            f"{self._painted(verdict, f'{verdict:>5}')}{checked.milliseconds:6.0f} ms  {asked}"
            f"{self._painted('faint', why)}"
        )
        answered = self._cut(checked.answered, _MARGIN) if checked.ok else checked.answered
        print(f"{'':{_MARGIN}}{self._painted('head', answered)}", flush=True)

    def _painted(self, colour: str, text: str) -> str:
        return f"{_COLOURS[colour]}{text}\x1b[0m" if self._coloured else text

    def _cut(self, text: str, taken: int) -> str:
        """The text on one line of what room is left beside what is taken."""
        line = " ".join(text.splitlines())
        room = max(_NARROWEST, self._width - taken)
        return line if len(line) <= room else f"{line[: room - 1]}…"
