"""The product itself behind the protocol.

Conformance checklist 42, 48 to 52, 54, 58, 59, 61, 66; cases B44, B54, B55, B59.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from m3_memory.config import Settings
from m3_memory.kernel.clock import SystemClock
from m3_memory.storage import open_database
from tests.sizes import size
from tests.surfaces.mcp_wire import (
    LEGACY,
    MODERN,
    PATIENCE_SECONDS,
    Message,
    Wire,
    call,
    modern,
    notification,
    request,
)

M3 = [sys.executable, "-m", "m3_memory"]
FACT = {"content": "The release train leaves on Fridays", "type": "fact"}
ROOTS: Message = {"roots": {}}


def environment(settings: Settings) -> dict[str, str]:
    """What a server needs to use the store of these settings."""
    chosen = {"M3_HOME": str(settings.home), "M3_EMBEDDER": settings.embedder}
    if settings.database_url:
        chosen["M3_DATABASE_URL"] = settings.database_url
    return os.environ | chosen


@pytest.fixture
def words_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of an installation without a model, which starts sooner."""
    monkeypatch.setenv("M3_EMBEDDER", "off")


def product(*arguments: str, **process: Any) -> Wire:
    return Wire(*arguments, command=M3, **process)


def structured(wire: Wire, name: str, arguments: Message) -> Message:
    """The structured answer of a call that succeeds, by an id of its own."""
    result = wire.result(call(name, arguments, f"{name} {json.dumps(arguments)}"))
    assert "isError" not in result, result
    return result["structuredContent"]


def refused(wire: Wire, name: str, arguments: Message) -> Message:
    """The error of a call that fails, which comes as text alone."""
    result = wire.result(call(name, arguments))
    assert result["isError"] is True, result
    assert "structuredContent" not in result
    error = json.loads(result["content"][0]["text"])
    assert error.keys() == {"code", "message", "hint"}
    return error


def contents(found: Message) -> list[str]:
    return [hit["content"] for hit in found["hits"]]


@pytest.mark.usefixtures("words_only")
def test_42_every_tool_is_listed_in_a_form_that_every_client_takes() -> None:
    with product("--tools", "all") as wire:
        tools = wire.result(modern("tools/list"))["tools"]
    assert len({tool["name"] for tool in tools}) == len(tools)
    for tool in tools:
        assert tool["name"].replace("_", "").isalnum()
        assert tool["name"].islower()
        assert len(tool["name"]) <= 48
        assert tool["description"].strip()
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert schema["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(schema)
        assert {type(hint) for hint in tool["annotations"].values()} == {bool}
        assert tool["annotations"]["openWorldHint"] is False


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("memory_search", {}, "query"),
        ("memory_search", {"query": ["a"]}, "query"),
        ("memory_search", {"query": "a", "k": "many"}, "k"),
        ("memory_search", {"query": "a", "k": 0}, "k"),
        ("memory_search", {"query": "a", "colour": "red"}, "colour"),
        ("memory_write", {"type": "fact"}, "content"),
        ("memory_write", {"content": "a", "type": "fact", "metadata": [1]}, "metadata"),
        ("memory_get", {"id": None}, "id"),
    ],
    ids=str,
)
def test_48_a_faulty_argument_is_named(name: str, arguments: Message, field: str) -> None:
    with product() as wire:
        wire.open()
        assert field in refused(wire, name, arguments)["message"]


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize("k", [1, "1", 1.0])
def test_49_arguments_that_arrive_as_text_are_read_as_what_they_say(k: Any) -> None:
    with product() as wire:
        wire.open()
        for number in range(2):
            structured(wire, "memory_write", {**FACT, "content": f"Train {number}", "metadata": '{"n": 1}'})
        assert len(contents(structured(wire, "memory_search", {"query": "train", "k": k}))) == 1


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize("version", [*LEGACY, MODERN])
def test_51_54_every_tool_answers_by_its_own_schema_and_twice_with_the_same_facts(version: str) -> None:
    """The text holds all of the structured part, which older clients never see.

    Those of the first list, in each revision; all others by the story that every door is told.
    """
    build = modern if version == MODERN else request
    with product() as wire:
        if build is request:
            wire.open(version)
        tools = wire.result(modern("tools/list"))["tools"]
        schemas = {tool["name"]: tool["outputSchema"] for tool in tools}

        def answered(name: str, **arguments: Any) -> Message:
            answer = wire.ask(build("tools/call", {"name": name, "arguments": arguments}, name))
            while "id" not in answer:  # that the list has changed is told first
                answer = wire.read()
            result = answer["result"]
            assert "isError" not in result, result
            facts = json.loads(result["content"][-1]["text"].splitlines()[-1])
            assert result.get("structuredContent", facts) == facts
            assert ("structuredContent" in result) == (version >= LEGACY[2])
            jsonschema.validate(facts, schemas.pop(name), jsonschema.Draft202012Validator)
            return facts

        memory = answered("memory_write", **FACT)["id"]
        answered("memory_get", id=memory)
        answered("memory_update", id=memory, title="Trains")
        answered("memory_search", query="release")
        newer = answered("memory_supersede", old_id=memory, content="The train leaves on Mondays")["id"]
        answered("memory_delete", id=newer)
        answered("memory_history", memory_id=newer)
        answered("tools_list_domains")
        answered("m3_call", tool="memory_search", args={"query": "train"})
        answered("tools_load_domain", domain="memory")
    assert not schemas, "every tool of the list is called here"


