"""The ways into the product, each as one call: a tool's name and arguments in, an answer out."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any, Protocol
from unittest.mock import patch

from m3_memory.__main__ import main
from m3_memory.generated import load_catalog
from tests.surfaces.mcp_wire import Message, Wire, call, modern_call

M3 = [sys.executable, "-m", "m3_memory"]
PLACE = ("--project", "atlas")
AGENT = "cli"

_DOMAINS: dict[str, str] = {tool["name"]: tool["domain"] for tool in load_catalog()["tools"]}


@dataclass(frozen=True)
class Answer:
    """What a call came to: the facts of its answer, or its error as {code, message, hint}.

    `text` is the text twin, where the door has one.
    """

    facts: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    text: str = ""


class Door(Protocol):
    """One way in."""

    name: str

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Answer: ...


class Mcp:
    """A stdio server, asked in one of the two eras of the protocol; it stands where the command line does."""

    def __init__(self, wire: Wire, *, is_modern: bool = False) -> None:
        self.name = "mcp-modern" if is_modern else "mcp"
        self.wire = wire
        self._call = modern_call if is_modern else call
        self._calls = 0
        if not is_modern:
            wire.open()

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        self._calls += 1
        answer = self.wire.ask(self._call(tool, dict(arguments), self._calls))
        while "id" not in answer:
            answer = self.wire.read()
        result = answer["result"]
        text: str = result["content"][0]["text"]
        if result.get("isError"):
            assert "structuredContent" not in result
            return Answer(error=json.loads(text), text=text)
        return Answer(result["structuredContent"], text=text)


class Nested:
    """Another door's `m3_call`, whose `result` is the answer."""

    def __init__(self, door: Door) -> None:
        self.name = f"m3_call over {door.name}"
        self._door = door

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        found = self._door.ask("m3_call", {"tool": tool, "args": dict(arguments)})
        if found.facts is None:
            return found
        assert (found.facts["ok"], found.facts["tool"]) == (True, tool)
        return Answer(found.facts["result"])


class CallCommand:
    """`m3 call NAME JSON`."""

    name = "m3 call"

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        return run("call", tool, "-", stdin=json.dumps(arguments))


class VerbCommand:
    """`m3 DOMAIN VERB --name value …`."""

    name = "m3 verb"

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        return run(_DOMAINS.get(tool, "memory"), tool, *flags(arguments))


def flags(arguments: Mapping[str, Any]) -> list[str]:
    """Arguments as a shell gives them: switches by name, objects and lists as JSON, all else as text."""
    words: list[str] = []
    for name, value in arguments.items():
        match value:
            case bool():
                words.append(f"--{'' if value else 'no-'}{name}")
            case str():
                words += [f"--{name}", value]
            case _:
                words += [f"--{name}", json.dumps(value)]
    return words


def run(*words: str, stdin: str = "") -> Answer:
    """One command of the command line, from reading its arguments to what it prints."""
    given, out, err = _Stream(stdin), _Stream(), _Stream()
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "stdin", given),
        patch.object(sys, "argv", ["m3", *PLACE, *words]),
    ):
        code = main()
    if code == 0:
        assert err.written() == ""
        return Answer(json.loads(out.written()))
    assert out.written() == ""
    return Answer(error=json.loads(err.written()))


class _Stream(io.TextIOWrapper):
    """A standard stream that is a pipe, and what was written to it."""

    def __init__(self, text: str = "") -> None:
        self._bytes = io.BytesIO(text.encode("utf-8", "surrogateescape"))
        super().__init__(self._bytes, encoding="utf-8")

    def written(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode("utf-8")


@contextmanager
def server(*arguments: str) -> Generator[Wire]:
    """A stdio server with the environment of the test, standing in the same place as the command line."""
    with Wire("--agent", AGENT, *PLACE, *arguments, command=M3) as wire:
        yield wire


@contextmanager
def opened(name: str) -> Generator[Door]:
    """The door of that name: mcp, mcp-modern, m3_call, m3 call, m3 verb."""
    match name:
        case "m3 call":
            yield CallCommand()
        case "m3 verb":
            yield VerbCommand()
        case _:
            with server() as wire:
                door = Mcp(wire, is_modern=name == "mcp-modern")
                yield Nested(door) if name == "m3_call" else door


def facts(door: Door, tool: str, **arguments: Any) -> Message:
    """The answer of a call that must succeed."""
    found = door.ask(tool, arguments)
    assert found.facts is not None, (door.name, tool, found.error)
    return found.facts


def error(door: Door, tool: str, **arguments: Any) -> dict[str, str]:
    """The error of a call that must fail."""
    found = door.ask(tool, arguments)
    assert found.error is not None, (door.name, tool, found.facts)
    assert found.error.keys() == {"code", "message", "hint"}
    return found.error
