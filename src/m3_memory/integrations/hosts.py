"""The hosts that `m3 setup` can wire: how each is found, where its servers stand, what an entry looks like.

A host is a row of `HOSTS`. Paths are below the user's home, or, where the host says so, below the folder that
one of its variables names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SERVER_NAME = "m3"
"""Letters, digits and hyphens only: some hosts make more of an underscore."""

_VARIABLES = ("M3_HOME",)
_PROGRAM = re.compile(r"(?:m3|mcp-memory)(?:\.exe|\.cmd)?")


class Location(NamedTuple):
    """A path below the home; or, where `variable` is set, `when_moved` below the folder it names."""

    path: str
    variable: str = ""
    when_moved: str = ""

    def below(self, home: Path, variables: Mapping[str, str]) -> Path:
        """Where that is for this user; `variables` holds those that are set."""
        if moved := variables.get(self.variable):
            return home / moved / self.when_moved
        return home / self.path


class Entry(NamedTuple):
    """How a host starts the server."""

    command: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


class OwnCommand(NamedTuple):
    """A host's own command that adds to its list of servers, in words.

    `NAME`, `COMMAND` and `ARGUMENTS` stand for those of the entry, `ENVIRONMENT` for `variable_flag`
    and NAME=VALUE, as often as needed.
    """

    program: str
    add: tuple[str, ...]
    variable_flag: str

    def adding(self, entry: Entry) -> list[str]:
        """The words that add the entry."""
        meant = {
            "NAME": (SERVER_NAME,),
            "COMMAND": (entry.command,),
            "ARGUMENTS": entry.arguments,
            "ENVIRONMENT": [
                word for pair in entry.environment for word in (self.variable_flag, "=".join(pair))
            ],
        }
        return [word for given in self.add for word in meant.get(given, (given,))]


@dataclass(frozen=True, slots=True)
class Host:
    """One host. `name` is also the agent that its servers are.

    `programs` on the PATH and `applications`, full paths, tell that it is installed, `folder` that it was
    used. `servers` is the key under which its file holds them, `fixed` what an entry holds besides.
    `project` is the host's own variable for the folder it works in; empty where its servers learn it anyway.
    `start_seconds` is how long it lets a server start. `then` says what a person does next.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    folder: Location
    file: Location
    servers: str
    start_seconds: float
    then: str
    applications: tuple[str, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])
    project: str = ""
    own_command: OwnCommand | None = None

    def entry(self, command: str, environment: Mapping[str, str]) -> Entry:
        """What starts the server as this host's agent, in the folder the host works in."""
        project = ("--project", self.project) if self.project else ()
        return Entry(command, ("--agent", self.name, *project), tuple(environment.items()))

    @property
    def entry_path(self) -> tuple[str, str]:
        """The keys under which its file holds our entry."""
        return (self.servers, SERVER_NAME)

    def updated(self, stored: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
        """What the host's file must hold to start what `entry` starts, where it holds `stored` now.

        What a person added, such as a time limit or other variables, stays.
        """
        held = _object(stored.get("env")).items()
        environment = {name: value for name, value in held if name not in _VARIABLES} | dict(
            entry.environment
        )
        made: dict[str, Any] = {**self.fixed, **stored, **self.fixed}  # in that order, with these values
        made |= {"command": entry.command, "args": list(entry.arguments)}
        return made | ({"env": environment} if environment or "env" in stored else {})

    def is_ours(self, stored: object) -> bool:
        """Whether an entry of our name starts this product, whoever wrote it."""
        entry = _object(stored)
        program = re.split(r"[/\\]", str(entry.get("command")))[-1].lower()
        return _PROGRAM.fullmatch(program) is not None or "m3_memory" in str(entry.get("args"))


def _object(value: object) -> dict[str, Any]:
    """A value that should be an object; anything else counts as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


# Facts and their sources: the vendors' pages of 2026. Claude Code tells its servers the project by a variable
# of theirs and starts them there; Cursor starts them elsewhere and replaces variables in `args`.
HOSTS: tuple[Host, ...] = (
    Host(
        name="claude-code",
        title="Claude Code",
        programs=("claude",),
        folder=Location(".claude", "CLAUDE_CONFIG_DIR"),
        file=Location(".claude.json", "CLAUDE_CONFIG_DIR", ".claude.json"),
        servers="mcpServers",
        fixed={"type": "stdio"},
        start_seconds=30.0,
        then="start a new session, or run /mcp in one",
        own_command=OwnCommand(
            program="claude",
            add=("mcp", "add", "--scope", "user", "NAME", "ENVIRONMENT", "--", "COMMAND", "ARGUMENTS"),
            variable_flag="--env",
        ),
    ),
    Host(
        name="cursor",
        title="Cursor",
        programs=("cursor", "cursor-agent"),
        applications=("/Applications/Cursor.app",),
        folder=Location(".cursor"),
        file=Location(".cursor/mcp.json"),
        servers="mcpServers",
        project="${workspaceFolder}",
        start_seconds=10.0,
        then="see that m3 is switched on in Settings, Tools & MCP",
    ),
)
