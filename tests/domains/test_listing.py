"""Listing: page after page, every memory once, whatever is written meanwhile."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.inference.source import NoEmbedder
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from tests.callers import Agent
from tests.sizes import size


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    """A caller at a fresh store; the test runs once per engine."""
    return Agent(database, clock)


def wrote(agent: Agent, content: str, clock: ManualClock, **more: object) -> str:
    clock.advance(1)
    return agent.call("memory_write", **({"content": content, "type": "fact"} | more))["id"]


def pages(agent: Agent, **arguments: object) -> Iterator[dict[str, Any]]:
    """The pages of a list, each asked for with the cursor of the one before."""
    page = agent.call("memory_list", **arguments)
    yield page
    while "cursor" in page:
        page = agent.call("memory_list", **arguments, cursor=page["cursor"])
        yield page


def listed(agent: Agent, **arguments: object) -> list[str]:
    return [row["content"] for page in pages(agent, **arguments) for row in page["memories"]]


def harbours(agent: Agent, clock: ManualClock, count: int = 7) -> list[str]:
    return [wrote(agent, f"harbour {number} is deep", clock) for number in range(count)]


def test_the_last_recorded_stands_first_or_last_as_asked(agent: Agent, clock: ManualClock) -> None:
    ids = harbours(agent, clock)
    assert [row["id"] for row in agent.call("memory_list")["memories"]] == ids[::-1]
    oldest = agent.call("memory_list", order="oldest", limit=3)
    assert [row["id"] for row in oldest["memories"]] == ids[:3]
    agent.call("memory_update", id=ids[0], title="The first")
    assert agent.call("memory_list")["memories"][0]["id"] == ids[0]


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_page_after_page_shows_every_memory_once_and_says_how_many_there_are(
    agent: Agent, clock: ManualClock, order: str, limit: int
) -> None:
    harbours(agent, clock)
    agent.call("memory_write", content="everywhere there is wind", type="note", scope="user")
    agent.call("memory_write", content="today it rains", type="note", scope="session")
    found = list(pages(agent, order=order, limit=limit))
    assert [page.get("total") for page in found] == [9, *[None] * (len(found) - 1)]
    assert len(found) == -(-9 // limit)
    assert Counter(row["content"] for page in found for row in page["memories"]).most_common(1)[0][1] == 1
    assert sum(len(page["memories"]) for page in found) == 9


def test_memories_of_one_moment_are_told_apart(agent: Agent, clock: ManualClock) -> None:
    """The clock stands still in one transaction: rows of one store time have an order too."""
    items = [{"content": f"harbour {number} is deep", "type": "fact"} for number in range(20)]
    agent.call("memory_write_bulk", items=items)
    assert len({row["recorded_at"] for row in agent.call("memory_list", limit=20)["memories"]}) == 1
    assert sorted(listed(agent, limit=3)) == sorted(item["content"] for item in items)


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_what_others_write_meanwhile_repeats_nothing_and_hides_nothing(
    agent: Agent, clock: ManualClock, order: str
) -> None:
    """New ones are left out, changed ones keep their place and show what they are now."""
    ids = harbours(agent, clock)
    ahead, behind = (ids[1], ids[6]) if order == "newest" else (ids[5], ids[0])
    first = agent.call("memory_list", order=order, limit=2)
    other = agent.who(agent_id="codex")
    wrote(other, "harbour 7 is new", clock)
    clock.advance(1)
    other.call("memory_update", id=ahead, content="harbour is dredged")
    other.call("memory_update", id=ahead, content="harbour is dredged twice")
    other.call("memory_update", id=behind, title="Changed behind the reader's back")
    other.call("memory_delete", id=ids[3])
    second = agent.call("memory_list", order=order, limit=2, cursor=first["cursor"])
    other.call("memory_update", id=ids[4] if order == "newest" else ids[2], title="Seen before")
    rest = [second]
    while "cursor" in rest[-1]:
        rest.append(agent.call("memory_list", order=order, limit=2, cursor=rest[-1]["cursor"]))
    seen = [row for page in [first, *rest] for row in page["memories"]]
    assert sorted(row["id"] for row in seen) == sorted({*ids} - {ids[3]})
    assert [row["content"] for row in seen if row["id"] == ahead] == ["harbour is dredged twice"]


def test_a_bounded_list_leaves_out_to_its_end_what_was_recorded_anew_before_it_was_begun(
    agent: Agent, clock: ManualClock
) -> None:
    ids = harbours(agent, clock, 3)
    until = agent.call("memory_list")["memories"][0]["recorded_at"]
    last = wrote(agent, "harbour 3 is deep", clock)
    clock.advance(1)
    agent.call("memory_update", id=ids[0], title="Recorded anew")
    found = [row["id"] for page in pages(agent, until=until, limit=1) for row in page["memories"]]
    assert (found, last in found) == ([ids[1]], False)
    since = [row["id"] for page in pages(agent, since=until, limit=1) for row in page["memories"]]
    assert since == [ids[0], last, ids[2]]


def test_a_list_of_the_past_stands_still(agent: Agent, clock: ManualClock) -> None:
    """Case B18: known_at lists what was believed then, deleted since or not."""
    ids = harbours(agent, clock)
    then = clock.now()
    clock.advance(1)
    agent.call("memory_delete", id=ids[2])
    clock.advance(1)
    agent.call("memory_update", id=ids[3], content="harbour 3 silted up")
    assert listed(agent, known_at=then, limit=2) == [
        f"harbour {number} is deep" for number in range(6, -1, -1)
    ]
    assert agent.call("memory_list", known_at=then)["total"] == 7
    assert agent.call("memory_list")["total"] == 6


def test_a_list_as_of_a_moment_shows_what_held_then(agent: Agent, clock: ManualClock) -> None:
    old = wrote(agent, "the ferry leaves at noon", clock, valid_from="2020-01-01")
    clock.advance(1)
    agent.call("memory_supersede", old_id=old, content="the ferry leaves at one", valid_from="2025-01-01")
    assert listed(agent) == ["the ferry leaves at one"]
    assert listed(agent, as_of="2022-01-01") == ["the ferry leaves at noon"]


def test_filters_narrow_the_rows_the_total_and_the_counts(agent: Agent, clock: ManualClock) -> None:
    wrote(agent, "we release on Tuesdays", clock, type="decision")
    wrote(agent, "tea is preferred", clock, type="preference", importance=0.9)
    middle = clock.now()
    pinned = wrote(agent, "the port is 8080", clock, conversation_id="talk")
    wrote(agent.who(agent_id="codex"), "the host is atlas", clock)
    wrote(agent, "the trial ran", clock, variant="trial")
    wrote(agent, "it held in spring", clock, valid_from="2025-03-01", valid_to="2027-06-01")
    agent.call("memory_pin", id=pinned)

    def found(**arguments: object) -> set[str]:
        answer = agent.call("memory_list", **arguments)
        assert answer["total"] == len(answer["memories"])
        return {row["content"].split()[-1] for row in answer["memories"]}

    assert found() == {"Tuesdays", "preferred", "8080", "atlas", "spring"}
    assert found(type_filter="decision, preference") == {"Tuesdays", "preferred"}
    assert found(agent_filter="codex") == {"atlas"}
    assert found(conversation_id="talk") == {"8080"}
    assert found(scope="user") == set()
    assert found(variant="trial") == {"Tuesdays", "preferred", "8080", "atlas", "spring", "ran"}
    assert found(since=middle) == {"preferred", "8080", "atlas", "spring"}
    assert found(until=middle) == {"Tuesdays"}
    assert found(valid_until="2025-12-31") == {"spring"}
    assert found(valid_since="2027-07-01") == {"Tuesdays", "preferred", "8080", "atlas"}
    assert found(min_importance=0.8) == {"preferred"}
    assert found(pinned=True) == {"8080"}
    assert found(pinned=False, type_filter="fact") == {"atlas", "spring"}
    assert found(trust_state="verified") == set()
    assert found(trust_state="accepted") == found()
    counted = agent.call("memory_list", counts=True, limit=1)
    assert counted["by_type"] == [
        {"type": "fact", "count": 3},
        {"type": "decision", "count": 1},
        {"type": "preference", "count": 1},
    ]
    assert counted["total"] == 5


def test_a_long_content_is_cut_and_that_is_said(agent: Agent, clock: ManualClock) -> None:
    wrote(agent, "é" * 400, clock)
    wrote(agent, "ü" * 401, clock)
    long, short = agent.call("memory_list")["memories"]
    assert (long["content"], long["cut_from"]) == ("ü" * 400, 401)
    assert (short["content"], "cut_from" in short) == ("é" * 400, False)


def test_a_cursor_of_another_list_is_refused(agent: Agent, clock: ManualClock) -> None:
    harbours(agent, clock)
    cursor = agent.call("memory_list", limit=2)["cursor"]
    for arguments in (
        {"cursor": cursor, "type_filter": "fact"},
        {"cursor": cursor, "order": "oldest"},
        {"cursor": cursor[:-4]},
        {"cursor": "nonsense"},
        {"cursor": "WzEsMiwzLDRd"},
        {"cursor": "'; DROP TABLE memory_items; --"},
    ):
        refused = agent.refusal("memory_list", **arguments)
        assert (refused["code"], bool(refused["hint"])) == ("invalid_argument", True)
    assert len(agent.call("memory_list", cursor=cursor, limit=5)["memories"]) == 5


def test_a_cursor_of_somebody_else_shows_no_more_than_its_bearer_sees(
    agent: Agent, clock: ManualClock
) -> None:
    harbours(agent, clock)
    cursor = agent.call("memory_list", limit=2)["cursor"]
    stranger = agent.who(user_id="bob")
    assert stranger.call("memory_list", cursor=cursor)["memories"] == []
    assert agent.call("memory_list", cursor=cursor)["memories"] != []


ROWS = size(2_000, 60_000)
PEAK_BYTES = 32_000_000
"""Of what Python holds while it pages: a page, its answer, and the caches of statements."""


def test_a_large_store_is_listed_whole_in_bounded_memory(agent: Agent, clock: ManualClock) -> None:
    """Issue 3, point 7: every row once, however many there are."""
    without = replace(agent, embedder=NoEmbedder())
    for first in range(0, ROWS, 500):
        clock.advance(1)
        items = [{"content": f"harbour {first + n} is deep", "type": "fact"} for n in range(500)]
        without.call("memory_write_bulk", items=items)
    seen = bytearray(ROWS)
    tracemalloc.start()
    for page in pages(agent, limit=500):
        for row in page["memories"]:
            seen[int(row["content"].split()[1])] += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(seen) == {1}
    assert peak < PEAK_BYTES
