from __future__ import annotations

import json

import pytest

from m3_memory.catalog.tool import input_schema
from tests.unit.catalog_tools import Desk, note_read


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_the_domains_are_listed_with_their_tools_counted(desk: Desk) -> None:
    found = desk.result("tools_list_domains")
    assert [(domain["name"], domain["tool_count"]) for domain in found["domains"]] == [
        ("memory", 4),
        ("admin", 3),
        ("tasks", 5),
    ]
    assert all(domain["description"] for domain in found["domains"])
    assert found["essentials_loaded"] == ["note_read", "tools_list_domains", "tools_load_domain", "m3_call"]


def test_loading_a_domain_gives_the_schemas_of_its_tools(desk: Desk) -> None:
    found = desk.result("tools_load_domain", domain="memory")
    assert found["domain"] == "memory"
    assert found["tools_now_available"] == ["note_read", "note_write", "note_peek", "note_detour"]
    assert found["tools_total_registered"] == 12
    assert found["schemas"][0] == {
        "name": "note_read",
        "description": note_read.description,
        "inputSchema": input_schema(note_read),
    }


@pytest.mark.parametrize("domain", ["files", "memry", ""])
def test_a_domain_without_tools_is_refused_with_those_there_are(desk: Desk, domain: str) -> None:
    refused = desk.refusal("tools_load_domain", domain=domain)
    assert refused["code"] == "invalid_argument"
    assert "memory, admin, tasks" in refused["message"]


def test_m3_call_gives_byte_for_byte_the_result_of_the_tool_itself(desk: Desk) -> None:
    arguments = {"text": "x", "size": "3", "labels": {"b": 1, "a": None}}
    through = desk.result("m3_call", tool="note_read", args=arguments)
    assert list(through) == ["ok", "tool", "result"]
    assert (through["ok"], through["tool"]) == (True, "note_read")
    assert json.dumps(through["result"]) == json.dumps(desk.result("note_read", **arguments))


def test_m3_call_takes_the_arguments_as_json_text(desk: Desk) -> None:
    assert desk.result("m3_call", tool="note_read", args='{"text": "x"}')["result"]["text"] == "x"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("note_read", {"text": "a", "size": 0}),
        ("note_read", {"text": "a\x00"}),
        ("note_read", {}),
        ("note_nowhere", {}),
        ("note_purge", {}),
        ("note_peek", {}),
        ("note_break", {}),
        ("note_read", {"text": "a", "store": "other"}),
    ],
)
def test_what_m3_call_refuses_is_what_the_tool_itself_refuses(
    desk: Desk, tool: str, arguments: dict[str, object]
) -> None:
    assert desk.refusal("m3_call", tool=tool, args=arguments) == desk.refusal(tool, **arguments)


def test_the_rights_of_a_tool_are_the_same_through_m3_call() -> None:
    assert Desk().refusal("m3_call", tool="note_purge")["code"] == "needs_operator"
    assert Desk(is_operator=True).result("m3_call", tool="note_purge")["ok"] is True


def test_a_batch_runs_in_order_and_each_call_fails_for_itself(desk: Desk) -> None:
    calls: list[dict[str, object]] = [
        {"tool": "note_write", "args": {"text": "one"}},
        {"tool": "note_write"},
        {"tool": "note_break"},
        {"args": {}},
        {"tool": "note_read", "args": '{"text": "two"}'},
        {"tool": "note_read", "arguments": {}},
    ]
    found = desk.result("m3_call", batch=calls)
    assert found["ok"] is False
    assert [entry["ok"] for entry in found["batch"]] == [True, False, False, False, True, False]
    assert found["batch"][0]["result"]["text"] == "one"
    assert found["batch"][4]["result"]["text"] == "two"
    assert [entry.get("error") for entry in found["batch"]] == [
        None,
        "invalid_argument",
        "internal",
        "invalid_argument",
        None,
        "invalid_argument",
    ]
    assert found["batch"][1]["message"] == "text is missing"


