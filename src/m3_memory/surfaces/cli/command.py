"""What every command of the command line is given, and how it answers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.person import lines_for

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Mapping, Sequence

    from m3_memory.app import App
    from m3_memory.catalog.dispatch import Outcome
    from m3_memory.context import Context
    from m3_memory.integrations.hosts import Host
    from m3_memory.kernel.caller import Caller
    from m3_memory.launch import Launch

    Answer = Mapping[str, Any]


class Session(Protocol):
    """The product behind this process."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome: ...
    def as_operator(self, prove: Callable[[App, Caller], Caller]) -> Session: ...
    def close(self) -> None: ...


class Doors(NamedTuple):
    """What the process hands to the command line, which knows no other surface."""

    open_session: Callable[[Launch], Session]
    work_once: Callable[[App], Mapping[str, Any]]
    examine: Callable[[Context], Mapping[str, Any]]
    hosts: Callable[[], Sequence[Host]]


@dataclass(frozen=True, slots=True)
class Command:
    """One command that is no tool; `run` returns the answer, or the exit code of what it printed itself.

    `arguments` are what its parser is told, by name.
    """

    usage: str
    summary: str
    run: Callable[[Launch, Namespace, Doors], Answer | int]
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


def called(session: Session, tool: str, arguments: Mapping[str, Any]) -> Outcome:
    """What the tool answers. Raises its error."""
    outcome = session.call(tool, arguments)
    if outcome.error is not None:
        raise outcome.error
    return outcome


def answer(launch: Launch, structured: Answer, tool: str = "", headline: str = "") -> None:
    """Prints a structured answer: JSON for programs, lines for a person at a terminal."""
    if launch.json or not sys.stdout.isatty():
        output.print_json(structured)
    else:
        output.print_text("\n".join(lines_for(tool, headline, structured)))


def confirmed(question: str, default: bool) -> bool:
    """Whether the person says yes; an empty line is `default`, the end of input is no."""
    line = output.asked(f"{question} [{'Y/n' if default else 'y/N'}]: ")
    said = (line or "").strip().lower()
    return said in ("y", "yes") if said else default and line is not None
