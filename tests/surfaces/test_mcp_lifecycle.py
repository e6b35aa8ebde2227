"""How a server starts and how it ends (conformance checklist 66 to 68; case B54)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.mcp_held import Held
from tests.surfaces.mcp_wire import ECHO, Wire, call, modern, modern_call, request

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
END_SECONDS = 10.0
"""Bounds a wait on a busy machine; a client kills a server after two seconds."""


def ended(wire: Wire) -> int:
    return wire.process.wait(END_SECONDS)


@pytest.mark.parametrize(
    "messages", [[], [modern("server/discover")], [modern_call("echo")]], ids=["", "idle", "used"]
)
def test_66_the_server_ends_when_its_input_does(messages: list[Any], tmp_path: Path) -> None:
    note = tmp_path / "note"
    with Wire(env=os.environ | {"ECHO_NOTE": str(note)}) as wire:
        for message in messages:
            wire.ask(message)
        assert wire.end() == []
        assert ended(wire) == 0
    assert note.exists() == (messages == [modern_call("echo")])


def test_66_a_running_call_may_finish_and_the_session_is_closed_after_it(tmp_path: Path) -> None:
    note = tmp_path / "note"
    with Wire(env=os.environ | {"ECHO_NOTE": str(note)}) as wire:
        wire.open()
        held = Held(wire, tmp_path)
        held.start(1)
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        held.release(1)
        assert [message["result"]["structuredContent"] for message in wire.rest()] == [{"cancelled": False}]
        assert ended(wire) == 0
    held.close()
    assert note.read_text(encoding="utf-8") == "closed"


def test_66_a_call_that_does_not_end_holds_nobody_up(tmp_path: Path) -> None:
    with Wire() as wire:
        wire.open()
        held = Held(wire, tmp_path)
        held.start(1)
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert ended(wire) == 0
    held.close()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("is_used", [False, True])
def test_67_a_signal_ends_the_server_cleanly(number: signal.Signals, is_used: bool, tmp_path: Path) -> None:
    note = tmp_path / "note"
    with Wire(env=os.environ | {"ECHO_NOTE": str(note)}) as wire:
        wire.ask(modern_call("echo") if is_used else modern("tools/list"))
        wire.process.send_signal(number)
        assert ended(wire) == 0
        assert wire.rest() == []
    assert note.exists() == is_used


@pytest.mark.parametrize("message", [call("echo"), request("ping")], ids=["call", "ping"])
def test_67_a_client_that_no_longer_reads_is_gone(message: Any) -> None:
    with Wire() as wire:
        wire.open()
        assert wire.process.stdout is not None
        wire.process.stdout.close()
        wire.send(message)
        assert ended(wire) == 0


def test_67_a_client_that_neither_reads_nor_closes_does_not_survive_a_signal() -> None:
    with Wire() as wire:
        wire.open()
        wire.send(*(call("big", {"size": 900_000}, number) for number in range(10)))
        assert "result" in wire.read()
        wire.process.send_signal(signal.SIGTERM)
        assert ended(wire) == 0


def test_68_an_empty_environment_and_a_c_locale_change_nothing(tmp_path: Path) -> None:
    bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C"}
    text = "grüße, 日本語, \U0001f600"
    with Wire(env=bare) as wire:
        wire.open()
        result = wire.result(call("echo", {"text": text}))
        assert result["structuredContent"] == {"arguments": {"text": text}}


@pytest.mark.case("B54")
def test_68_warnings_and_verbose_start_never_reach_the_client() -> None:
    command = [sys.executable, "-X", "dev", "-W", "always", "-v", ECHO[1]]
    with Wire(command=command, stderr=subprocess.DEVNULL) as wire:
        wire.open()
        assert "result" in wire.ask(call("noise"))
        assert wire.end() == []


def test_a_server_without_standard_error_serves(tmp_path: Path) -> None:
    with Wire(command=["/bin/sh", "-c", 'exec "$0" "$@" 2>&-', *ECHO]) as wire:
        wire.open()
        assert "result" in wire.ask(call("noise"))
        assert wire.result(call("fail"))["isError"] is True
