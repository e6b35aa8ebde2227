"""The official clients, Python and Node, both generations, are content in every mode they have.

They check what a raw test would have to know: each answer against its own strict schema. Conformance checklist:
the marks 1, 2 and T.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.node import node_command
from tests.surfaces.mcp_wire import ECHO, LEGACY, MODERN, Message

ROOT = Path(__file__).parents[2]
CLIENTS = Path(__file__).parent / "clients"
PATIENCE_SECONDS = 60


class Official(NamedTuple):
    """One client in one mode."""

    language: str
    generation: int
    mode: str

    @property
    def is_modern(self) -> bool:
        return self.mode in ("auto", MODERN)

    def command(self) -> list[str]:
        """The command line that plays a scenario."""
        if self.language == "node":
            return node_command("play.mjs")
        if self.generation == 2:
            return [sys.executable, str(CLIENTS / "python_second.py")]
        subprocess.run([ROOT / "dev" / "test_clients.sh"], check=True)
        return [str(ROOT / ".test" / "mcp1" / "bin" / "python"), str(CLIENTS / "python_first.py")]

    def play(self, server: list[str], **scenario: Any) -> Message:
        """What the client saw."""
        whole = {
            "command": server,
            "mode": self.mode,
            "generation": self.generation,
            "abandoned": [],
        } | scenario
        env = {name: os.environ[name] for name in ("M3_HOME",)}
        played = subprocess.run(
            [*self.command(), json.dumps({"env": env, "parallel": [], **whole})],
            capture_output=True,
            timeout=PATIENCE_SECONDS,
        )
        assert played.returncode == 0, played.stderr.decode()
        return json.loads(played.stdout)


OFFICIAL = [
    Official("python", 1, "legacy"),
    Official("python", 2, "legacy"),
    Official("python", 2, "auto"),
    Official("python", 2, MODERN),
    Official("node", 1, "legacy"),
    Official("node", 2, "legacy"),
    Official("node", 2, "auto"),
    Official("node", 2, MODERN),
]


@pytest.fixture(params=OFFICIAL, ids=lambda client: "-".join(map(str, client)))
def official(request: pytest.FixtureRequest) -> Official:
    return request.param


def shown(answers: list[Message]) -> list[Any]:
    """Each answer as its structured part, or the code of its error, or its text where it says it failed."""
    return [
        answer["code"]
        if "code" in answer
        else answer["texts"]
        if answer["is_error"]
        else answer["structured"]
        for answer in answers
    ]


def test_an_official_client_is_content_with_everything_a_server_says(
    official: Official, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    seen = official.play(
        ECHO,
        calls=[
            ["echo", {}],
            ["echo", {"deep": {"list": [1, None, "é\u2028"]}}],
            ["noise", {}],
            ["error", {}],
            ["nowhere", {}],
            ["who", {}],
            ["big", {"size": 900_000}],
            ["tools_load_domain", {"domain": "spare"}],
        ],
        abandoned=[["wait", {"pipe": str(pipe)}]],
        parallel=[["release", {"pipe": str(pipe)}], *(["echo", {"number": number}] for number in range(20))],
    )
    roots = [] if official.is_modern else ["file:///place"]
    assert shown(seen["answers"]) == [
        {"arguments": {}},
        {"arguments": {"deep": {"list": [1, None, "é\u2028"]}}},
        {"child_read": ""},
        ["that went wrong"],
        -32602,
        {"name": "conformance", "version": "1", "roots": roots},
        {"big": "x" * 900_000},
        {"domain": "spare"},
    ]
    numbers = [{"arguments": {"number": number}} for number in range(20)]
    assert shown(seen["parallel"]) == [{"released": True}, *numbers]
    assert seen["abandoned"] is True
    assert seen["failures"] == []


def test_an_official_client_learns_who_the_server_is_and_what_it_offers(official: Official) -> None:
    seen = official.play(ECHO, calls=[["tools_load_domain", {"domain": "spare"}]])
    if (official.language, official.mode) != (
        "python",
        MODERN,
    ):  # which takes the version on trust and asks nothing
        assert seen["server"] == ["m3-memory", "9.8.7"]
        assert seen["instructions"] == "Echo what reaches you."
    assert seen["protocol"] in (MODERN if official.is_modern else LEGACY[-1], None)
    loaded = [] if official.is_modern else ["spare_one", "spare_two"]
    assert seen["tools_after"] == seen["tools"] + loaded
    assert seen["notified"] == ([] if official.is_modern else ["notifications/tools/list_changed"])
    assert seen["failures"] == []
