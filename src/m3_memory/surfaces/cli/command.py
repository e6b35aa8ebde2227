"""What every command of the command line is given, and how it answers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.person import lines_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from m3_memory.app import App
    from m3_memory.catalog.dispatch import Outcome
    from m3_memory.context import Context
    from m3_memory.launch import Launch


class Session(Protocol):
    """The product behind this process."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome: ...
    def close(self) -> None: ...


class Doors(NamedTuple):
    """What the process hands to the command line, which knows no other surface."""

    open_session: Callable[[Launch], Session]
    work_once: Callable[[App], Mapping[str, Any]]
    examine: Callable[[Context], Mapping[str, Any]]


class Command(NamedTuple):
    """One command that is no tool."""

    usage: str
    summary: str
    run: Callable[[Launch, Sequence[str], Doors], int]


def answer(launch: Launch, structured: Mapping[str, Any], tool: str = "", headline: str = "") -> None:
    """Prints a structured answer: JSON for programs, lines for a person at a terminal."""
    if launch.json or not sys.stdout.isatty():
        output.print_json(structured)
    else:
        output.print_text("\n".join(lines_for(tool, headline, structured)))
