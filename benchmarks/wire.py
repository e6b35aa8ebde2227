"""One server as a child process, spoken to line by line: nothing but the server's own time is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

PROTOCOL = "2025-11-25"
PROJECT = "benchmark/run"


def server_environment(home: Path, **variables: str) -> dict[str, str]:
    """This process's environment without its own M3 and Python variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("M3_", "PYTHON"))}
    return kept | {"M3_HOME": str(home)} | variables


class Server:
    """A server that has answered `tools/list`, `start_seconds` after its spawn."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "m3_memory", "--agent", "benchmark", "--project", PROJECT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environment),
            cwd=environment["M3_HOME"],
        )
        self._last_id = 0
        client = {
            "protocolVersion": PROTOCOL,
            "clientInfo": {"name": "benchmark", "version": "1"},
            "capabilities": {},
        }
        self.ask("initialize", client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list", {})
        self.start_seconds = time.perf_counter() - started

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the connection, and with it the server."""
        pipe = self._process.stdin
        assert pipe is not None
        pipe.close()
        self._process.wait(30)

    def ask(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one request."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": parameters})
        answers = self._process.stdout
        assert answers is not None
        while True:
            message = json.loads(answers.readline())
            if message.get("id") == self._last_id:
                return message["result"]

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """What a tool answered, and the seconds from sending the request to having read that.

        Raises RuntimeError if the tool failed.
        """
        started = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        seconds = time.perf_counter() - started
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {result['content']}")
        return result["structuredContent"], seconds

    def memory_megabytes(self) -> dict[str, float]:
        """What the process holds: resident, and of that what is its own rather than mapped files."""
        status = Path(f"/proc/{self._process.pid}/status")
        if status.exists():
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            resident, own = (_kilobytes(fields[name]) for name in ("VmRSS", "RssAnon"))
            return {"resident": round(resident / 1024, 1), "own": round(own / 1024, 1)}
        listed = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self._process.pid)], capture_output=True, check=True
        )
        return {"resident": round(int(listed.stdout) / 1024, 1)}

    def _send(self, message: Mapping[str, Any]) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        pipe.write(json.dumps(message).encode() + b"\n")
        pipe.flush()


def _kilobytes(field: str) -> int:
    return int(field.split()[0])
