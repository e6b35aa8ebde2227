"""The official clients, Python and Node, both generations, are content in every mode they have.

They check what a raw test would have to know: each answer against a strict schema of their own. These are the
marks 1, 2 and T of the conformance checklist.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.clients import first_python_command, node_command
from tests.surfaces.mcp_wire import ECHO, LEGACY, MODERN, Message

SECOND_PYTHON = [sys.executable, str(Path(__file__).parent / "clients" / "python_second.py")]
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
        return first_python_command("python_first.py") if self.generation == 1 else SECOND_PYTHON

    def play(self, server: list[str], **scenario: Any) -> Message:
        """What the client saw."""
        whole = {
            "command": server,
            "mode": self.mode,
            "generation": self.generation,
            "abandoned": [],
        } | scenario
        env = {name: os.environ[name] for name in ("M3_HOME",) if name in os.environ}
        played = subprocess.run(
            [*self.command(), json.dumps({"env": env, "parallel": [], **whole})],
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
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


@pytest.fixture(scope="module", params=OFFICIAL, ids=lambda client: "-".join(map(str, client)))
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


@pytest.fixture(scope="module")
def seen(official: Official, tmp_path_factory: pytest.TempPathFactory) -> Message:
    """What a client saw of a server that answers in every way there is."""
    pipe = tmp_path_factory.mktemp("held") / "pipe"
    os.mkfifo(pipe)
    return official.play(
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


def test_an_official_client_accepts_every_answer(official: Official, seen: Message) -> None:
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
    assert seen["failures"] == []


def test_an_official_client_may_give_a_call_up(seen: Message) -> None:
    assert seen["abandoned"] is True
    assert seen["parallel"]
    assert seen["failures"] == []


def test_an_official_client_learns_who_the_server_is(official: Official, seen: Message) -> None:
    if (official.language, official.mode) != (
        "python",
        MODERN,
    ):  # it takes the version on trust and asks nothing
        assert seen["server"] == ["m3-memory", "9.8.7"]
        assert seen["instructions"] == "Echo what reaches you."
    assert seen["protocol"] in (MODERN if official.is_modern else LEGACY[-1], None)


def test_an_official_client_hears_of_loaded_tools_on_a_connection_alone(
    official: Official, seen: Message
) -> None:
    loaded = [] if official.is_modern else ["spare_one", "spare_two"]
    assert seen["tools_after"] == seen["tools"] + loaded
    assert seen["notified"] == ([] if official.is_modern else ["notifications/tools/list_changed"])


def test_an_official_client_remembers_and_finds_with_the_product(official: Official) -> None:
    seen = official.play(
        [sys.executable, "-m", "m3_memory", "--tools", "all"],
        calls=[
            ["memory_write", {"content": "The release train leaves on Fridays", "type": "fact"}],
            ["memory_search", {"query": "when does the train leave"}],
            ["m3_call", {"tool": "memory_search", "args": {"query": "release"}}],
            ["memory_search", {"query": "train", "k": 0}],
            ["memory_get", {"id": "00000000-0000-7000-8000-000000000000"}],
            ["tools_list_domains", {}],
            ["tools_load_domain", {"domain": "memory"}],
        ],
    )
    written, found, called, *failed, domains, loaded = shown(seen["answers"])
    assert written["status"] == "created"
    assert [hit["id"] for hit in found["hits"]] == [written["id"]]
    assert called["ok"] is True
    assert [hit["id"] for hit in called["result"]["hits"]] == [written["id"]]
    assert [json.loads(text)["code"] for [text] in failed] == ["invalid_argument", "not_found"]
    assert domains["domains"]
    assert {tool["name"] for tool in loaded["schemas"]} <= set(seen["tools"])
    assert seen["failures"] == []
