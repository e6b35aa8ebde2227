"""Calls that run until a test lets them end, so that it decides what happens meanwhile."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Any

from tests.surfaces.mcp_wire import PATIENCE_SECONDS, Wire, call


class Held:
    """Calls of the echo server's tool `wait`: one named pipe tells that a call runs, another holds it."""

    def __init__(self, wire: Wire, folder: Path) -> None:
        self.wire = wire
        self._folder = folder
        self._log = folder / "log"
        self._started: dict[Any, int] = {}
        self._holding: dict[Any, int] = {}

    def send(self, request_id: Any, build: Any = call) -> None:
        """Sends a call, whether or not it gets a thread."""
        started, pipe = (self._folder / f"{name}-{request_id}" for name in ("started", "hold"))
        os.mkfifo(started)
        os.mkfifo(pipe)
        self._started[request_id] = os.open(started, os.O_RDONLY | os.O_NONBLOCK)
        self._holding[request_id] = os.open(pipe, os.O_RDWR)
        paths = {"started": str(started), "pipe": str(pipe), "log": str(self._log)}
        self.wire.send(build("wait", paths | {"mark": str(request_id)}, request_id))

    def start(self, request_id: Any, build: Any = call) -> None:
        """Sends a call and returns once it runs."""
        self.send(request_id, build)
        self.meet(request_id)

    def meet(self, request_id: Any) -> None:
        """Waits until a sent call runs."""
        assert self.runs(request_id, PATIENCE_SECONDS), f"call {request_id} does not run"

    def runs(self, request_id: Any, timeout_seconds: float = 0) -> bool:
        """Whether a sent call runs, or begins to within the time given."""
        return bool(select.select([self._started[request_id]], [], [], timeout_seconds)[0])

    def release(self, request_id: Any) -> None:
        """Lets a running call come to its end."""
        os.write(self._holding[request_id], b"!")

    def ended(self) -> list[str]:
        """What the calls that ran noted of their cancellation, in the order of their ends."""
        return self._log.read_text(encoding="utf-8").splitlines()

    def close(self) -> None:
        """Closes all pipes."""
        for descriptor in (*self._started.values(), *self._holding.values()):
            os.close(descriptor)
