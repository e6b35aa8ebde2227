"""The host's own prompt: asked only of a client that shows forms, about one conflict, and never for long.

Conformance checklist 61 and 63.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from m3_memory.surfaces.mcp.versions import LEGACY
from tests.surfaces.mcp_wire import Message, Wire, call, modern_call

FORMS: Message = {"elicitation": {}}
NEWER = {"content": "new\u202e"}


def disputed(request_id: Any = 1, **answer: Any) -> Message:
    """A call of the echo server that comes to a conflict."""
    return call("spare_two", {**NEWER, "answer": answer}, request_id)


def replied(wire: Wire, question: Message, result: Message) -> Message:
    """The structured answer of the call, once the client answers the question so."""
    assert question["method"] == "elicitation/create"
    return wire.ask({"jsonrpc": "2.0", "id": question["id"], **result})["result"]["structuredContent"]


def accepted(holds: Any) -> Message:
    return {"result": {"action": "accept", "content": {"holds": holds}}}


@pytest.mark.parametrize(
    ("result", "decision"),
    [
        (accepted("newer"), "accept"),
        (accepted("both"), "reject"),
        (accepted("older"), "withdraw"),
        (accepted("bury"), None),
        (accepted(["newer"]), None),
        ({"result": {"action": "accept"}}, None),
        ({"result": {"action": "decline", "content": {"holds": "newer"}}}, None),
        ({"result": {"action": "cancel"}}, None),
        ({"result": None}, None),
        ({"error": {"code": -32601, "message": "no"}}, None),
    ],
)
def test_only_a_plain_answer_decides(result: Message, decision: str | None) -> None:
    with Wire() as wire:
        wire.open(capabilities=FORMS)
        answer = replied(wire, wire.ask(disputed()), result)
        assert (answer["status"], answer.get("settled")) == ("disputed", decision)
        assert wire.is_silent()


def test_the_question_shows_both_texts_and_nothing_that_acts_on_a_terminal() -> None:
    with Wire() as wire:
        wire.open(capabilities={"elicitation": {"form": {}, "url": {}}})
        question = wire.ask(disputed())
        asked = question["params"]
        assert asked["mode"] == "form"
        assert asked["requestedSchema"]["properties"]["holds"]["enum"] == ["newer", "both", "older"]
        assert ("old" in asked["message"], "new" in asked["message"]) == (True, True)
        assert all(char.isprintable() or char == "\n" for char in asked["message"])
        replied(wire, question, accepted("both"))


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": True}])
def test_a_client_without_forms_is_not_asked(capabilities: Message) -> None:
    with Wire() as wire:
        wire.open(capabilities=capabilities)
        assert "settled" not in wire.result(disputed())["structuredContent"]


@pytest.mark.parametrize("version", LEGACY)
def test_forms_exist_since_a_revision_and_their_mode_since_another(version: str) -> None:
    with Wire() as wire:
        wire.open(version, capabilities=FORMS)
        first = wire.ask(disputed())
        is_asked = first.get("method") == "elicitation/create"
        assert is_asked is (version >= "2025-06-18")
        if is_asked:
            assert ("mode" in first["params"]) is (version >= "2025-11-25")
            replied(wire, first, accepted("both"))


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "created"},
        {"review_id": None},
        {"conflicts": []},
        {"conflicts": [{"content": "a"}, {"content": "b"}]},
    ],
)
def test_what_is_no_conflict_of_two_is_not_asked(answer: Message) -> None:
    with Wire() as wire:
        wire.open(capabilities=FORMS)
        assert "settled" not in wire.result(disputed(**answer))["structuredContent"]


def test_one_prompt_at_a_time_and_others_are_served_meanwhile() -> None:
    with Wire() as wire:
        wire.open(capabilities=FORMS)
        question = wire.ask(disputed(1))
        assert "settled" not in wire.result(disputed(2))["structuredContent"]
        assert wire.result(call("echo", request_id=3))["structuredContent"] == {"arguments": {}}
        assert replied(wire, question, accepted("newer"))["settled"] == "accept"


def test_a_call_that_was_given_up_is_not_settled() -> None:
    with Wire() as wire:
        wire.open(capabilities=FORMS)
        question = wire.ask(disputed(1))
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        wire.send({"jsonrpc": "2.0", "id": question["id"], **accepted("newer")})
        assert wire.is_silent()


def test_a_client_that_leaves_without_an_answer_keeps_nobody_waiting() -> None:
    with Wire() as wire:
        wire.open(capabilities=FORMS)
        wire.ask(disputed(1))
        (last,) = wire.end()
        assert "settled" not in last["result"]["structuredContent"]


def test_the_modern_era_gets_the_answer_as_it_is() -> None:
    with Wire() as wire:
        result = wire.result(modern_call("spare_two", NEWER))
        assert (result["resultType"], "settled" in result["structuredContent"]) == ("complete", False)


def test_the_product_asks_and_the_answer_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M3_EMBEDDER", "hashing")
    said = [
        {"content": f"The gateway listens on port {port}", "type": "fact", "valid_from": "2026-01-01"}
        for port in (4000, 4100)
    ]
    with Wire("--project", "atlas", command=[sys.executable, "-m", "m3_memory"]) as wire:
        wire.open(capabilities=FORMS)
        older = wire.result(call("memory_write", said[0], 1))["structuredContent"]["id"]
        question = wire.ask(call("memory_write", said[1], 2))
        for text in said:
            assert text["content"] in question["params"]["message"]
        answer = replied(wire, question, accepted("newer"))
        assert (answer["status"], answer["superseded"]) == ("superseding", [older])
        listed = wire.result(call("review_list", {"review_id": answer["review_id"]}, 3))
        (review,) = listed["structuredContent"]["reviews"]
        assert (review["state"], review["decided_by"]) == ("accepted", "elicited")
