"""`m3` and `python -m m3_memory`: the MCP server if no command is named, else the command line."""

from __future__ import annotations

import sys

from m3_memory.launch import Launch, read_launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from m3_memory.app import App
    from m3_memory.context import Context
    from m3_memory.integrations.hosts import Host
    from m3_memory.surfaces.session import Session


def main() -> int:
    """Does what this process's arguments ask for; returns its exit code."""
    launch, command = read_launch(sys.argv[1:])
    if not command:
        _serve(launch)
    from m3_memory.surfaces.cli.command import Doors
    from m3_memory.surfaces.cli.main import run

    return run(launch, command, Doors(_open_session, _work_once, _examine, _hosts))


def _serve(launch: Launch) -> None:
    from m3_memory.surfaces.mcp.serve import serve

    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("m3: waiting for an MCP client on standard input; m3 --help tells the commands\n")
    serve(launch, _open_working_session)


def _open_session(launch: Launch) -> Session:
    from m3_memory.surfaces.session import open_session

    return open_session(launch)


def _open_working_session(launch: Launch) -> Session:
    """A session that also works off what waits, once it has loaded the model anyway."""
    from m3_memory.surfaces.session import open_session
    from m3_memory.surfaces.worker.loop import BackgroundWork

    return open_session(launch, BackgroundWork().after_call)


def _work_once(app: App) -> Mapping[str, Any]:
    from m3_memory.surfaces.worker.loop import work_once

    return work_once(app)


def _examine(context: Context) -> Mapping[str, Any]:
    from dataclasses import asdict

    from m3_memory.domains.system.service import examine

    return asdict(examine(context))


def _hosts() -> Sequence[Host]:
    from m3_memory.integrations.hosts import HOSTS

    return HOSTS


if __name__ == "__main__":
    sys.exit(main())
