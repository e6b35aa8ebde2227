"""`m3 undo`: the call of memory_undo, shown before it is made."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from m3_memory.errors import InvalidArgument
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.command import answer, confirmed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Doors, Session

TOOL = "memory_undo"


def run(launch: Launch, arguments: Mapping[str, Any], doors: Doors, *, unasked: bool) -> None:
    """Undoes what the arguments name, or, with `dry_run`, says what that would be.

    Unless `unasked`, a person at the terminal sees that first, and says yes or no. Raises InvalidArgument
    where nobody can be asked.
    """
    with closing(doors.open_session(launch)) as session:
        if not unasked and not arguments.get("dry_run") and not _agreed(launch, session, arguments):
            output.print_text("Nothing was undone.")
            return
        answer(launch, *_called(session, arguments))


def _agreed(launch: Launch, session: Session, arguments: Mapping[str, Any]) -> bool:
    if launch.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidArgument(
            "nobody is there to be asked whether to undo this",
            "add --dry-run to see what would be undone, and --yes to do it",
        )
    answer(launch, *_called(session, {**arguments, "dry_run": True}))
    sys.stdout.flush()
    return confirmed("Undo this?", default=False)


def _called(session: Session, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str, str]:
    outcome = session.call(TOOL, arguments)
    if outcome.error is not None:
        raise outcome.error
    return outcome.structured or {}, TOOL, outcome.text.rpartition("\n")[0]
