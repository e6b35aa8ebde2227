"""Requests that carry their version (conformance checklist 29 to 39, 43, 44, 60)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.surfaces.mcp_wire import (
    KEY,
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

NO_METHOD, BAD_PARAMS, BAD_VERSION = -32601, -32602, -32022
SERVER = {KEY + "serverInfo": {"name": "m3-memory", "version": "9.8.7"}}
HINTS = {"ttlMs": 300_000, "cacheScope": "private"}


def test_29_discover_says_all_a_client_needs() -> None:
    with Wire() as wire:
        assert wire.result(modern("server/discover")) == {
            "resultType": "complete",
            "supportedVersions": [MODERN, *LEGACY],
            "capabilities": {"tools": {}},
            "instructions": "Echo what reaches you.",
            "_meta": SERVER,
            **HINTS,
        }


@pytest.mark.parametrize(
    "first",
    [modern("tools/list"), modern_call("echo", {"a": 1}), modern("tools/list", clientInfo=None)],
    ids=str,
)
def test_30_a_first_request_with_its_envelope_is_served(first: Message) -> None:
    with Wire() as wire:
        assert "result" in wire.ask(first)


@pytest.mark.parametrize(
    "envelope",
    [
        {"clientCapabilities": None},
        {"clientCapabilities": []},
        {"clientCapabilities": True},
        {"protocolVersion": 20260728},
        {"protocolVersion": [MODERN]},
        {"protocolVersion": {}},
        {"logLevel": "loud"},
        {"logLevel": ["info"]},
        {"logLevel": 3},
    ],
    ids=str,
)
def test_31_38_a_faulty_envelope_is_refused(envelope: Message) -> None:
    with Wire() as wire:
        assert wire.error(modern("tools/list", **envelope))["code"] == BAD_PARAMS


@pytest.mark.parametrize("key", ["protocolVersion", "clientCapabilities"])
def test_31_null_in_the_envelope_is_refused(key: str) -> None:
    with Wire() as wire:
        message = modern("tools/list")
        message["params"]["_meta"][KEY + key] = None
        assert wire.error(message)["code"] == BAD_PARAMS


@pytest.mark.parametrize("version", ["2025-11-25", "2024-11-05", "2027-01-01", "", "latest"])
def test_32_a_version_not_served_is_named_with_those_that_are(version: str) -> None:
    with Wire() as wire:
        error = wire.error(modern("server/discover", protocolVersion=version))
        assert error["code"] == BAD_VERSION
        assert error["data"] == {"supported": [MODERN], "requested": version}


@pytest.mark.parametrize(
    "message",
    [
        modern("server/discover"),
        modern("tools/list"),
        modern_call("echo"),
        modern_call("error"),
        modern_call("fail"),
    ],
    ids=str,
)
def test_33_43_every_result_is_tagged_and_only_lists_carry_cache_hints(message: Message) -> None:
    with Wire() as wire:
        result = wire.result(message)
        assert (result["resultType"], result["_meta"]) == ("complete", SERVER)
        hints = {key: result[key] for key in HINTS if key in result}
        assert hints == ({} if message["method"] == "tools/call" else HINTS)


@pytest.mark.parametrize(
    "method",
    [
        "ping",
        "logging/setLevel",
        "resources/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "completion/complete",
        "tasks/get",
        "subscriptions/listen",
        "no/such",
    ],
)
def test_34_60_what_the_era_or_this_server_has_not_does_not_exist(method: str) -> None:
    with Wire() as wire:
        assert wire.error(modern(method))["code"] == NO_METHOD


def test_35_both_eras_are_served_side_by_side() -> None:
    with Wire() as wire:
        assert "resultType" in wire.result(modern("server/discover"))
        assert wire.open()["protocolVersion"] == LEGACY[-1]
        assert wire.result(request("tools/list")).keys() == {"tools"}
        assert "resultType" in wire.result(modern("tools/list"))
        assert "resultType" not in wire.result(call("echo"))
        assert "resultType" in wire.result(modern_call("echo"))


def test_initialize_is_legacy_even_inside_an_envelope() -> None:
    with Wire() as wire:
        result = wire.result(modern("initialize", {"protocolVersion": MODERN}))
        assert (result["protocolVersion"], result.get("resultType")) == (LEGACY[-1], None)


def test_37_what_one_request_says_of_its_client_is_not_remembered() -> None:
    with Wire() as wire:
        named = wire.result(modern_call("who"))["structuredContent"]
        unnamed = modern_call("who")
        del unnamed["params"]["_meta"][KEY + "clientInfo"]
        assert (named["name"], wire.result(unnamed)["structuredContent"]["name"]) == ("wire", "")
        del unnamed["params"]["_meta"][KEY + "clientCapabilities"]
        assert wire.error(unnamed)["code"] == BAD_PARAMS


@pytest.mark.parametrize(
    "level", ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
)
def test_38_a_log_level_is_accepted_and_brings_no_messages(level: str) -> None:
    with Wire() as wire:
        assert "result" in wire.ask(modern("tools/list", logLevel=level))
        assert wire.is_silent()


def test_39_two_processes_started_together_both_answer() -> None:
    with Wire() as first, Wire() as second:
        first.send(modern("server/discover"))
        second.send(modern("server/discover"))
        assert second.read() == first.read()


def test_44_loading_a_domain_changes_no_list_and_announces_nothing() -> None:
    with Wire() as wire:
        before = wire.result(modern("tools/list"))
        assert "result" in wire.ask(modern_call("tools_load_domain", {"domain": "spare"}))
        assert wire.result(modern("tools/list")) == before
        wire.open()
        changed = wire.ask(call("tools_load_domain", {"domain": "spare"}))
        assert (changed["method"], wire.read()["id"]) == ("notifications/tools/list_changed", 1)
        assert wire.result(modern("tools/list")) == before


def test_a_cancellation_needs_no_envelope() -> None:
    with Wire() as wire:
        wire.send(notification("notifications/cancelled", {"requestId": 1}))
        assert "result" in wire.ask(modern_call("echo"))


@pytest.mark.parametrize("meta", [None, [], "x", {}, {"progressToken": 1}])
def test_without_the_version_key_a_request_is_legacy(meta: Any) -> None:
    with Wire() as wire:
        assert wire.error(request("tools/list", {"_meta": meta}))["code"] == BAD_PARAMS
        wire.open()
        assert wire.result(request("tools/list", {"_meta": meta})).keys() == {"tools"}
