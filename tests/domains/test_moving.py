"""A caller moves memories out and in: all that is visible leaves, and a file that comes in gains nothing."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import integrity, open_database
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from tests.callers import Agent, Hashing
from tests.sizes import size
from tests.stored import stored
from tests.stores import Stores
from tests.whole_stores import UNICODE

NOWHERE = "00000000-0000-7000-8000-000000000000"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def agent(database: Database, clock: ManualClock) -> Agent:
    return Agent(database, clock)


@pytest.fixture
def other(stores: Stores, clock: ManualClock) -> Generator[Agent]:
    """An agent at another store."""
    with closing(open_database(stores.unmade(), clock)) as database:
        yield Agent(database, clock)


def exported(agent: Agent, limit: int = 1000, **arguments: object) -> list[dict[str, Any]]:
    """All lines, page after page."""
    lines: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = agent.call("memory_export", limit=limit, cursor=cursor, **arguments)
        assert len(page["lines"]) <= limit
        lines += page["lines"]
        cursor = page.get("next_cursor", "")
        if not cursor:
            return lines


def as_data(lines: Iterable[object]) -> str:
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def imported(agent: Agent, *lines: object, **arguments: object) -> dict[str, Any]:
    return agent.call("memory_import", data=as_data(lines), **arguments)


def write(agent: Agent, content: str, **arguments: object) -> str:
    found: str = agent.call("memory_write", **{"type": "fact", "content": content, **arguments})["id"]
    return found


def link(agent: Agent, from_id: str, to_id: str) -> None:
    edge = {"kind": "edge", "from_id": from_id, "to_id": to_id, "type": "supports"}
    assert imported(agent, edge)["edges"] == 1


def memory(**fields: object) -> dict[str, object]:
    return {"kind": "memory", "content": "Releases leave on Tuesdays", "type": "fact", **fields}


def contents(lines: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(line["content"] for line in lines if line["kind"] == "memory")


def trusted(agent: Agent, memory_id: str) -> str:
    with agent.database.read("local") as reader:
        statement = "SELECT trust_state FROM memory_validity WHERE memory_id = ? ORDER BY belief DESC LIMIT 1"
        ((state,),) = reader.rows(sql(statement, memory_id))
    return str(state)


def reviews(agent: Agent) -> list[dict[str, Any]]:
    with agent.database.read("local") as reader:
        rows = reader.rows(sql("SELECT kind, state, evidence, plan FROM review_items ORDER BY review_id"))
    return [
        {"kind": r[0], "state": r[1], **json.loads(str(r[2])), "plan": json.loads(str(r[3]))} for r in rows
    ]


def test_an_export_is_what_the_caller_sees_in_one_order(agent: Agent, clock: ManualClock) -> None:
    told = {
        "title": "Tag",
        "metadata": {"k": [None, UNICODE]},
        "importance": 0.75,
        "refresh_on": "2026-06-01",
    }
    first = write(agent, f"Tags are signed {UNICODE}", conversation_id="c-1", source="ci", **told)
    clock.advance(60)
    second = write(agent, "Tags are pushed", valid_to="2027-01-01", scope="user", embed=False)
    link(agent, second, first)
    agent.call("memory_delete", id=write(agent, "Tags are deleted"))
    write(agent, "Tags of an experiment", variant="trial")
    write(agent.who(project="elsewhere"), "Tags of elsewhere")
    write(agent.who(user_id="bob"), "Tags of Bob")
    lines = exported(agent)
    assert [line["kind"] for line in lines] == ["memory", "memory", "edge"]
    assert [line.get("id") for line in lines[:2]] == sorted((first, second))
    one = next(line for line in lines if line.get("id") == first)
    assert one["content"] == f"Tags are signed {UNICODE}"
    assert {name: one[name] for name in told if name != "refresh_on"} == {
        name: told[name] for name in told if name != "refresh_on"
    }
    assert (one["refresh_on"], one["conversation_id"], one["source"]) == (
        "2026-06-01T00:00:00.000000Z",
        "c-1",
        "ci",
    )
    two = next(line for line in lines if line.get("id") == second)
    assert (two["valid_to"], two["scope"], two["embed"]) == ("2027-01-01T00:00:00.000000Z", "user", False)
    assert (lines[2]["from_id"], lines[2]["to_id"], lines[2]["type"]) == (second, first, "supports")
    assert exported(agent, limit=1) == lines


def test_an_export_is_narrowed_and_asks_both_clocks(agent: Agent, clock: ManualClock) -> None:
    old = write(agent, "The port is 8080")
    then = clock.now()
    clock.advance(60)
    new = agent.call("memory_supersede", old_id=old, content="The port is 9090")["id"]
    note = write(agent.who(agent_id="codex"), "A note", type="note", variant="trial")
    assert [line["id"] for line in exported(agent)] == [new]
    assert contents(exported(agent, as_of=then)) == ["The port is 8080"]
    assert contents(exported(agent, known_at=then)) == ["The port is 8080"]
    assert [line["id"] for line in exported(agent, variant="trial", type_filter="note")] == [note]
    assert exported(agent, variant="trial", agent_filter="claude", type_filter="note") == []
    assert exported(agent, since=clock.now(), agent_filter="claude") == exported(agent)
    clock.advance(60)
    assert exported(agent, since=clock.now()) == []
    assert agent.refusal("memory_export", cursor="page 2")["code"] == "invalid_argument"


def test_long_pages_are_cut_at_whole_lines_and_go_on(agent: Agent) -> None:
    """An answer stays under a megabyte, however long the memories are."""
    for number in range(12):
        write(agent, f"{number} " + "é" * 49_000)
    page = agent.call("memory_export")
    assert 1 <= len(page["lines"]) < 12
    assert page["next_cursor"]
    assert len(exported(agent)) == 12


@pytest.mark.case("B84")
def test_what_was_exported_comes_in_elsewhere_with_ids_and_world_times(
    agent: Agent, other: Agent, clock: ManualClock
) -> None:
    first = write(agent, "The freeze lasts", valid_from="2025-03-01", valid_to="2027-04-01", title="Freeze")
    second = write(agent, f"Tags are pushed {UNICODE}", metadata={"k": None}, importance=0.25)
    link(agent, first, second)
    lines = exported(agent)
    clock.set("2026-02-02T00:00:00.000000Z")
    result = imported(other, *lines)
    assert (result["imported"], result["edges"], result["trust_state"]) == (2, 1, "candidate")
    assert exported(other) == []
    for memory_id in (first, second):
        assert trusted(other, memory_id) == "candidate"
    events = other.call("memory_history", memory_id=first)["events"]
    assert [event["kind"] for event in events] == ["link", "create"]


def test_an_operators_import_is_accepted_found_at_once_and_exports_the_same(
    agent: Agent, other: Agent, clock: ManualClock
) -> None:
    """Case B84: imported rows are searchable immediately."""
    first = write(agent, "The freeze lasts", valid_from="2025-03-01", valid_to="2027-04-01", title="Freeze")
    second = write(agent, f"Tags are pushed {UNICODE}", metadata={"k": None}, importance=0.25, scope="user")
    link(agent, first, second)
    lines = exported(agent)
    clock.set("2026-02-02T00:00:00.000000Z")
    operator = Agent(other.database, other.clock, other.caller.as_operator())
    assert imported(operator, *lines)["trust_state"] == "accepted"
    stores_own = {"recorded_at", "agent_id", "origin"}
    said = [{name: line[name] for name in line if name not in stores_own} for line in exported(agent)]
    assert [{n: line[n] for n in line if n not in stores_own} for line in exported(other)] == said
    assert {line["recorded_at"] for line in exported(other)} == {"2026-02-02T00:00:00.000000Z"}
    for mode in ("keyword", "vector"):
        hits = other.call("memory_search", query="tags pushed", search_mode=mode, k=1)["hits"]
        assert [hit["id"] for hit in hits] == [second]


@pytest.mark.case("B84")
def test_a_second_import_changes_nothing(agent: Agent, other: Agent) -> None:
    """Issue 3, point 2: no row, no event, no sighting, whoever said it before."""
    first, second = write(agent, "Tags are signed"), write(agent, "A log line", type="log")
    link(agent, first, second)
    lines = [
        *exported(agent),
        memory(content="No id, twice"),
        memory(content="An id of its own", id="row 17"),
        memory(content="A log line without id", type="log"),
        {"kind": "edge", "from_id": "row 17", "to_id": first, "type": "references"},
        "no object",
    ]
    write(other, "tags are SIGNED.")
    result = imported(other, *lines)
    counted = ("imported", "duplicates", "edges", "malformed", "unchanged")
    assert [result[name] for name in counted] == [4, 1, 2, 1, 0]
    before = stored(other.database)
    again = imported(other, *lines)
    assert [again[name] for name in counted] == [0, 1, 0, 1, 6]
    assert stored(other.database) == before
    assert again["digest"] == result["digest"]


def test_a_files_claims_gain_nothing(agent: Agent, clock: ManualClock) -> None:
    """Issue 3, point 2: verified, other users, agents, projects, store times, all of it ignored."""
    claims = {
        "trust_state": "verified", "verified": True, "actionable": "act", "confidence": 1.0,
        "user_id": "bob", "agent_id": "operator", "change_agent": "operator", "circle": "secret",
        "audience": "user/bob", "owner": 7, "project": "elsewhere", "written_in": "their talk",
        "recorded_at": "2001-01-01T00:00:00.000000Z", "recorded_from": "2001-01-01T00:00:00.000000Z",
        "created_at": "2001-01-01", "expires_at": "2001-01-01T00:00:00.000000Z", "version": 9, "item": 1,
        "origin": "theirs", "pinned": True, "is_operator": True, "event": 1, "scope": "user",
    }  # fmt: skip
    id_ = "11111111-1111-4111-8111-111111111111"
    imported(agent, memory(id=id_, **claims))
    with agent.database.read("local") as reader:
        ((item, belief, state),) = reader.rows(
            sql(
                "SELECT i.agent_id || ' ' || i.circle || ' ' || i.project || ' ' || i.recorded_at || ' '"
                " || i.origin || ' ' || i.version, v.trust_state || ' ' || v.recorded_from || ' '"
                " || v.expires_at || ' ' || a.name, s.pinned FROM memory_items AS i"
                " JOIN memory_validity AS v ON v.item = i.item JOIN audiences AS a ON a.audience = v.audience"
                " JOIN memory_state AS s ON s.memory_id = i.memory_id WHERE i.memory_id = ?",
                id_,
            )
        )
        now, forever = clock.now(), "9999-12-31T23:59:59.999999Z"
        assert item == f"claude local  {now} {reader.origin} 1"
        assert (belief, state) == (f"candidate {now} {forever} user/local", 0)
    assert agent.who(user_id="bob").refusal("memory_get", id=id_)["code"] == "not_found"
    assert exported(agent) == []
    refused = imported(agent, memory(content="x", metadata={"verified": True}))
    assert (refused["refused"], refused["problems"][0]["code"]) == (1, "invalid_metadata")


def test_an_id_of_somebody_else_gives_nothing_away_and_takes_nothing(agent: Agent) -> None:
    theirs = write(agent.who(user_id="bob"), "Bob's own words")
    before = agent.who(user_id="bob").call("memory_history", memory_id=theirs)
    lines = [
        memory(id=theirs, content="Mine under that id"),
        memory(id=NOWHERE, content="Mine under a free one"),
        {"kind": "edge", "from_id": theirs, "to_id": NOWHERE, "type": "supports"},
    ]
    taken = imported(agent, lines[0])
    free = imported(agent, lines[1])
    assert {name: taken[name] for name in taken if name != "digest"} == {
        name: free[name] for name in free if name != "digest"
    }
    assert imported(agent, lines[2])["edges_without_ends"] == 1
    assert imported(agent, *lines)["edges"] == 1
    before_again = stored(agent.database)
    assert imported(agent, *lines)["unchanged"] == 3
    assert stored(agent.database) == before_again
    assert agent.refusal("memory_get", id=theirs)["code"] == "not_found"
    assert agent.who(user_id="bob").call("memory_history", memory_id=theirs) == before
    assert agent.who(user_id="bob").call("memory_get", id=theirs)["memory"]["content"] == "Bob's own words"


def test_another_text_under_a_known_id_is_put_to_a_person(agent: Agent) -> None:
    id_ = write(agent, "The port is 8080", title="Port")
    line = memory(id=id_, content=f"The port is 9090, key {SECRET}")
    result = imported(agent, line)
    assert (result["for_review"], result["imported"]) == (1, 0)
    assert agent.call("memory_get", id=id_)["memory"]["content"] == "The port is 8080"
    (question,) = reviews(agent)
    assert (question["kind"], question["state"]) == ("conflict", "open")
    assert question["said"]["content"].startswith("The port is 9090, key [secret:")
    assert question["plan"]["steps"][0]["id"] == id_
    before = stored(agent.database)
    assert imported(agent, line)["unchanged"] == 1
    assert stored(agent.database) == before


def test_what_a_memory_said_once_or_a_deleted_one_is_no_news(agent: Agent) -> None:
    id_ = write(agent, "The port is 8080")
    gone = write(agent, "Parcels come on Mondays")
    lines = exported(agent)
    agent.call("memory_update", id=id_, content="The port is 9090")
    agent.call("memory_delete", id=gone)
    before = stored(agent.database)
    assert imported(agent, *lines)["unchanged"] == 2
    assert stored(agent.database) == before
    assert contents(exported(agent)) == ["The port is 9090"]


def test_every_line_passes_the_check_of_every_write(agent: Agent, clock: ManualClock) -> None:
    """Secrets out, superseded values refused, duplicates told; each bad line named, the rest in."""
    old = write(agent, "The port is 8080")
    clock.advance(60)
    agent.call("memory_supersede", old_id=old, content="The port is 9090")
    bad: dict[str, tuple[dict[str, object], str]] = {
        "superseded": (memory(content="The port is 8080", valid_from="2020-01-01"), "superseded_value"),
        "blank": (memory(content=" "), "invalid_content"),
        "too long": (memory(content="x" * 50_001), "invalid_content"),
        "no type": (memory(type="opinion"), "invalid_argument"),
        "inverted": (memory(valid_from="2026-01-01", valid_to="2025-01-01"), "invalid_time"),
        "metadata": (memory(metadata=[1]), "invalid_metadata"),
    }
    good = memory(content=f"The token is {SECRET}")
    result = imported(agent, *(line for line, _ in bad.values()), good)
    assert (result["imported"], result["refused"]) == (1, len(bad))
    told = {problem["line"]: problem["code"] for problem in result["problems"]}
    assert told == {number: code for number, (_, code) in enumerate(bad.values(), 1)}
    assert "secret" in result["warnings"][0]
    with agent.database.read("local") as reader:
        rows = reader.rows(sql("SELECT content FROM memory_items"))
    assert any("[secret:" in str(row[0]) for row in rows)
    assert not any(SECRET in str(row[0]) for row in rows)


MALFORMED: tuple[str, ...] = (
    "{", "[]", "7", '"text"', "null", '{"kind": "table"}', '{"kind": 1}', '{"content": 1, "type": "fact"}',
    '{"content": ["a"], "type": "fact"}', '{"content": "a", "type": "fact", "valid_from": "yesterday"}',
    '{"content": "a", "type": "fact", "importance": 2}', '{"content": "a", "importance": NaN}',
    '{"content": "a", "type": "fact", "scope": "org"}', '{"content": "a\\u0000", "type": "fact"}',
    '{"content": "\\ud800", "type": "fact"}', "[" * 9_000, '{"content": "a", "type": "fact"} x',
    '{"kind": "edge", "from_id": 7, "to_id": "x", "type": "related"}', "\x01\x02",
)  # fmt: skip


@pytest.mark.case("B84")
def test_malformed_lines_are_counted_and_named_and_stop_nothing(agent: Agent) -> None:
    data = "\n".join([as_data([memory()]), "", *MALFORMED, "", as_data([memory(content="The last one")])])
    result = agent.call("memory_import", data=data)
    assert (result["imported"], result["malformed"]) == (2, len(MALFORMED))
    assert [problem["line"] for problem in result["problems"]] == [*range(3, len(MALFORMED) + 3)]
    many = agent.call("memory_import", data='{"kind": "memory", "cont\n{}\n' + "x\n" * 100)
    assert (many["malformed"], many["refused"], len(many["problems"])) == (101, 1, 20)


def test_blank_lines_cost_nothing(agent: Agent) -> None:
    """A file that begins with a great many was once looked through anew for each."""
    result = agent.call("memory_import", data="\n" * 300_000 + as_data([memory()]))
    assert (result["imported"], result["malformed"]) == (1, 0)


def test_a_dry_run_tells_and_stores_nothing(agent: Agent) -> None:
    write(agent, "Here already")
    before = stored(agent.database)
    lines = [memory(id=NOWHERE), memory(content="here ALREADY"), {"kind": "edge"}]
    told = imported(agent, *lines, dry_run=True)
    assert (told["dry_run"], told["imported"], told["duplicates"]) == (True, 1, 1)
    assert stored(agent.database) == before
    really = imported(agent, *lines)
    assert {**told, "dry_run": False} == really


def test_the_older_form_in_one_object_comes_in_too(agent: Agent) -> None:
    row = {
        "type": "decision", "title": "Port", "agent_id": "codex", "user_id": "bob", "scope": "",
        "importance": 0.75, "metadata_json": '{"ticket": 7}', "created_at": "2025-03-01 10:00:00",
        "valid_from": None, "is_deleted": 0,
    }  # fmt: skip
    one, two, three = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")
    items = [
        {**row, "id": one, "content": "The port is 9090", "relationships": [
            {"to_id": two, "relationship_type": "supports", "created_at": "2025-03-01"}]},
        {**row, "id": two, "content": "Ports are above 1024", "valid_to": "2027-01-01"},
        {**row, "id": three, "content": "Deleted there", "is_deleted": 1},
        "no item",
    ]  # fmt: skip
    data = json.dumps({"exported_at": "2026-01-01", "item_count": 3, "items": items}, indent=1)
    operator = agent.who(is_operator=True)
    result = operator.call("memory_import", data=data)
    assert [result[name] for name in ("imported", "edges", "malformed")] == [2, 1, 1]
    memory_ = agent.call("memory_get", id=one)["memory"]
    assert (memory_["type"], memory_["importance"], memory_["metadata"]) == ("decision", 0.75, {"ticket": 7})
    assert memory_["valid_from"] == "2025-03-01T10:00:00.000000Z"
    assert agent.call("memory_get", id=two)["memory"]["valid_to"] == "2027-01-01T00:00:00.000000Z"
    before = stored(agent.database)
    assert operator.call("memory_import", data=data)["unchanged"] == 3
    assert stored(agent.database) == before
    assert agent.refusal("memory_import", data='{"items": 7}')["code"] == "invalid_argument"
    assert agent.refusal("memory_import", data='{\n"what": 7}')["code"] == "invalid_argument"


def test_one_event_names_the_file_and_the_store_stays_sound(agent: Agent, clock: ManualClock) -> None:
    """Several chunks are one operation."""
    count = 1100
    silent = Agent(agent.database, clock, agent.caller)
    lines = [
        memory(id=f"{number:08d}-1111-4111-8111-111111111111", content=f"Fact {number}")
        for number in range(count)
    ]
    result = imported(silent, *lines)
    assert result["imported"] == count
    with agent.database.read("local") as reader:
        noted = reader.rows(sql("SELECT reason, operation_id FROM memory_history WHERE kind = 'import'"))
        assert [row[0] for row in noted] == [f"sha256:{result['digest']}"]
        operations = reader.rows(sql("SELECT DISTINCT operation_id FROM memory_history"))
        assert operations == [(noted[0][1],)]
        assert integrity.faults(reader, agent.database.heads.read(), clock.now()) == []


def test_a_store_is_exported_whole_whatever_its_size(agent: Agent, other: Agent) -> None:
    """Issue 3, point 7: every row, page by page."""
    count = size(600, 60_000)
    operator = Agent(agent.database, agent.clock, agent.caller.as_operator(), Hashing())
    for start in range(0, count, 500):
        lines = [
            memory(content=f"Fact {number}", embed=False) for number in range(start, min(count, start + 500))
        ]
        assert imported(operator, *lines)["imported"] == len(lines)
    lines = exported(agent, limit=250)
    assert len(lines) == len({line["id"] for line in lines}) == count