@pytest.mark.usefixtures("words_only")
def test_59_loading_the_memory_domain_lists_the_tools_that_were_not() -> None:
    with product() as wire:
        wire.open()
        before = {tool["name"] for tool in wire.result(request("tools/list"))["tools"]}
        load = call("tools_load_domain", {"domain": "memory"})
        assert wire.ask(load) == notification("notifications/tools/list_changed")
        schemas = {tool["name"] for tool in wire.read()["result"]["structuredContent"]["schemas"]}
        after = {tool["name"] for tool in wire.result(request("tools/list"))["tools"]}
        assert before < after == before | schemas
        assert refused(wire, "tools_load_domain", {"domain": "nowhere"})["code"]


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize(("arguments", "agent"), [((), "editor"), (("--agent", "reviewer"), "reviewer")])
def test_the_launch_names_the_agent_and_else_the_client_does(arguments: tuple[str, ...], agent: str) -> None:
    with product(*arguments) as wire:
        wire.open(clientInfo={"name": "editor", "version": "1"})
        memory = structured(wire, "memory_write", FACT)["id"]
        assert structured(wire, "memory_get", {"id": memory})["memory"]["agent_id"] == agent


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize("project", [(), ("--project", "${workspaceFolder}")])
def test_61_a_client_with_one_root_stands_in_its_project(tmp_path: Path, project: tuple[str, ...]) -> None:
    root = tmp_path / "place"
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    with product(*project, cwd=tmp_path) as wire:
        wire.open(capabilities=ROOTS)
        question = wire.ask(call("memory_search", {"query": "release"}))
        assert question["method"] == "roots/list"
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": root.as_uri()}]}}
        scope = wire.ask(answer)["result"]["structuredContent"]["scope"]
        assert any("place" in audience for audience in scope)
        structured(wire, "memory_search", {"query": "again"})


@pytest.mark.usefixtures("words_only")
def test_61_a_launch_that_names_its_project_asks_for_no_roots() -> None:
    with product("--project", "trains") as wire:
        wire.open(capabilities=ROOTS)
        scope = structured(wire, "memory_search", {"query": "release"})["scope"]
        assert any("trains" in audience for audience in scope)


def test_58_a_write_cancelled_before_its_commit_leaves_nothing(settings: Settings) -> None:
    database = open_database(settings.store, SystemClock())
    with product(env=environment(settings)) as wire:
        wire.open()
        with database.write("local"):
            wire.send(call("memory_write", FACT, "cancelled"))
            wire.send(notification("notifications/cancelled", {"requestId": "cancelled"}))
            assert wire.is_silent()
        assert wire.end() == []
    database.close()
    with product(env=environment(settings)) as wire:
        wire.open()
        assert contents(structured(wire, "memory_search", {"query": "release train"})) == []
        structured(wire, "memory_write", FACT)
        assert contents(structured(wire, "memory_search", {"query": "release train"})) == [FACT["content"]]


def test_66_a_server_that_ends_while_a_write_waits_leaves_the_store_whole(settings: Settings) -> None:
    database = open_database(settings.store, SystemClock())
    with database.write("local"), product(env=environment(settings)) as wire:
        wire.open()
        wire.send(call("memory_write", FACT))
        assert wire.end() == []
        assert wire.process.wait(PATIENCE_SECONDS) == 0
    database.close()
    with product(env=environment(settings)) as wire:
        wire.open()
        assert contents(structured(wire, "memory_search", {"query": "release train"})) == []
        assert structured(wire, "memory_write", FACT)["status"] == "created"


@pytest.mark.case("B44")
def test_reading_waits_for_no_writer(settings: Settings) -> None:
    with product(env=environment(settings)) as wire:
        wire.open()
        memory = structured(wire, "memory_write", FACT)["id"]
    database = open_database(settings.store, SystemClock())
    with database.write("local"), product(env=environment(settings)) as wire:
        wire.open()
        assert wire.result(request("tools/list"))["tools"]
        assert contents(structured(wire, "memory_search", {"query": "release train"})) == [FACT["content"]]
        assert structured(wire, "memory_get", {"id": memory})["memory"]["content"] == FACT["content"]
    database.close()


