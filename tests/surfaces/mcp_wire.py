"""A raw connection to a stdio server: bytes out, checked messages in."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn

Message = dict[str, Any]

HERE = Path(__file__).parent
ECHO = [sys.executable, str(HERE / "mcp_echo.py")]
PATIENCE_SECONDS = 20.0
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
KEY = "io.modelcontextprotocol/"
ENVELOPE: Message = {
    KEY + "protocolVersion": MODERN,
    KEY + "clientInfo": {"name": "wire", "version": "1"},
    KEY + "clientCapabilities": {},
}


def request(method: str, params: Any = None, request_id: Any = 1) -> Message:
    """A request of the legacy era; without params the key is absent."""
    message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else message | {"params": params}


def modern(method: str, params: Message | None = None, request_id: Any = 1, **envelope: Any) -> Message:
    """A request of the modern era; `envelope` replaces parts of it, None takes one out."""
    meta = ENVELOPE | {KEY + name: value for name, value in envelope.items()}
    meta = {name: value for name, value in meta.items() if value is not None}
    return request(method, {**(params or {}), "_meta": meta}, request_id)


def notification(method: str, params: Any = None) -> Message:
    """A message that wants no answer."""
    message: Message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else message | {"params": params}


def call(name: str, arguments: Message | None = None, request_id: Any = 1) -> Message:
    """A legacy `tools/call`."""
    return request("tools/call", {"name": name, "arguments": arguments or {}}, request_id)


def modern_call(name: str, arguments: Message | None = None, request_id: Any = 1) -> Message:
    """A modern `tools/call`."""
    return modern("tools/call", {"name": name, "arguments": arguments or {}}, request_id)


class Wire:
    """One server process. Leaving the block closes its input and waits for it."""

    def __init__(self, *arguments: str, command: list[str] | None = None, **process: Any) -> None:
        """Starts the echo server with these arguments, or another command."""
        self.process = subprocess.Popen(
            [*(command or ECHO), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **process
        )
        self._buffer = b""

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(BrokenPipeError):
            self._pipe(self.process.stdin).close()
        try:
            self.process.wait(PATIENCE_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self._pipe(self.process.stdout).close()

    def send(self, *messages: Message | bytes) -> None:
        """Sends messages as lines, and bytes as they are."""
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            self._pipe(self.process.stdin).write(line)
        self._pipe(self.process.stdin).flush()

    def read(self) -> Message:
        """The next message; fails when none comes."""
        line = self._line()
        if not line:
            _fail("the server closed its output")
        return checked(line)

    def ask(self, message: Message | bytes) -> Message:
        """Sends one message and returns the next that comes."""
        self.send(message)
        return self.read()

    def result(self, message: Message) -> Message:
        """The result of a request; fails when the answer is an error."""
        answer = self.ask(message)
        assert answer["id"] == message["id"], answer
        return answer["result"]

    def error(self, message: Message | bytes) -> Message:
        """The error that answers a message."""
        return self.ask(message)["error"]

    def open(self, version: str = LEGACY[-1], capabilities: Message | None = None, **params: Any) -> Message:
        """A legacy handshake; returns the result of `initialize`."""
        info = {"name": "wire", "version": "1"}
        offer = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": info}
        result = self.result(request("initialize", offer | params, "open"))
        self.send(notification("notifications/initialized"))
        return result

    def is_silent(self) -> bool:
        """Whether nothing is waiting to be read but the answer to a question asked now."""
        return self.ask(request("ping", request_id="marker")) == {
            "jsonrpc": "2.0",
            "id": "marker",
            "result": {},
        }

    def end(self) -> list[Message]:
        """Closes the input and returns all that still comes until the server ends."""
        self._pipe(self.process.stdin).close()
        return self.rest()

    def rest(self) -> list[Message]:
        """All that comes until the server ends."""
        return [checked(line) for line in iter(self._line, b"")]

    def _line(self) -> bytes:
        stream = self._pipe(self.process.stdout)
        while b"\n" not in self._buffer:
            if not select.select([stream], [], [], PATIENCE_SECONDS)[0]:
                _fail(f"no answer in {PATIENCE_SECONDS} s")
            chunk = os.read(stream.fileno(), 1 << 20)
            if not chunk:
                assert not self._buffer, self._buffer
                return b""
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line + b"\n"

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        assert stream is not None
        return stream


def checked(line: bytes) -> Message:
    """The message of a line, which must be one that the strictest client accepts (checklist 1, 4, 12)."""
    text = line.decode("utf-8")
    message = json.loads(text, parse_constant=_fail)
    assert line.endswith(b"}\n"), line
    assert text.splitlines() == [text[:-1]]
    assert message["jsonrpc"] == "2.0"
    json.dumps(message, ensure_ascii=False).encode("utf-8")  # no surrogate stands alone
    match sorted(message.keys() - {"jsonrpc"}):
        case ["id", "result"]:
            _check_result(message["result"])
        case ["error", "id"]:
            assert isinstance(message["error"]["code"], int)
            assert isinstance(message["error"]["message"], str)
        case ["method"] | ["method", "params"] | ["id", "method"] | ["id", "method", "params"]:
            assert isinstance(message["method"], str)
        case keys:
            _fail(f"unexpected keys: {keys}")
    return message


def _check_result(result: Message) -> None:
    data = {"structuredContent": None, "inputSchema": None, "outputSchema": None}

    def check(value: Any) -> None:
        assert value is not None, result
        if isinstance(value, dict):
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
                if key not in data:
                    check(item)
        elif isinstance(value, list):
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                check(item)

    check(result)


def _fail(reason: str) -> NoReturn:
    raise AssertionError(reason)