def test_a_batch_with_what_is_no_call_is_refused_whole(desk: Desk) -> None:
    refused = desk.refusal("m3_call", batch=[{"tool": "note_write", "args": {"text": "a"}}, "note_write"])
    assert refused["message"].startswith("batch[1]")
    assert desk.book.writers == []


def test_a_batch_of_a_hundred_runs_and_one_more_is_refused(desk: Desk) -> None:
    call = {"tool": "note_write", "args": {"text": "a"}}
    assert desk.result("m3_call", batch=[call] * 100)["ok"] is True
    assert len(desk.book.writers) == 100
    assert "at most 100" in desk.refusal("m3_call", batch=[call] * 101)["message"]
    assert len(desk.book.writers) == 100


def test_a_batch_leaves_out_large_results_it_has_no_room_for_and_says_so(desk: Desk) -> None:
    """Their status stays, and what is small comes all the same: nothing is done twice for want of its id."""
    large = {"tool": "note_read", "args": {"text": "長" * 50_000}}
    small = {"tool": "note_write", "args": {"text": "a"}}
    found = desk.result("m3_call", batch=[small, large, large, large, small, {"tool": "note_nowhere"}])[
        "batch"
    ]
    assert [entry["ok"] for entry in found] == [True, True, True, True, True, False]
    assert [entry.get("result", {}).get("text", "")[:1] for entry in found] == ["a", "長", "長", "", "a", ""]
    assert "150," in found[3]["message"]
    assert found[3]["hint"]
    assert "message" not in found[1]


def test_an_answer_of_a_hundred_calls_is_bounded(desk: Desk) -> None:
    call = {"tool": "note_read", "args": {"text": "x" * 3_000}}
    assert len(desk.call("m3_call", batch=[call | {"args": {"text": "x" * 40_000}}] * 100).text) < 500_000
    assert all("result" in entry for entry in desk.result("m3_call", batch=[call] * 100)["batch"])


@pytest.mark.parametrize(
    "arguments", [{}, {"tool": "note_read", "batch": [{"tool": "note_read"}]}, {"batch": []}]
)
def test_m3_call_takes_a_tool_or_a_batch(desk: Desk, arguments: dict[str, object]) -> None:
    assert desk.refusal("m3_call", **arguments)["code"] == "invalid_argument"


def test_arguments_beside_a_batch_are_refused_not_ignored(desk: Desk) -> None:
    call = {"tool": "note_write", "args": {"text": "a"}}
    refused = desk.refusal("m3_call", batch=[call], args={"text": "b"})
    assert refused["code"] == "invalid_argument"
    assert refused["message"].startswith("args")
    assert desk.book.writers == []
    assert desk.result("m3_call", batch=[call], args={})["ok"] is True


@pytest.mark.parametrize("name", ["m3_call", "tools_list_domains", "tools_load_domain"])
def test_the_tools_about_tools_are_not_run_through_m3_call(desk: Desk, name: str) -> None:
    assert desk.refusal("m3_call", tool=name)["code"] == "not_dispatchable"
    assert desk.result("m3_call", batch=[{"tool": name}])["batch"][0]["error"] == "not_dispatchable"


def test_a_dry_run_checks_and_does_nothing(desk: Desk) -> None:
    assert desk.result("m3_call", tool="note_write", args={"text": "a"}, dry_run=True) == {
        "ok": True,
        "tool": "note_write",
        "dry_run": True,
    }
    assert desk.refusal("m3_call", tool="note_write", dry_run=True)["code"] == "invalid_argument"
    assert desk.refusal("m3_call", tool="note_purge", dry_run=True)["code"] == "needs_operator"
    assert desk.book.writers == []


def test_each_call_of_a_batch_can_be_dry(desk: Desk) -> None:
    call = {"tool": "note_write", "args": {"text": "a"}}
    found = desk.result("m3_call", batch=[call | {"dry_run": True}, call, call | {"dry_run": "true"}])
    assert [entry.get("dry_run") for entry in found["batch"]] == [True, None, True]
    assert len(desk.book.writers) == 1
    desk.result("m3_call", batch=[call, call | {"dry_run": False}], dry_run=True)
    assert len(desk.book.writers) == 2
