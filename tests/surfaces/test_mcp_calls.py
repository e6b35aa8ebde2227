"""Lists and calls in both eras (conformance checklist 40 to 58)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.mcp_held import Held
from tests.surfaces.mcp_wire import Message, Wire, call, modern, modern_call, notification, request

INVALID, BAD_PARAMS = -32600, -32602
ESSENTIAL = ["echo", "who", "wait", "release", "noise", "fail", "refuse", "odd", "big", "bad", "error"]
ADMIN = [*ESSENTIAL, "tools_load_domain", "m3_call"]
SPARE = ["spare_one", "spare_two"]
ERAS = [pytest.param(request, id="legacy"), pytest.param(modern, id="modern")]

Ask = Callable[[str, Message], Message]


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire() as wire:
        wire.open()
        yield wire


@pytest.mark.parametrize("era", ERAS)
def test_40_the_list_is_one_page(wire: Wire, era: Ask) -> None:
    whole = wire.result(era("tools/list", {"cursor": None}))
    assert [tool["name"] for tool in whole["tools"]] == ADMIN
    assert "nextCursor" not in whole
    for cursor in ("", "2", 2, ["2"]):
        assert wire.error(era("tools/list", {"cursor": cursor}))["code"] == BAD_PARAMS


@pytest.mark.parametrize("era", ERAS)
def test_41_the_list_is_the_same_each_time(wire: Wire, era: Ask) -> None:
    assert wire.ask(era("tools/list", {})) == wire.ask(era("tools/list", {}))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("tools", "listed"),
    [
        ("essential", ADMIN),
        ("", ADMIN),
        ("spare", [*ADMIN, *SPARE]),
        ("other, spare", [*ADMIN, *SPARE, "other_one"]),
        ("all", [*ADMIN, *SPARE, "other_one"]),
    ],
)
def test_the_launch_chooses_what_is_listed(era: Ask, tools: str, listed: list[str]) -> None:
    with Wire(f"--tools={tools}") as wire:
        wire.open()
        assert [tool["name"] for tool in wire.result(era("tools/list", {}))["tools"]] == listed


def test_a_launch_with_an_unknown_domain_says_so_and_serves_the_rest(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as stderr, Wire("--tools", "spare,nowhere", stderr=stderr) as wire:
        wire.open()
        assert "spare_one" in [tool["name"] for tool in wire.result(request("tools/list"))["tools"]]
    assert "nowhere" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_of_the_catalog_runs_whether_listed_or_not(wire: Wire, era: Ask) -> None:
    listed = [entry["name"] for entry in wire.result(era("tools/list", {}))["tools"]]
    assert "spare_one" not in listed
    result = wire.result(era("tools/call", {"name": "spare_one", "arguments": {}}))
    assert result["structuredContent"] == {"spare": "one"}


@pytest.mark.parametrize("era", ERAS)
def test_a_tool_runs_under_a_name_it_had_before(wire: Wire, era: Ask) -> None:
    result = wire.result(era("tools/call", {"name": "old_echo", "arguments": {}}))
    assert result["structuredContent"] == {"arguments": {}}


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": {}}])
@pytest.mark.parametrize("era", ERAS)
def test_45_no_arguments_are_the_same_as_empty_ones(wire: Wire, era: Ask, arguments: Message) -> None:
    result = wire.result(era("tools/call", {"name": "echo"} | arguments))
    assert result["structuredContent"] == {"arguments": {}}


@pytest.mark.parametrize(
    "params",
    [
        {"name": "echo", "arguments": ["a"]},
        {"name": "echo", "arguments": "{}"},
        {"name": "echo", "arguments": 5},
        {"name": "echo", "arguments": False},
        {"arguments": {}},
        {"name": None},
        {"name": ["echo"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("era", ERAS)
def test_46_a_malformed_call_is_refused(wire: Wire, era: Ask, params: Message) -> None:
    assert wire.error(era("tools/call", params))["code"] == BAD_PARAMS


@pytest.mark.parametrize("era", ERAS)
def test_47_an_unknown_tool_is_refused_by_name_with_what_is_near(wire: Wire, era: Ask) -> None:
    error = wire.error(era("tools/call", {"name": "spare_onr"}))
    assert error["code"] == BAD_PARAMS
    assert "spare_onr" in error["message"]
    assert "spare_one" in error["message"]
    assert wire.error(era("tools/call", {"name": "\ud800" * 100_000}))["code"] == BAD_PARAMS


def test_a_task_in_the_params_is_ignored(wire: Wire) -> None:
    assert "structuredContent" in wire.result(request("tools/call", {"name": "echo", "task": {"ttl": 5}}))


@pytest.mark.parametrize("tool", ["fail", "bad"])
@pytest.mark.parametrize("build", [call, modern_call])
def test_50_52_an_unexpected_failure_shows_no_internals(tmp_path: Path, build: Any, tool: str) -> None:
    log = tmp_path / "log"
    with log.open("wb") as stderr, Wire(stderr=stderr) as wire:
        wire.open()
        result = wire.result(build(tool))
        assert result["isError"] is True
        assert "structuredContent" not in result
        error = json.loads(result["content"][0]["text"])
        assert error.keys() == {"code", "message", "hint"}
        assert error["code"] == "internal"
        assert "hunter2" not in json.dumps(result)
    assert {"fail": "hunter2", "bad": "TypeError"}[tool] in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "tool", "error"),
    [
        ((), "refuse", {"code": "not_found", "message": "no such memory", "hint": "search for it"}),
        (("--agent", "broken"), "echo", {"code": "not_found", "message": "no store", "hint": "make one"}),
    ],
)
def test_a_known_error_comes_as_its_code_message_and_hint(
    arguments: tuple[str, ...], tool: str, error: Message
) -> None:
    with Wire(*arguments) as wire:
        wire.open()
        for _ in range(2):
            result = wire.result(call(tool))
            assert (result["isError"], json.loads(result["content"][0]["text"])) == (True, error)


@pytest.mark.parametrize("build", [call, modern_call])
def test_52_an_error_is_text_alone(wire: Wire, build: Any) -> None:
    result = wire.result(build("error"))
    assert result["content"] == [{"type": "text", "text": "that went wrong"}]
    assert result["isError"] is True
    assert "structuredContent" not in result


@pytest.mark.parametrize("build", [call, modern_call])
def test_55_an_answer_beyond_the_limit_becomes_advice(wire: Wire, build: Any) -> None:
    result = wire.result(build("big", {"size": 5_000_000}))
    error = json.loads(result["content"][0]["text"])
    assert (result["isError"], error["code"]) == (True, "answer_too_large")
    assert "structuredContent" not in result


@pytest.mark.parametrize("token", [0, 7, "t", True, None])
def test_56_a_progress_token_of_any_kind_does_no_harm(wire: Wire, token: Any) -> None:
    params = {"name": "echo", "_meta": {"progressToken": token}}
    assert wire.result(request("tools/call", params, 0))["structuredContent"] == {"arguments": {}}
    assert wire.is_silent()


@pytest.fixture
def held(wire: Wire, tmp_path: Path) -> Iterator[Held]:
    held = Held(wire, tmp_path)
    yield held
    held.close()


@pytest.mark.parametrize("build", [call, modern_call])
def test_57_58_a_running_call_that_is_cancelled_is_told_and_never_answered(held: Held, build: Any) -> None:
    wire = held.wire
    held.start(1, build)
    wire.send(notification("notifications/cancelled", {"requestId": 1, "reason": "bored"}))
    assert wire.is_silent()  # the cancellation has been read
    held.release(1)
    held.start(2, build)
    held.release(2)
    assert wire.read()["id"] == 2
    assert wire.is_silent()
    assert sorted(held.ended()) == ["1 True", "2 False"]


def test_57_a_queued_call_that_is_cancelled_never_runs(held: Held) -> None:
    wire = held.wire
    for number in range(6):
        held.start(number)
    held.send("queued")
    held.send("last")
    wire.send(notification("notifications/cancelled", {"requestId": "queued"}))
    assert wire.is_silent()
    for number in range(6):
        held.release(number)
    held.meet("last")  # which stood behind the cancelled one
    assert not held.runs("queued")
    held.release("last")
    assert sorted(str(wire.read()["id"]) for _ in range(7)) == ["0", "1", "2", "3", "4", "5", "last"]


def test_57_only_the_id_of_the_same_type_is_cancelled(held: Held) -> None:
    held.start(1)
    held.wire.send(notification("notifications/cancelled", {"requestId": "1"}))
    held.release(1)
    assert held.wire.read()["result"]["structuredContent"] == {"cancelled": False}


def test_an_id_in_flight_is_refused_and_free_again_after_its_answer(held: Held) -> None:
    wire = held.wire
    held.start(1)
    assert wire.error(call("echo"))["code"] == INVALID
    held.release(1)
    assert wire.read()["result"]["structuredContent"] == {"cancelled": False}
    assert "result" in wire.ask(call("echo"))


def test_28_64_what_is_quick_is_answered_while_slow_calls_run(held: Held) -> None:
    wire = held.wire
    for number in range(5):
        held.start(number)
    assert wire.result(call("echo", {}, "fast"))["structuredContent"] == {"arguments": {}}
    held.start(5)
    assert wire.is_silent()
    assert "tools" in wire.result(request("tools/list", None, "list"))
    assert "tools" in wire.result(modern("tools/list", None, "list"))
    assert "resultType" in wire.result(modern("server/discover", None, "discover"))
    for number in range(6):
        held.release(number)
    assert {wire.read()["id"] for _ in range(6)} == set(range(6))


def test_65_fifty_parallel_calls_with_large_answers_arrive_whole(wire: Wire) -> None:
    size = 200_000
    wire.send(*(call("big", {"size": size}, number) for number in range(50)))
    answers = [wire.read() for _ in range(50)]
    assert {answer["id"] for answer in answers} == set(range(50))
    assert {len(answer["result"]["structuredContent"]["big"]) for answer in answers} == {size}
