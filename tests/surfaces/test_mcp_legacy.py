"""Connections opened by `initialize` (conformance checklist 20 to 28, 36, 54, 59, 61)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.surfaces.mcp_wire import (
    LEGACY,
    MODERN,
    Message,
    Wire,
    call,
    modern,
    modern_call,
    notification,
    request,
)

NO_METHOD, BAD_PARAMS = -32601, -32602
NEWEST = LEGACY[-1]
ROOTS: Message = {"roots": {"listChanged": True}}
LIST_CHANGED = notification("notifications/tools/list_changed")


def names(wire: Wire) -> list[str]:
    return [tool["name"] for tool in wire.result(request("tools/list"))["tools"]]


@pytest.mark.parametrize("version", LEGACY)
def test_20_a_known_version_is_echoed(version: str) -> None:
    with Wire() as wire:
        assert wire.open(version)["protocolVersion"] == version


@pytest.mark.parametrize("version", ["", "2024-10-07", "2026-01-01", "2031-01-01", MODERN, "latest"])
def test_21_any_other_version_is_answered_with_the_newest_of_the_era(version: str) -> None:
    with Wire() as wire:
        assert wire.open(version)["protocolVersion"] == NEWEST


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": None}, {"protocolVersion": 20251125}])
def test_22_a_missing_version_is_refused(params: Message | None) -> None:
    with Wire() as wire:
        assert wire.error(request("initialize", params))["code"] == BAD_PARAMS


@pytest.mark.parametrize(
    "params", [{}, {"clientInfo": None, "capabilities": None}, {"clientInfo": 5, "capabilities": []}]
)
def test_a_client_that_does_not_introduce_itself_is_served(params: Message) -> None:
    with Wire() as wire:
        wire.result(request("initialize", {"protocolVersion": NEWEST} | params))
        assert wire.result(call("who"))["structuredContent"] == {"name": "", "version": "", "roots": []}


def test_23_the_server_introduces_itself_from_the_catalog() -> None:
    with Wire() as wire:
        assert wire.open() == {
            "protocolVersion": NEWEST,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "m3-memory", "version": "9.8.7"},
            "instructions": "Echo what reaches you.",
        }


def test_the_clients_name_reaches_the_session() -> None:
    with Wire() as wire:
        wire.open(clientInfo={"name": "editor", "version": "3.1"})
        assert wire.result(call("who"))["structuredContent"] == {
            "name": "editor",
            "version": "3.1",
            "roots": [],
        }


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("tools/list", BAD_PARAMS),
        ("tools/call", BAD_PARAMS),
        ("resources/list", NO_METHOD),
        ("prompts/list", NO_METHOD),
        ("logging/setLevel", NO_METHOD),
        ("completion/complete", NO_METHOD),
        ("tasks/list", NO_METHOD),
        ("server/discover", NO_METHOD),
        ("no/such", NO_METHOD),
    ],
)
def test_24_before_initialize_only_ping_is_answered(method: str, code: int) -> None:
    with Wire() as wire:
        assert wire.error(request(method, {"name": "echo"}))["code"] == code
        assert wire.is_silent()


@pytest.mark.parametrize(
    "method", ["resources/list", "prompts/get", "logging/setLevel", "subscriptions/listen"]
)
def test_what_is_not_offered_does_not_exist(method: str) -> None:
    with Wire() as wire:
        wire.open()
        assert wire.error(request(method, {}))["code"] == NO_METHOD


def test_25_a_call_before_initialized_is_served() -> None:
    with Wire() as wire:
        wire.result(request("initialize", {"protocolVersion": NEWEST}))
        assert wire.result(call("echo"))["structuredContent"] == {"arguments": {}}


def test_26_a_second_initialize_negotiates_again() -> None:
    with Wire() as wire:
        wire.open(NEWEST)
        assert wire.open(LEGACY[0])["protocolVersion"] == LEGACY[0]
        assert "structuredContent" not in wire.result(call("echo"))


@pytest.mark.parametrize(
    ("version", "later"),
    [
        (LEGACY[0], set[str]()),
        (LEGACY[1], {"annotations"}),
        (LEGACY[2], {"annotations", "title", "outputSchema"}),
        (LEGACY[3], {"annotations", "title", "outputSchema"}),
    ],
)
def test_27_54_fields_newer_than_the_version_are_not_sent(version: str, later: set[str]) -> None:
    with Wire() as wire:
        wire.open(version)
        for tool in wire.result(request("tools/list"))["tools"]:
            assert tool.keys() == {"name", "description", "inputSchema"} | later
        assert ("structuredContent" in wire.result(call("echo"))) == ("outputSchema" in later)


def test_28_ping_is_exactly_an_empty_object() -> None:
    with Wire() as wire:
        assert wire.result(request("ping")) == {}
        wire.open()
        assert wire.result(request("ping", {"_meta": {"progressToken": 0}})) == {}


def test_36_a_modern_request_opens_nothing_for_legacy_ones() -> None:
    with Wire() as wire:
        assert "result" in wire.ask(modern("tools/list"))
        assert wire.error(request("tools/list"))["code"] == BAD_PARAMS


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(call("tools_load_domain", {"domain": "spare"}), id="itself"),
        pytest.param(
            call("m3_call", {"tool": "tools_load_domain", "args": {"domain": "spare"}}), id="through m3_call"
        ),
    ],
)
def test_59_a_loaded_domain_joins_the_list_and_the_client_is_told(load: Message) -> None:
    with Wire() as wire:
        wire.open()
        before = names(wire)
        assert wire.ask(load) == LIST_CHANGED
        assert "result" in wire.read()
        assert names(wire) == [*before, "spare_one", "spare_two"]
        wire.result(load)
        assert wire.is_silent()


def test_59_before_initialized_the_list_changes_without_a_notification() -> None:
    with Wire() as wire:
        wire.result(request("initialize", {"protocolVersion": NEWEST}))
        wire.result(call("tools_load_domain", {"domain": "spare"}))
        assert "spare_one" in names(wire)


@pytest.mark.parametrize(
    "request_",
    [
        call("tools_load_domain", {"domain": "nowhere"}),
        call("tools_load_domain", {"domain": ["spare"]}),
        call("echo", {"domain": "spare"}),
        call("m3_call", {"tool": "echo", "args": {"domain": "spare"}}),
        modern_call("tools_load_domain", {"domain": "spare"}),
    ],
    ids=str,
)
def test_59_nothing_else_changes_the_list(request_: Message) -> None:
    with Wire() as wire:
        wire.open()
        before = names(wire)
        wire.result(request_)
        assert names(wire) == before


def test_a_new_handshake_begins_with_the_list_of_the_launch() -> None:
    with Wire("--tools", "other") as wire:
        wire.open()
        before = names(wire)
        assert wire.ask(call("tools_load_domain", {"domain": "spare"})) == LIST_CHANGED
        wire.read()
        wire.open()
        assert names(wire) == before


def roots(*uris: str) -> Message:
    return {"roots": [{"uri": uri, "name": "n"} for uri in uris]}


def asked_for_roots(wire: Wire, request_id: int = 1) -> Message:
    """Sends a call that looks at the roots; returns the question it brings."""
    question = wire.ask(call("who", request_id=request_id))
    assert question["method"] == "roots/list"
    assert isinstance(question["id"], str)
    return question


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        pytest.param({"result": roots("file:///a")}, ["file:///a"], id="one"),
        pytest.param({"result": roots("file:///a", "file:///b")}, ["file:///a", "file:///b"], id="two"),
        pytest.param({"result": roots()}, [], id="none"),
        pytest.param(
            {"result": {"roots": [{"name": "x"}, 5, {"uri": "file:///a"}]}}, ["file:///a"], id="malformed"
        ),
        pytest.param({"result": None}, [], id="null"),
        pytest.param({"result": {"roots": "file:///a"}}, [], id="text"),
        pytest.param({"error": {"code": -32600, "message": "not supported"}}, [], id="refused"),
        pytest.param({"error": {"code": -32601, "message": "no"}}, [], id="unknown"),
    ],
)
def test_61_the_first_call_that_needs_them_asks_for_the_roots_once(answer: Message, seen: list[str]) -> None:
    with Wire() as wire:
        wire.open(capabilities=ROOTS)
        question = asked_for_roots(wire)
        assert wire.is_silent()  # the reader goes on while the call waits
        first = wire.ask({"jsonrpc": "2.0", "id": question["id"], **answer})
        assert first["result"]["structuredContent"]["roots"] == seen
        assert wire.result(call("who"))["structuredContent"]["roots"] == seen


def test_61_a_client_that_does_not_answer_holds_the_call_up_for_a_while_only() -> None:
    with Wire() as wire:
        wire.open(capabilities=ROOTS)
        asked_for_roots(wire)
        assert wire.read()["result"]["structuredContent"]["roots"] == []


def test_61_changed_roots_are_asked_for_again() -> None:
    with Wire() as wire:
        wire.open(capabilities=ROOTS)
        question = asked_for_roots(wire)
        wire.ask({"jsonrpc": "2.0", "id": question["id"], "result": roots("file:///a")})
        wire.send(notification("notifications/roots/list_changed"))
        again = asked_for_roots(wire, 2)
        answer = wire.ask({"jsonrpc": "2.0", "id": again["id"], "result": roots("file:///b")})
        assert answer["result"]["structuredContent"]["roots"] == ["file:///b"]


def test_61_a_client_that_is_waiting_for_its_roots_question_may_close() -> None:
    with Wire() as wire:
        wire.open(capabilities=ROOTS)
        asked_for_roots(wire)
        assert [message["result"]["structuredContent"]["roots"] for message in wire.end()] == [[]]


@pytest.mark.parametrize(
    ("capabilities", "ready", "who"),
    [
        pytest.param({}, True, call("who"), id="not offered"),
        pytest.param({"roots": None}, True, call("who"), id="null"),
        pytest.param(ROOTS, False, call("who"), id="before initialized"),
        pytest.param(ROOTS, True, modern_call("who"), id="modern request"),
        pytest.param(ROOTS, True, call("echo"), id="a call that does not look"),
    ],
)
def test_61_roots_are_not_asked_for(capabilities: Any, ready: bool, who: Message) -> None:
    with Wire() as wire:
        offer = {"protocolVersion": NEWEST, "capabilities": capabilities}
        wire.result(request("initialize", offer))
        if ready:
            wire.send(notification("notifications/initialized"))
        assert wire.result(who)["structuredContent"].get("roots", []) == []
        assert wire.is_silent()
