"""Text in, text out: whatever was written comes back byte for byte, and is found by what stands in it."""

from __future__ import annotations

from typing import Any

from tests.callers import Agent
from tests.stored import stored
from tests.surfaces.doors import CallCommand, Door, error, facts, run, server
from tests.surfaces.mcp_wire import call

PUNCTUATED = "the ask-codex step reads src/main.py at 12:30 (GB/s), don't skip `foo::bar`"
STANDING = (
    "ask-codex",
    "src/main.py",
    "don't",
    "GB/s",
    "foo::bar",
    "12:30",
    "`foo::bar`",
    '"ask-codex step"',
)
SILENT = (
    *('"', "*", "(", ")", "^", "{}", "[]", "`", "'", "%", "_", "\\", "()", "::", "/", "--", "''", ";", "||"),
    *("-x", "AND", "NEAR", "NOT", "OR", "a OR", "NEAR(", "col:val", "zz*", '"zz', "^zz", "zz' OR '1'='1"),
)
"""Operators of query languages, alone or about words that no memory holds."""

SCRIPTS = {
    "日本語メモ: 議事録は金曜": "メモ",
    "ģimene un draugi": "Ģimene",
    "Привет, мир": "привет",
    "\u202bשלום עולם\u202c \u0645\u0631\u062d\u0628\u0627": "\u0645\u0631\u062d\u0628\u0627",
    "family 👩‍👩‍👧‍👦 photo": "photo",
    "cafe\u0301 stored combining": "caf\u00e9",
    "th\u00e9 stored precomposed": "the\u0301",
    "zero\u200bwidth jo\u200diner": "joiner",
    "ＦＵＬＬ width": "full",
    "한국어 메모": "메모",
    "ภาษาไทย": "ภาษาไทย",
}
"""Content, and a query that must find it by words alone."""

LAST = "Finally the harbour master countersigned protocol kestrel-8841."


def hits(agent: Agent, query: str, **arguments: object) -> list[str]:
    return [hit["content"] for hit in agent.call("memory_search", query=query, **arguments)["hits"]]


def test_no_door_reads_a_query_as_syntax(door: Door) -> None:
    """B01 Real words find the row; bare operators find nothing, and why is said."""
    facts(door, "memory_write", content=PUNCTUATED, type="note")
    for query in STANDING:
        assert len(facts(door, "memory_search", query=query)["hits"]) == 1, query
    for query in SILENT:
        answer = facts(door, "memory_search", query=query)
        assert (answer["hits"], bool(answer["empty_because"])) == ([], True), query


def test_every_script_passes_every_door(door: Door) -> None:
    """B03 Byte for byte, titles too, and found by words alone; both forms of an accented letter are one."""
    for content, query in SCRIPTS.items():
        made = facts(door, "memory_write", content=content, title=content, type="note")
        memory = facts(door, "memory_get", id=made["id"])["memory"]
        assert (memory["content"], memory["title"]) == (content, content)
        found = facts(door, "memory_search", query=query, search_mode="keyword")["hits"]
        assert [hit["content"] for hit in found] == [content]


def test_nul_is_refused_and_other_control_characters_are_kept(agent: Agent) -> None:
    """B05 The same on both engines, wherever the text stands."""
    acting = "red \x1b[31m bell \x07 line\u2028paragraph\u2029 back\x08 unit\x1f del\x7f c1\x85 bom\ufeff"
    made = agent.call("memory_write", content=acting, title="a\x1bb", metadata={"k": acting}, type="note")
    memory = agent.call("memory_get", id=made["id"])["memory"]
    assert (memory["content"], memory["title"], memory["metadata"]) == (acting, "a\x1bb", {"k": acting})
    assert hits(agent, "bell") == [acting]
    before = stored(agent.database)
    for bad in (
        {"content": "a\x00b"},
        {"title": "\x00"},
        {"metadata": {"k": "\x00"}},
        {"embed_text": "a\x00"},
    ):
        refused = agent.refusal("memory_write", **{"content": "fine", "type": "note", **bad})
        assert refused["code"].startswith("invalid_")
        assert "NUL" in refused["message"]
    assert stored(agent.database) == before


def test_a_text_up_to_the_limit_is_kept_whole(agent: Agent) -> None:
    """B08 Its last sentence is found at once."""
    filler = " ".join(f"Crate{number} lifted{number}." for number in range(4_000))
    for length in (49_999, 50_000):
        content = f"{length} {filler}"[: length - len(LAST) - 1] + f" {LAST}"
        assert len(content) == length
        made = agent.call("memory_write", content=content, type="note")
        assert agent.call("memory_get", id=made["id"])["memory"]["content"] == content
        assert content in hits(agent, "countersigned kestrel-8841", search_mode="keyword")