@pytest.mark.case("B54")
def test_nothing_but_messages_comes_out_of_a_fresh_and_talkative_installation(tmp_path: Path) -> None:
    """Every line read here is checked; the model is loaded by the write."""
    log = tmp_path / "log"
    talkative = os.environ | {"M3_LOG_LEVEL": "debug", "PYTHONWARNINGS": "always", "PYTHONVERBOSE": "1"}
    with log.open("wb") as stderr, product(env=talkative, stderr=stderr) as wire:
        wire.open()
        structured(wire, "memory_write", FACT)
        structured(wire, "memory_search", {"query": "when does it leave", "search_mode": "vector"})
        assert wire.end() == []
    assert b"onnxruntime" in log.read_bytes()


@pytest.mark.case("B55")
def test_a_handshake_opens_neither_store_nor_model(home: Path) -> None:
    with product() as wire:
        wire.open()
        assert wire.result(request("tools/list"))["tools"]
        assert wire.end() == []
        assert not home.exists()
    with product() as wire:
        wire.open()
        structured(wire, "memory_search", {"query": "release"})
        assert home.exists()


def test_50_a_store_that_cannot_be_opened_is_an_answer_and_not_the_end(home: Path) -> None:
    home.write_text("no folder", encoding="utf-8")
    with product() as wire:
        wire.open()
        assert wire.result(request("tools/list"))["tools"]
        assert refused(wire, "memory_search", {"query": "release"})["hint"]
        home.unlink()
        assert structured(wire, "memory_search", {"query": "release"})["hits"] == []


DOOMED_CLIENT = """
import subprocess, sys
server = subprocess.Popen([sys.executable, "-m", "m3_memory"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in sys.argv[1:]:
    server.stdin.write(line.encode() + b"\\n")
    server.stdin.flush()
server.stdout.readline()
server.stdout.readline()
print(server.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.case("B59")
def test_no_server_and_no_lock_outlives_a_killed_client(settings: Settings) -> None:
    opening = request("initialize", {"protocolVersion": LEGACY[-1]})
    cycles = size(5, 50)
    for cycle in range(cycles):
        writes = [call("memory_write", {"content": f"Fact {cycle}.{n}", "type": "fact"}, n) for n in range(3)]
        lines = [json.dumps(message) for message in (opening, *writes)]
        client = subprocess.Popen(
            [sys.executable, "-c", DOOMED_CLIENT, *lines],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(settings),
        )  # fmt: skip
        with client:
            assert client.stdout is not None
            server = os.pidfd_open(int(client.stdout.readline()))
            client.kill()
        try:
            assert select.select([server], [], [], PATIENCE_SECONDS)[0] == [server]
        finally:
            os.close(server)
    with product(env=environment(settings)) as wire:
        wire.open()
        assert structured(wire, "memory_write", FACT)["status"] == "created"
        found = contents(structured(wire, "memory_search", {"query": "fact", "k": 100}))
        assert cycles <= len(found) <= 3 * cycles + 1


LONGEST = {
    "of pictures": "\U0001f600" * 50_000,
    "of quotation marks": '"' * 50_000,
    "of control characters": "a" + "\x01" * 49_999,
    "of line separators": "b" + "\u2028" * 49_999,
    "of Chinese": "記憶の長い文書" * 7_142,
}


@pytest.mark.usefixtures("words_only")
def test_13_whatever_can_be_written_can_be_read_again() -> None:
    """The longest memory of the costliest characters, with the longest title, metadata and stand-in text."""
    with product() as wire:
        wire.open()
        for name, content in LONGEST.items():
            metadata = {"label": content[:3_000], "what": name}
            given = {"content": content, "type": "note", "title": content[:500], "metadata": metadata}
            written = structured(wire, "memory_write", given | {"embed_text": content})
            found = structured(wire, "memory_get", {"id": written["id"]})["memory"]
            assert (found["content"], found["title"], found["metadata"]) == (content, content[:500], metadata)
            through = structured(wire, "m3_call", {"tool": "memory_get", "args": {"id": written["id"]}})
            assert through["result"]["memory"]["content"] == content


@pytest.mark.usefixtures("words_only")
def test_13_a_search_of_the_usual_size_over_the_longest_texts_is_answered() -> None:
    with product() as wire:
        wire.open()
        for number in range(8):
            content = f"鉱石 {number} " + "記憶の長い文書" * 7_000
            structured(wire, "memory_write", {"content": content, "type": "note"})
        assert structured(wire, "memory_search", {"query": "鉱石"})["hits"]
