"""Every agent on a machine starts a server of its own, so a start loads nothing it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HEAVY = {"apsw", "asyncio", "http", "mcp", "numpy", "onnxruntime", "psycopg"}
OPENING: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]
WRITE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {"name": "memory_write", "arguments": {"content": "the gate is green", "type": "note"}},
}


def _served(folder: Path, messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], set[str]]:
    """The server's answers to these messages, and the top-level packages it had imported when it ended."""
    served = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "m3_memory"],
        input="".join(json.dumps(message) + "\n" for message in messages),
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in served.stdout.splitlines()]
    lines = [line.rsplit("|", 1) for line in served.stderr.splitlines() if line.startswith("import time:")]
    return answers, {name.strip().split(".")[0] for _, name in lines}


def test_a_server_that_lists_its_tools_has_loaded_no_heavy_package(tmp_path: Path) -> None:
    answers, imported = _served(tmp_path, OPENING)
    assert answers[-1]["result"]["tools"]
    assert not imported & HEAVY


def test_a_server_loads_its_store_when_a_tool_is_called(tmp_path: Path) -> None:
    answers, imported = _served(tmp_path, [*OPENING, WRITE])
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert "apsw" in imported
