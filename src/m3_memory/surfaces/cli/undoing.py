"""`m3 undo`: the call of memory_undo, shown before it is made."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from m3_memory.errors import InvalidArgument
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.command import answer, called, confirmed

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Doors, Session

TOOL = "memory_undo"


def run(launch: Launch, given: Namespace, doors: Doors) -> int:
    """Undoes what the arguments name, or, with `dry_run`, says what that would be.

    Without `yes` a person at the terminal sees that first, and says yes or no. Raises InvalidArgument
    where nobody can be asked.
    """
    arguments = {name: value for name, value in vars(given).items() if value and name not in ("yes", "json")}
    with closing(doors.open_session(launch)) as session:
        if not given.yes and not arguments.get("dry_run") and not _agreed(launch, session, arguments):
            output.print_text("Nothing was undone.")
            return 0
        _tell(launch, session, arguments)
    return 0


def _agreed(launch: Launch, session: Session, arguments: Mapping[str, Any]) -> bool:
    if launch.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidArgument(
            "nobody is there to be asked whether to undo this",
            "add --dry-run to see what would be undone, and --yes to do it",
        )
    found = _tell(launch, session, {**arguments, "dry_run": True})
    sys.stdout.flush()
    return found != "nothing" and confirmed("Undo this?", default=False)


def _tell(launch: Launch, session: Session, arguments: Mapping[str, Any]) -> str:
    """The call's status, once its answer is shown."""
    outcome = called(session, TOOL, arguments)
    told = outcome.structured or {}
    answer(launch, told, TOOL, outcome.text.rpartition("\n")[0])
    return told.get("status", "")
