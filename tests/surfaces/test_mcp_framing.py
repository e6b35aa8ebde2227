"""Lines and envelopes, whatever the bytes (conformance checklist 1 to 19, and 70)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.surfaces.mcp_wire import Message, Wire, call, notification, request

PARSE, INVALID, BAD_PARAMS = -32700, -32600, -32602
DEEP = b"[" * 200_000 + b"]" * 200_000
LONG_NUMBER = b"7" * 5_000


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire() as wire:
        wire.open()
        yield wire


def line(message: Message) -> bytes:
    return json.dumps(message).encode()


def ping(request_id: Any) -> Message:
    return request("ping", request_id=request_id)


def pong(request_id: Any) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": {}}


def test_1_nothing_but_messages_reaches_the_client_from_a_tool_that_prints() -> None:
    with Wire() as wire:
        wire.open()
        assert wire.result(call("noise"))["structuredContent"] == {"child_read": ""}
        assert wire.is_silent()


@pytest.mark.parametrize(
    "framed",
    [line(ping(5)) + b"\r\n", b"  \t" + line(ping(5)) + b"  \n", json.dumps(ping(5)).encode() + b"\n"],
)
def test_2_line_ends_and_surrounding_blanks_do_not_matter(wire: Wire, framed: bytes) -> None:
    assert wire.ask(framed) == pong(5)


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"   \n", b"\n\n\n"])
def test_3_a_blank_line_is_not_answered(wire: Wire, blank: bytes) -> None:
    wire.send(blank)
    assert wire.is_silent()


def test_4_a_byte_order_mark_before_the_first_line_is_ignored_and_none_comes_back() -> None:
    with Wire() as wire:
        assert wire.ask(b"\xef\xbb\xbf" + line(ping(1)) + b"\n") == pong(1)


@pytest.mark.parametrize(
    ("garbage", "code"),
    [
        pytest.param(b"{nonsense\n", PARSE, id="5 no JSON"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}\n', PARSE, id="5 NaN"),
        pytest.param(b"[" + line(ping(1)) + b"]\n", INVALID, id="6 batch"),
        pytest.param(b"[]\n", INVALID, id="6 empty batch"),
        pytest.param(b'"text"\n', INVALID, id="6 text"),
        pytest.param(b"7\n", INVALID, id="6 number"),
        pytest.param(b"null\n", INVALID, id="6 null"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}\n', PARSE, id="7 invalid UTF-8"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}\n', PARSE, id="7 surrogate bytes"),
        pytest.param(DEEP + b"\n", PARSE, id="8 deep"),
        pytest.param(b'{"jsonrpc":"2.0","id":' + LONG_NUMBER + b"}\n", PARSE, id="8 long number"),
        pytest.param(b"{}\n", INVALID, id="no keys"),
        pytest.param(b'{"jsonrpc":"2.0","method":5}\n', INVALID, id="method is no text"),
        pytest.param(b'{"method":"ping","id":null,"jsonrpc":"2.0"}\n', INVALID, id="15 id null"),
        pytest.param(b'{"method":"ping","id":1.0,"jsonrpc":"2.0"}\n', INVALID, id="15 id float"),
        pytest.param(b'{"method":"ping","id":true,"jsonrpc":"2.0"}\n', INVALID, id="15 id bool"),
        pytest.param(b'{"method":"ping","id":{},"jsonrpc":"2.0"}\n', INVALID, id="15 id object"),
    ],
)
def test_5_to_15_an_unusable_line_is_refused_without_an_id_and_the_next_request_works(
    wire: Wire, garbage: bytes, code: int
) -> None:
    answer = wire.ask(garbage)
    assert answer["id"] is None
    assert answer["error"]["code"] == code
    assert wire.is_silent()


def test_9_a_lone_surrogate_reaches_the_tool_and_comes_back_harmless(wire: Wire) -> None:
    sent = line(call("echo", {"value": "a\ud800b"}))
    assert b"\\ud800" in sent
    result = wire.ask(sent + b"\n")["result"]
    assert result["structuredContent"] == {"arguments": {"value": "a\ufffdb"}}


@pytest.mark.parametrize(
    ("head", "tail", "request_id"),
    [
        pytest.param(b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"x":"', b'"}}\n', 7, id="id first"),
        pytest.param(
            b'{"method":"x","params":{"id":1,"x":"', b'"},"jsonrpc":"2.0","id":"z"}\n', "z", id="id last"
        ),
        pytest.param(b'{"method":"x","params":{"id":1,"x":"', b'","id":2}}\n', None, id="only others' ids"),
    ],
)
def test_10_a_line_beyond_the_limit_gets_one_error_and_service_goes_on(
    wire: Wire, head: bytes, tail: bytes, request_id: Any
) -> None:
    answer = wire.ask(head + b"x" * (16 << 20) + tail)
    assert (answer["id"], answer["error"]["code"]) == (request_id, INVALID)
    assert wire.is_silent()


def test_11_a_last_line_without_its_line_feed_is_processed() -> None:
    with Wire() as wire:
        wire.send(line(ping(1)))
        assert wire.end() == [pong(1)]


def test_11_a_call_accepted_before_the_input_closed_is_answered() -> None:
    with Wire() as wire:
        wire.open()
        wire.send(line(call("echo", {"value": 1})))
        assert [message["id"] for message in wire.end()] == [1]


def test_12_numbers_that_json_has_not_and_half_characters_never_leave(wire: Wire) -> None:
    result = wire.result(call("odd"))
    assert result["content"] == [{"type": "text", "text": "half \ufffd"}]
    assert result["structuredContent"] == {
        "nan": None, "inf": [None], "half": "a\ufffdb", "\ufffd": "\U0001f600", "none": None,
        "halves": "\U0001f600", "lines": "a\u2028b\u2029c\x85d\x0be\x1cf\r\ng",
    }  # fmt: skip


def test_13_an_answer_just_under_the_limit_arrives_whole(wire: Wire) -> None:
    size = 4 * 1024 * 1024 - 500
    assert wire.result(call("big", {"size": size}))["structuredContent"] == {"big": "x" * size}


@pytest.mark.parametrize("request_id", [0, -3, 2**53, "", "0", "i" * 5_000, "é\U0001f600"])
@pytest.mark.parametrize("method", ["ping", "tools/call", "unknown"])
def test_14_an_id_comes_back_with_its_type(wire: Wire, request_id: Any, method: str) -> None:
    answer = wire.ask(request(method, {"name": "echo"}, request_id))
    assert (answer["id"], type(answer["id"])) == (request_id, type(request_id))


@pytest.mark.parametrize("version", [{}, {"jsonrpc": "1.0"}, {"jsonrpc": None}, {"jsonrpc": 2.0}])
def test_16_a_request_of_another_json_rpc_is_refused_under_its_id(wire: Wire, version: Message) -> None:
    answer = wire.ask({"id": 4, "method": "ping", **version})
    assert (answer["id"], answer["error"]["code"]) == (4, INVALID)


def test_a_request_whose_method_is_no_text_is_refused_under_its_id(wire: Wire) -> None:
    answer = wire.ask({"jsonrpc": "2.0", "id": 4, "method": None})
    assert (answer["id"], answer["error"]["code"]) == (4, INVALID)


def test_17_params_null_means_none_and_an_array_is_refused(wire: Wire) -> None:
    assert wire.ask({**ping(1), "params": None}) == pong(1)
    assert wire.error({**ping(1), "params": []})["code"] == BAD_PARAMS


@pytest.mark.parametrize(
    "message",
    [
        notification("notifications/unknown"),
        notification("tools/call", {"name": "fail"}),
        notification("initialize", []),
        notification("notifications/cancelled"),
        notification("notifications/cancelled", []),
        notification("notifications/cancelled", {"requestId": None}),
        notification("notifications/cancelled", {"requestId": [1]}),
        notification("notifications/cancelled", {"requestId": True}),
        notification("notifications/cancelled", {"requestId": "nobody"}),
        notification("notifications/roots/list_changed", 5),
        {"method": "ping"},
        {"jsonrpc": "2.0", "id": "m3-9", "result": {}},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "late"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "late"}},
        {"jsonrpc": "2.0", "id": {}, "result": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("is_open", [False, True])
def test_18_19_notifications_and_stray_responses_are_never_answered(message: Message, is_open: bool) -> None:
    with Wire() as wire:
        if is_open:
            wire.open()
        wire.send(message)
        assert wire.is_silent()


@pytest.mark.parametrize(
    "first", [b"\x00\xff\n", b"GET / HTTP/1.1\r\n", b"[[[\n", b"{}\n", b"\xef\xbb\xbf\n"]
)
def test_70_whatever_comes_first_the_server_neither_ends_nor_hangs(first: bytes) -> None:
    with Wire() as wire:
        wire.send(first, ping("after"))
        answers = [wire.read()]
        while answers[-1]["id"] != "after":
            answers.append(wire.read())
        assert answers[-1] == pong("after")
