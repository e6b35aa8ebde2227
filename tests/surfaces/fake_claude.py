"""Behaves as the `claude` program does for `mcp add` and `mcp remove`, on its file of the user's home.

It writes the file anew in a style of its own, refuses a name that is there, and leaves a line for every call.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

HOME = Path(os.environ["HOME"])
FILE = Path(os.environ.get("CLAUDE_CONFIG_DIR") or HOME) / ".claude.json"
REFUSING = HOME / "claude-refuses"
COUNTING = HOME / "claude-counts"


def main(words: list[str]) -> int:
    with (HOME / "claude-calls").open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(words) + "\n")
    settings: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if REFUSING.exists():
        return _refuse(settings)
    if COUNTING.exists():
        settings["numStartups"] += 1
    servers: dict[str, Any] = settings.setdefault("mcpServers", {})
    if words[:4] == ["mcp", "add", "--scope", "user"]:
        name, entry = _entry(words[4:])
        if name in servers:
            return _fail(f"MCP server {name} already exists in user config")
        servers[name] = entry
    elif words[:4] == ["mcp", "remove", "--scope", "user"]:
        if servers.pop(words[4], None) is None:
            return _fail(f"No MCP server found with name: {words[4]}")
    else:
        return _fail(f"unknown command {words}")
    FILE.write_text(json.dumps(settings, indent=2, ensure_ascii=False), encoding="utf-8", newline="")
    return 0


def _entry(words: list[str]) -> tuple[str, dict[str, Any]]:
    """`NAME [--env K=V]… -- COMMAND ARGUMENTS…`."""
    name, rest = words[0], words[1:]
    end = rest.index("--")
    flags, (command, *arguments) = rest[:end], rest[end + 1 :]
    environment = dict(given.split("=", 1) for given in flags[1::2])
    return name, {"type": "stdio", "command": command, "args": arguments, "env": environment}


def _refuse(settings: dict[str, Any]) -> int:
    """Fails, having counted the start."""
    settings["numStartups"] += 1
    FILE.write_text(json.dumps(settings), encoding="utf-8")
    return _fail("this build is broken")


def _fail(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
