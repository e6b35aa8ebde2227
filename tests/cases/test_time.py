"""What was believed then, what held then, and which forms of a moment are read."""

from __future__ import annotations

from m3_memory.kernel.clock import ManualClock
from tests.callers import Agent
from tests.surfaces.doors import Door, facts

MYSQL = "The billing database is MySQL"
POSTGRES = "The billing database is Postgres"
ORACLE = "A billing database on Oracle was considered"
QUERIES = (
    {"query": "The billing database is MySQL"},
    {"query": '"billing database"'},
    {"query": "which database does billing use"},
    {"query": "billing database", "search_mode": "keyword"},
    {"query": "billing database", "search_mode": "vector"},
    {"query": "database", "type_filter": "fact"},
)
"""An exact phrase, words, a paraphrase, each mode, and a narrowed search."""

FORMS = {
    "2026-03-29": "2026-03-29T00:00:00.000000Z",
    "2026-03-29T02:30:00": "2026-03-29T02:30:00.000000Z",  # in a gap of summer time somewhere: read as UTC
    "2026-03-29T02:30": "2026-03-29T02:30:00.000000Z",
    "2026-03-29T02:30:00Z": "2026-03-29T02:30:00.000000Z",
    "2026-03-29T02:30:00+09:00": "2026-03-28T17:30:00.000000Z",
    "2026-03-29T02:30:00-08:00": "2026-03-29T10:30:00.000000Z",
    "2026-03-29T02:30:00.5Z": "2026-03-29T02:30:00.500000Z",
    "2024-02-29": "2024-02-29T00:00:00.000000Z",
}


def tick(agent: Agent, seconds: float = 60) -> str:
    """Lets time pass; returns the moment that then is."""
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(seconds)
    return agent.clock.now()


def found(agent: Agent, **arguments: object) -> set[str]:
    return {
        hit["content"]
        for hit in agent.call("memory_search", **{"query": "billing database", **arguments})["hits"]
    }


def test_every_path_shows_what_was_believed_then(agent: Agent) -> None:
    """B18 World time by `as_of`, what the store knew by `known_at`; in every kind of search and in get."""
    old = agent.call("memory_write", content=MYSQL, type="fact")["id"]
    gone = agent.call("memory_write", content=ORACLE, type="fact")["id"]
    first = tick(agent)
    tick(agent)
    new = agent.call("memory_supersede", old_id=old, content=POSTGRES)["id"]
    second = tick(agent)
    tick(agent)
    agent.call("memory_delete", id=gone)
    third = tick(agent)
    for query in QUERIES:
        assert found(agent, **query) == {POSTGRES}, query
        assert found(agent, **query, as_of=third) == {POSTGRES}
        assert found(agent, **query, as_of=second) == {POSTGRES}
        assert found(agent, **query, as_of=first) == {MYSQL}, "the store holds the deleted one for no time"
        assert found(agent, **query, known_at=first, as_of=first) == {MYSQL, ORACLE}
        assert found(agent, **query, known_at=second, as_of=second) == {POSTGRES, ORACLE}
        assert found(agent, **query, known_at=third, as_of=third) == {POSTGRES}
        assert found(agent, **query, known_at=first) == {MYSQL, ORACLE}, "nothing was known of an end"

    def content(memory_id: str, **moment: str) -> str:
        return agent.call("memory_get", id=memory_id, **moment).get("memory", {}).get("content", "")

    assert (content(old), content(new), content(gone)) == ("", POSTGRES, "")
    assert (content(old, as_of=first), content(old, as_of=second)) == (MYSQL, "")
    assert (content(new, as_of=first), content(new, as_of=second)) == ("", POSTGRES)
    assert (content(gone, known_at=second), content(gone, known_at=third), content(gone, as_of=first)) == (
        ORACLE, "", "",
    )  # fmt: skip


def test_what_ended_before_it_was_written_is_read_with_a_moment_of_its_own(agent: Agent) -> None:
    """B19 No supersession, only an end in the past; its sibling without an end is there by default."""
    ended = agent.call(
        "memory_write", content=MYSQL, type="fact", valid_from="2024-01-01", valid_to="2025-06-01"
    )
    assert ended["status"] == "created"
    assert any("as_of" in warning for warning in ended["warnings"])
    agent.call("memory_write", content=POSTGRES, type="fact", valid_from="2024-01-01")
    for query in QUERIES:
        assert found(agent, **query) == {POSTGRES}, query
        assert found(agent, **query, as_of="2025-06-01") == {POSTGRES}
        for inside in ("2024-01-01", "2025-05-31T23:59:59.999999"):
            assert found(agent, **query, as_of=inside) == {MYSQL, POSTGRES}
        assert found(agent, **query, as_of="2023-12-31") == set()
    answer = agent.call("memory_get", id=ended["id"])
    assert (answer["status"], answer["state"]) == ("not_current", "ended")
    assert "memory" not in answer


def test_every_accepted_form_is_stored_in_utc(agent: Agent) -> None:
    """B20 A moment without a zone is UTC, in each argument that takes one."""
    for number, (form, stored) in enumerate(FORMS.items()):
        for argument in ("valid_from", "valid_to", "refresh_on"):
            given = {"valid_from": "2001-01-01", argument: form}
            made = agent.call("memory_write", content=f"Shift {number} {argument}", type="note", **given)
            moment = stored if argument == "valid_from" else "2010-01-01"
            memory = agent.call("memory_get", id=made["id"], as_of=moment)["memory"]
            assert memory[argument] == stored


def test_a_moment_is_the_same_in_every_form(agent: Agent) -> None:
    """B20 The last instant before and the first of an interval, asked in four zones."""
    agent.call("memory_write", content=MYSQL, type="fact", valid_from="2026-03-29T02:30:00+09:00")
    for same in (
        "2026-03-28T17:30",
        "2026-03-28T17:30:00Z",
        "2026-03-28T10:30:00-07:00",
        "2026-03-29T02:30+09:00",
    ):
        assert found(agent, as_of=same) == {MYSQL}
    for before in ("2026-03-28", "2026-03-28T17:29:59.999999", "2026-03-29T02:29+09:00", "0001-01-01"):
        assert found(agent, as_of=before) == set()
    assert found(agent, as_of="9999-12-31T23:59:59.999998Z") == {MYSQL}


def test_the_past_is_told_by_every_door(door: Door) -> None:
    """B18, B19, B20 A correction with its date, asked before, at and after that date."""
    old = facts(door, "memory_write", content=MYSQL, type="fact", valid_from="2024-01-01")["id"]
    facts(door, "memory_supersede", old_id=old, content=POSTGRES, valid_from="2025-01-01T09:00:00+09:00")
    for moment, content in (
        ("2024-06-01", [MYSQL]),
        ("2024-12-31T23:59:59.999999Z", [MYSQL]),
        ("2025-01-01T00:00:00Z", [POSTGRES]),
        ("2023-01-01", []),
    ):
        hits = facts(door, "memory_search", query="billing database", as_of=moment)["hits"]
        assert [hit["content"] for hit in hits] == content, moment
    assert [hit["content"] for hit in facts(door, "memory_search", query="billing database")["hits"]] == [
        POSTGRES
    ]
