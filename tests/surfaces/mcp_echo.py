"""A stdio server over a session that only shows what reaches it, for tests of the protocol itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from m3_memory.errors import NotFound
from m3_memory.launch import Launch, read_launch
from m3_memory.surfaces.mcp.serve import serve
from m3_memory.surfaces.mcp.values import Client

HERE = Path(__file__).parent


class Outcome(NamedTuple):
    structured: dict[str, Any] | None
    text: str
    is_error: bool = False


class Call(NamedTuple):
    arguments: dict[str, Any]
    client: Client
    cancelled: Callable[[], bool]


def _answer(structured: dict[str, Any]) -> Outcome:
    return Outcome(structured, repr(structured))


def _who(call: Call) -> Outcome:
    client = call.client
    return _answer({"name": client.name, "version": client.version, "roots": list(client.roots)})


def _wait(call: Call) -> Outcome:
    """Says that it runs, then waits for one byte from its named pipe."""
    if started := call.arguments.get("started"):
        Path(started).write_bytes(b"!")
    with Path(call.arguments["pipe"]).open("rb", buffering=0) as pipe:
        pipe.read(1)
    cancelled = call.cancelled()
    if log := call.arguments.get("log"):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{call.arguments.get('mark', '')} {cancelled}\n")
    return _answer({"cancelled": cancelled})


def _release(call: Call) -> Outcome:
    """Lets a call of `wait` go on; never waits for one that is not there."""
    pipe = os.open(call.arguments["pipe"], os.O_RDWR)
    os.write(pipe, b"!")
    os.close(pipe)
    return _answer({"released": True})


def _noise(_: Call) -> Outcome:
    print("print")
    os.write(1, b"library\n")
    subprocess.run(["echo", "child"], check=True)
    child = subprocess.run(["cat"], check=True, stdout=subprocess.PIPE)
    return _answer({"child_read": child.stdout.decode()})


def _fail(_: Call) -> Outcome:
    raise RuntimeError("password=hunter2")


def _refuse(_: Call) -> Outcome:
    raise NotFound("no such memory", "search for it")


def _odd(_: Call) -> Outcome:
    odd = {
        "nan": float("nan"),
        "inf": [float("-inf")],
        "half": "a\ud800b",
        "\udfff": "\U0001f600",
        "halves": "\ud83d\ude00",
        "lines": "a\u2028b\u2029c\x85d\x0be\x1cf\r\ng",
        "none": None,
    }
    return Outcome(odd, "half \udc00")


def _batch(call: Call) -> Outcome:
    tool = call.arguments["tool"]
    result = _TOOLS[tool](call._replace(arguments=call.arguments["args"])).structured
    return _answer({"ok": True, "tool": tool, "result": result})


_TOOLS: dict[str, Callable[[Call], Outcome]] = {
    "echo": lambda call: _answer({"arguments": call.arguments}),
    "who": _who,
    "wait": _wait,
    "release": _release,
    "noise": _noise,
    "fail": _fail,
    "refuse": _refuse,
    "odd": _odd,
    "big": lambda call: Outcome({"big": "x" * int(call.arguments["size"])}, "big"),
    "bad": lambda _: Outcome({"bad": object()}, "bad"),
    "error": lambda _: Outcome({"half": "done"}, "that went wrong", is_error=True),
    "old_echo": lambda call: _answer({"arguments": call.arguments}),
    "spare_one": lambda _: _answer({"spare": "one"}),
    "spare_two": lambda call: _answer(
        {"status": "disputed", "review_id": "r1", "conflicts": [{"id": "m1", "content": "old\x1b[2J"}]}
        | call.arguments.get("answer", {})
    ),
    "tools_load_domain": lambda call: _answer({"domain": call.arguments["domain"]}),
    "m3_call": _batch,
}


class EchoSession:
    """Leaves a note when it is closed, where the environment names a file for it."""

    def call(
        self, name: str, arguments: dict[str, Any], client: Client, cancelled: Callable[[], bool]
    ) -> Outcome:
        return _TOOLS[name](Call(arguments, client, cancelled))

    def settle(self, outcome: Any, decision: str, client: Client, cancelled: Callable[[], bool]) -> Outcome:
        return _answer({**outcome.structured, "settled": decision, "name": client.name})

    def close(self) -> None:
        if note := os.environ.get("ECHO_NOTE"):
            Path(note).write_text("closed", encoding="utf-8")


def open_session(launch: Launch) -> EchoSession:
    if launch.agent == "broken":
        raise NotFound("no store", "make one")
    return EchoSession()


if __name__ == "__main__":
    serve(read_launch(sys.argv[1:])[0], open_session, str(HERE / "mcp_echo_catalog.json"))
