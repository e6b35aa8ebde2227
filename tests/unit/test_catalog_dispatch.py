from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.catalog.dispatch import dispatch
from tests.unit.catalog_tools import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_an_answer_holds_no_member_that_is_absent(desk: Desk) -> None:
    assert desk.result("note_read", text="a") == {
        "text": "a",
        "size": 8,
        "state": "new",
        "tags": [],
        "labels": {},
    }


@pytest.mark.case("B11")
def test_a_null_that_a_user_stored_stays_in_the_answer(desk: Desk) -> None:
    assert desk.result("note_read", text="a", labels={"k": None})["labels"] == {"k": None}


def test_the_text_starts_with_the_headline_and_then_says_the_same_facts(desk: Desk) -> None:
    outcome = desk.call("note_read", text="日本語")
    headline, _, twin = outcome.text.partition("\n")
    assert headline == "Note: 8"
    assert json.loads(twin) == outcome.structured
    assert "日本語" in twin


def test_a_result_without_a_headline_is_its_facts_alone(desk: Desk) -> None:
    outcome = desk.call("tools_list_domains")
    assert json.loads(outcome.text) == outcome.structured


def test_an_error_is_a_code_a_message_and_a_hint(desk: Desk) -> None:
    refused = desk.refusal("note_read", text="a", size=0)
    assert list(refused) == ["code", "message", "hint"]
    assert refused["code"] == "invalid_argument"


def test_an_unknown_tool_is_told_the_near_names(desk: Desk) -> None:
    refused = desk.refusal("note_raed")
    assert refused["code"] == "unknown_tool"
    assert "note_read" in refused["hint"]


@pytest.mark.parametrize("name", ["", "*", "x" * 5_000, "\ud800"])
def test_any_name_that_is_no_tool_is_an_unknown_tool(desk: Desk, name: str) -> None:
    refused = desk.refusal(name)
    assert refused["code"] == "unknown_tool"
    assert len(refused["message"]) < 500


def test_a_reading_tool_cannot_write(desk: Desk) -> None:
    assert desk.refusal("note_peek")["code"] == "read_only_call"
    assert desk.book.writers == []
    assert desk.result("note_write", text="a")["text"] == "a"
    assert desk.book.writers == ["ann"]


def test_a_reading_tool_cannot_write_by_way_of_another_tool(desk: Desk) -> None:
    assert desk.refusal("note_detour")["code"] == "read_only_call"
    assert desk.book.writers == []


def test_an_operating_tool_is_refused_to_an_agent(desk: Desk) -> None:
    assert desk.refusal("note_purge")["code"] == "needs_operator"
    assert desk.book.writers == []
    operator = Desk(is_operator=True)
    assert operator.result("note_purge")["text"] == "purged"
    assert operator.book.writers == ["ann"]


def test_what_nobody_foresaw_is_an_internal_error_that_tells_the_log_alone(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = desk.call("note_break")
    assert outcome.error is not None
    assert outcome.error.code == "internal"
    assert "secret" not in outcome.text
    assert "the innermost secret" in caplog.text


def test_a_result_that_is_no_json_is_an_internal_error(desk: Desk) -> None:
    assert desk.refusal("note_odd")["code"] == "internal"


def test_a_call_has_the_time_its_surface_leaves_it_unless_it_asks_for_less(desk: Desk) -> None:
    desk.within(20)
    assert desk.result("note_time")["seconds_left"] == 20
    assert desk.result("note_time", timeout="2.5")["seconds_left"] == 2.5
    assert desk.result("note_time", timeout=10_000)["seconds_left"] == 20


def test_a_call_in_a_call_never_has_more_time_than_the_outer_one(desk: Desk) -> None:
    inner = {"tool": "note_time", "args": {"timeout": 10}}
    assert desk.result("m3_call", timeout=4, **inner)["result"]["seconds_left"] == 4
    assert desk.result("m3_call", timeout=4, batch=[inner])["batch"][0]["result"]["seconds_left"] == 4
    assert desk.result("m3_call", tool="note_time", args={"timeout": 3})["result"]["seconds_left"] == 3


@pytest.mark.parametrize("tool", ["note_look", "note_write"])
def test_a_call_whose_time_is_up_does_not_ask_the_store(desk: Desk, tool: str) -> None:
    assert desk.result(tool, text="a")["text"] == "a"
    asked = desk.book.asked
    desk.within(0)
    assert desk.refusal(tool, text="a")["code"] == "deadline_passed"
    assert desk.book.asked == asked


@pytest.mark.parametrize("tool", ["note_look", "note_write"])
def test_a_call_nobody_waits_for_does_not_ask_the_store(desk: Desk, tool: str) -> None:
    desk.context = replace(desk.context, cancelled=lambda: True)
    assert desk.refusal(tool, text="a")["code"] == "deadline_passed"
    assert desk.book.asked == 0


@pytest.mark.parametrize("name", ["size", "crooked"])
def test_a_fault_of_ours_in_reading_arguments_is_an_internal_error(desk: Desk, name: str) -> None:
    """Also where it runs before the tool does, and through another tool."""
    arguments = {"text": "a", name: "crooked"}
    codes = {"size": "invalid_argument", "crooked": "internal"}
    assert desk.refusal("note_look", **arguments)["code"] == codes[name]
    assert desk.refusal("m3_call", tool="note_look", args=arguments)["code"] == codes[name]
    assert desk.refusal("m3_call", tool="note_look", args=arguments, dry_run=True)["code"] == codes[name]


@pytest.mark.parametrize("timeout", [0, -1, "soon", True])
def test_a_timeout_is_a_positive_number(desk: Desk, timeout: object) -> None:
    refused = desk.refusal("note_time", timeout=timeout)
    assert refused["code"] == "invalid_argument"
    assert refused["message"].startswith("timeout")


@pytest.mark.parametrize("arguments", [{"store": "main"}, {"store": ""}, {"store": None}, {"database": None}])
def test_the_one_store_is_named_main_or_not_at_all(desk: Desk, arguments: dict[str, Any]) -> None:
    assert desk.result("note_read", text="a", **arguments)["text"] == "a"


def test_another_store_is_unknown(desk: Desk) -> None:
    assert desk.refusal("note_read", text="a", store="other")["code"] == "unknown_store"


def test_no_call_chooses_a_database(desk: Desk) -> None:
    refused = desk.refusal("note_write", text="a", database="/tmp/other.db")
    assert refused["code"] == "invalid_argument"
    assert desk.book.writers == []


def test_arguments_are_not_changed_by_a_call(desk: Desk) -> None:
    arguments = {"text": "a", "size": "3", "timeout": 2}
    dispatch(desk.catalog, desk.context, "note_read", arguments)
    assert arguments == {"text": "a", "size": "3", "timeout": 2}
