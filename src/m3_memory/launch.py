"""How this process was started: the flags before any command.

The server starts through this module, so it imports nothing that a bare `m3` does not need.
"""

from __future__ import annotations

_FLAGS = ("agent", "project", "store", "tools")


class Launch:
    """The flags of the launch; an empty text means not given. `surface` is what the flags lead to."""

    __slots__ = ("agent", "json", "project", "store", "surface", "tools")

    def __init__(
        self, agent: str = "", project: str = "", tools: str = "", json: bool = False, store: str = ""
    ) -> None:
        self.agent = agent
        self.project = project
        self.store = store
        self.tools = tools
        self.json = json
        self.surface = "mcp"


def read_launch(arguments: list[str]) -> tuple[Launch, list[str]]:
    """Reads the flags that come first; returns them and the rest, which begins with a command.

    Accepts `--name value`, `--name=value` and the switch `--json`; a flag that lacks its value stays in the
    rest.
    """
    launch = Launch()
    rest = list(arguments)
    while rest and rest[0].startswith("--"):
        name, equals, value = rest[0][2:].partition("=")
        if rest[0] == "--json":
            launch.json = True
            del rest[0]
        elif name in _FLAGS and equals:
            setattr(launch, name, value)
            del rest[0]
        elif name in _FLAGS and len(rest) > 1 and not rest[1].startswith("--"):
            setattr(launch, name, rest[1])
            del rest[:2]
        else:
            break
    return launch, rest