def test_what_is_too_large_is_refused_by_every_door_with_the_limit(door: Door) -> None:
    """B08 One character over the limit, one line of 300 kB; the door goes on working."""
    for content in ("x" * 50_001, "y" * 300_000):
        assert "50,000" in error(door, "memory_write", content=content, type="note")["message"]
    title = error(door, "memory_write", content="fine", title="t" * 10_000, type="note")
    assert (title["code"], "500" in title["message"]) == ("invalid_content", True)
    tags = error(
        door,
        "memory_write",
        content="fine",
        metadata={"tags": [f"tag {n}" for n in range(5_000)]},
        type="note",
    )
    assert (tags["code"], "20,000" in tags["message"]) == ("invalid_metadata", True)
    assert facts(door, "memory_search", query="fine")["empty_because"]
    fits = "w " * 25_000
    made = facts(
        door, "memory_write", content=fits, metadata={"tags": [f"t{n}" for n in range(2_000)]}, type="note"
    )
    assert facts(door, "memory_get", id=made["id"])["memory"]["content"] == fits


def test_odd_metadata_is_normalised_or_refused_and_never_breaks_a_read(agent: Agent) -> None:
    """B11."""
    kept: tuple[Any, ...] = (
        {"k": None}, {"a": {"b": [1, None, {"c": False}]}}, {"": ""}, {"n": 2**64 - 1}, {"x": 1e-300},
        {"k": "NaN"}, {"k": []}, {}, {"日本": "é"}, {"__proto__": {"constructor": 1}}, {"k": 1.0},
    )  # fmt: skip
    made = [
        agent.call("memory_write", content=f"kept {n}", type="note", metadata=metadata)["id"]
        for n, metadata in enumerate(kept)
    ]
    made += [
        agent.call("memory_write", content=f"titled {title}", title=title, type="note")["id"]
        for title in ("None", "null", "0", "false")
    ]
    made.append(agent.call("memory_write", content="untitled", title=None, metadata=None, type="note")["id"])
    for memory_id, metadata in zip(made, kept, strict=False):
        assert agent.call("memory_get", id=memory_id)["memory"]["metadata"] == metadata
    assert agent.call("memory_get", id=made[-1])["memory"].items() >= {"title": "", "metadata": {}}.items()
    assert agent.call("memory_get", id=made[-5])["memory"]["title"] == "None"
    for bad in ({"k": float("nan")}, {"k": float("inf")}, '{"k": 1e400}', '{"k": Infinity}'):
        assert (
            agent.refusal("memory_write", content="bad", type="note", metadata=bad)["code"]
            == "invalid_metadata"
        )
    assert agent.refusal("memory_write", content="bad", type="note", user_id=5)["code"] == "invalid_argument"
    assert len(hits(agent, "kept titled untitled", k=100)) == len(made)


def test_twenty_megabytes_are_refused_by_the_command_line() -> None:
    """B08."""
    refused = error(CallCommand(), "memory_write", content="z " * 10_000_000, type="note")
    assert "50,000" in refused["message"]
    assert facts(CallCommand(), "memory_write", content="fine", type="note")["status"] == "created"


def test_twenty_megabytes_are_refused_by_the_server() -> None:
    """B08 Such a line is no message any more; its request is answered all the same, and the next one too."""
    with server() as wire:
        wire.open()
        for number, content in enumerate(("z " * 5_000_000, "z " * 10_000_000)):
            answer = wire.ask(call("memory_write", {"content": content, "type": "note"}, number))
            assert answer["id"] == number
            refused = answer.get("error", {}).get("message") or answer["result"]["content"][0]["text"]
            assert "limit" in refused
        made = wire.result(call("memory_write", {"content": "fine", "type": "note"}, "small"))
        assert made["structuredContent"]["status"] == "created"


BAD_NUMBERS = ('{"k": NaN}', '{"k": 1e400}', '{"k": -Infinity}')


def test_numbers_that_are_none_are_refused_in_a_shell() -> None:
    """B11."""
    for text in BAD_NUMBERS:
        written = run("call", "memory_write", f'{{"content": "raw", "type": "note", "metadata": {text}}}')
        assert (written.error or {}).get("code") == "invalid_metadata", text
        assert run("memory", "write", "raw", "--type", "note", "--metadata", text).error
    assert facts(CallCommand(), "memory_search", query="raw")["empty_because"]
    assert run("memory", "write", "raw", "--type", "note", "--metadata", '{"k": 1e40}').facts


def test_numbers_that_are_none_are_refused_over_the_wire() -> None:
    """B11 As bytes that no JSON writer of ours has touched; the server goes on."""
    head = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"memory_write","arguments":'
    with server() as wire:
        wire.open()
        for text in BAD_NUMBERS:
            line = b'%s{"content":"raw","type":"note","metadata":%s}}}\n' % (head, text.encode())
            answer = wire.ask(line)
            assert answer.get("error") or answer["result"]["isError"], text
        assert wire.result(call("memory_search", {"query": "raw"}))["structuredContent"]["hits"] == []
        fine = wire.ask(b'%s{"content":"raw","type":"note","metadata":{"k": 1e40}}}}\n' % head)
        assert fine["result"]["structuredContent"]["status"] == "created"
