"""The proof of an entry: started as its host starts it, the server answers the handshake and lists tools."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from m3_memory import __version__
from m3_memory.errors import ServerSilent

if TYPE_CHECKING:
    from pathlib import Path

    from m3_memory.integrations.hosts import Entry, Host

_CLIENT = {"name": "m3-setup", "version": __version__}
_INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}
_ASKED = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _INITIALIZE},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


def prove(host: Host, entry: Entry, folder: Path) -> int:
    """Starts the server in `folder` and returns how many tools it lists.

    Raises ServerSilent for one that does not answer in the time this host gives it, or says anything else.
    """
    said = ""
    try:
        done = subprocess.run(
            [entry.command, *entry.arguments],
            input="".join(f"{json.dumps(message)}\n" for message in _ASKED).encode(),
            capture_output=True,
            cwd=folder,
            timeout=host.start_seconds,
            check=False,
        )
        said = done.stderr.decode("utf-8", "replace").strip() or f"it ended with {done.returncode}"
        answers = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
        return len(answers[2]["tools"]) if answers[1]["serverInfo"] else 0
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError) as error:
        raise ServerSilent(
            f"the entry for {host.title} starts no server that answers: {(said or str(error))[-500:]}",
            "see that m3 itself runs (m3 doctor), then run m3 setup again",
        ) from error
