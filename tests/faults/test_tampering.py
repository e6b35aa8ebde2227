"""Edits of a closed store by raw SQL: each is found and located by the audit, or is a limit that is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from m3_memory.kernel.clock import ManualClock
from m3_memory.kernel.normal import content_hash, normal_hash
from m3_memory.storage import audit, history, integrity, open_database
from m3_memory.storage.database import Database
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import number, text
from tests.callers import Agent
from tests.faults.tampering import OPEN, Attacker, Tampering, digest_of
from tests.sizes import size

PORT = "the service listens on port 8080"


@pytest.fixture
def heads(tmp_path: Path) -> Path:
    return tmp_path / "heads"


@pytest.fixture
def story(store: str, clock: ManualClock, heads: Path) -> dict[str, str]:
    """A closed store of nine events by two agents; the ids of its memories, and which event `made` one."""
    database = open_database(store, clock, heads=heads)
    claude, codex = Agent(database, clock), Agent(database, clock).who(agent_id="codex")
    ids = {"port": claude.call("memory_write", content=PORT, type="fact")["id"]}
    ids["branch"] = codex.call("memory_write", content="releases are cut from main", type="fact")["id"]
    ids["gone"] = claude.call("memory_write", content="the office has a cat", type="fact")["id"]
    for name, title in (("port", "Port"), ("branch", "Branch")):
        clock.advance(1)
        claude.call("memory_update", id=ids[name], title=title)
    claude.call("memory_pin", id=ids["branch"])
    claude.call("memory_delete", id=ids["gone"])
    moved = claude.call("memory_supersede", old_id=ids["port"], content="the service listens on port 9090")
    ids["moved"] = moved["id"]
    events = claude.call("memory_history", memory_id=ids["moved"])["events"]
    ids["made"] = str(next(event["sequence"] for event in events if event["kind"] == "create"))
    assert flaws(database) == {}
    database.close()
    return ids


def flaws(database: Database) -> dict[str, str]:
    """What an audit of the store finds: where, by kind. The doctor finds it too."""
    heads = database.heads.read()
    with database.read("local") as reader:
        (owner,) = audit.owners(reader)
        found = {flaw.kind: flaw.where for flaw in audit.audited(reader, owner, heads).flaws.values()}
        assert not found or integrity.faults(reader, heads, reader.now)
    return found


def _reason(attacker: Attacker, _: dict[str, str]) -> None:
    attacker.run("UPDATE memory_history SET reason = 'as agreed' WHERE sequence = 4")


def _reason_hashed(attacker: Attacker, ids: dict[str, str]) -> None:
    """The event's own hash fits again; the next event's does not."""
    _reason(attacker, ids)
    kept = attacker.run("SELECT sequence, previous_hash, hash FROM memory_history WHERE sequence > 4")
    attacker.rechain(4)
    for sequence, previous, own in kept:
        attacker.run(
            "UPDATE memory_history SET previous_hash = ?, hash = ? WHERE sequence = ?",
            previous,
            own,
            sequence,
        )


def _last_event(attacker: Attacker, _: dict[str, str]) -> None:
    attacker.run("DELETE FROM memory_history WHERE sequence = 9")


def _truncated(attacker: Attacker, _: dict[str, str]) -> None:
    """The end of the history, all that came of it, and the owner's record."""
    first = attacker.one("SELECT event FROM memory_history WHERE sequence = 8")
    attacker.run("DELETE FROM memory_validity WHERE opened_by >= ?", first)
    attacker.run(
        "UPDATE memory_validity SET closed_by = NULL, recorded_to = ? WHERE closed_by >= ?", OPEN, first
    )
    attacker.run("DELETE FROM memory_items WHERE item NOT IN (SELECT item FROM memory_validity)")
    attacker.run("DELETE FROM memory_history WHERE event >= ?", first)
    attacker.rechain(9)


def _middle_event(attacker: Attacker, _: dict[str, str]) -> None:
    attacker.run("DELETE FROM memory_history WHERE sequence = 6")


def _reordered(attacker: Attacker, _: dict[str, str]) -> None:
    for now, then in ((4, 100), (5, 4), (100, 5)):
        attacker.run("UPDATE memory_history SET sequence = ? WHERE sequence = ?", then, now)


def _trusted(attacker: Attacker, ids: dict[str, str]) -> None:
    attacker.run("UPDATE memory_validity SET trust_state = 'verified' WHERE memory_id = ?", ids["moved"])


def _undeleted(attacker: Attacker, ids: dict[str, str]) -> None:
    back = "UPDATE memory_validity SET recorded_to = ?, closed_by = NULL WHERE memory_id = ?"
    attacker.run(back, OPEN, ids["gone"])


def _content(attacker: Attacker, ids: dict[str, str]) -> None:
    attacker.run("UPDATE memory_items SET content = 'port 22' WHERE memory_id = ?", ids["moved"])


def _content_hashed(attacker: Attacker, ids: dict[str, str]) -> None:
    said = "the service listens on port 22"
    attacker.run(
        "UPDATE memory_items SET content = ?, content_hash = ?, normal_hash = ? WHERE memory_id = ?",
        *(said, content_hash(said), normal_hash(said), ids["moved"]),
    )


_COLUMNS = (
    "memory_id, item, version, valid_from, valid_to, {}, recorded_to, trust_state, expires_at, audience,"
    " type, agent_id, conversation_id, variant, {}"
)


def _added(attacker: Attacker, ids: dict[str, str], event: str) -> None:
    """Another open belief of what was deleted, said to be opened by that event."""
    into, values = _COLUMNS.format("recorded_from", "opened_by"), _COLUMNS.format("recorded_from", event)
    attacker.run(
        f"INSERT INTO memory_validity ({into}) SELECT {values} FROM memory_validity WHERE memory_id = ?",
        ids["gone"],
    )
    attacker.run(
        "UPDATE memory_validity SET recorded_to = ? WHERE memory_id = ? AND closed_by IS NULL",
        OPEN,
        ids["gone"],
    )


def _taken_out(attacker: Attacker, ids: dict[str, str]) -> None:
    attacker.run(
        "DELETE FROM memory_history_salts WHERE event IN"
        " (SELECT event FROM memory_history WHERE memory_id = ?)",
        ids["branch"],
    )
    for table in ("memory_validity", "memory_items", "memory_state"):
        attacker.run(f"DELETE FROM {table} WHERE memory_id = ?", ids["branch"])


def _swapped(attacker: Attacker, _: dict[str, str]) -> None:
    for now, then in (("claude", "nobody"), ("codex", "claude"), ("nobody", "codex")):
        attacker.run("UPDATE agents SET agent_id = ? WHERE agent_id = ?", then, now)


def _rewritten(attacker: Attacker, ids: dict[str, str]) -> None:
    """Another text with every hash, the event's digest, the chain and the owner's record made to fit."""
    _content_hashed(attacker, ids)
    attacker.redigest(ids["moved"])
    attacker.rechain()


TAMPERINGS: Mapping[str, tuple[Tampering, dict[str, str]]] = {
    "an event's reason changed": (_reason, {"changed": "event 4"}),
    "the same with the event's own hash": (_reason_hashed, {"changed": "event 5"}),
    "the last event taken out": (_last_event, {"head": "event 9", "end": "event 9"}),
    "the end cut off with the owner's record": (_truncated, {"head": "event 9"}),
    "an event in the middle taken out": (_middle_event, {"missing": "event 6"}),
    "two events in another order": (_reordered, {"changed": "event 4"}),
    "a belief's trust changed": (_trusted, {"digest": "event {made}, memory {moved}"}),
    "a deleted memory brought back": (_undeleted, {"digest": "event 7, memory {gone}"}),
    "a content changed": (
        _content,
        {"content": "event {made}, memory {moved}", "digest": "event {made}, memory {moved}"},
    ),
    "a content changed with its hashes": (_content_hashed, {"digest": "event {made}, memory {moved}"}),
    "a belief added that an event opened already": (
        lambda attacker, ids: _added(attacker, ids, "opened_by"),
        {"belief_twice": "memory {gone}"},
    ),
    "a belief added that no event opened": (
        lambda attacker, ids: _added(attacker, ids, "1000"),
        {"belief_without_event": "memory {gone}"},
    ),
    "a belief added that an event of another memory opened": (
        lambda attacker, ids: _added(attacker, ids, "opened_by - 1"),
        {"belief_without_event": "memory {gone}"},
    ),
    "a memory taken out with its salts": (_taken_out, {"gone": "memory {branch}"}),
    "two agents' names swapped": (_swapped, {"another_agent": "memory {port}"}),
    "all of it rewritten to fit": (_rewritten, {"head": "event 9"}),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_an_edit_past_us_is_found_and_located(
    story: dict[str, str], store: str, clock: ManualClock, heads: Path, name: str
) -> None:
    """Issue 4, point 7."""
    tamper, expected = TAMPERINGS[name]
    tamper(Attacker(store, heads), story)
    database = open_database(store, clock, heads=heads)
    found = flaws(database)
    database.close()
    for kind, where in expected.items():
        assert found.get(kind) == where.format(**story), found


def test_a_trust_given_by_hand_is_found_whatever_event_it_is_said_to_come_of(
    store: str, clock: ManualClock, heads: Path
) -> None:
    """Events that open no belief can't be said to have opened one: a question, an import, a pin."""
    database = open_database(store, clock, heads=heads)
    agent = Agent(database, clock)
    memory_id = agent.call("memory_write", content=PORT, type="fact")["id"]
    clock.advance(1)
    agent.call("review_propose", steps=[{"act": "verify", "id": memory_id}], reason="seen")
    assert flaws(database) == {}
    database.close()
    attacker = Attacker(store, heads)
    event, at = attacker.run("SELECT event, store_time FROM memory_history WHERE kind = 'review'")[0]
    attacker.run(
        "UPDATE memory_validity SET recorded_to = ?, closed_by = ? WHERE memory_id = ?", at, event, memory_id
    )
    into = _COLUMNS.format("recorded_from", "opened_by")
    values = into.replace("recorded_from", "recorded_to").replace("opened_by", "closed_by")
    values = values.replace("recorded_to, trust_state", f"'{OPEN}', 'verified'")
    attacker.run(f"INSERT INTO memory_validity ({into}) SELECT {values} FROM memory_validity")
    database = open_database(store, clock, heads=heads)
    found = flaws(database)
    database.close()
    assert {"belief_without_event", "belief_closing", "digest"} <= found.keys()


@pytest.fixture
def undone(store: str, clock: ManualClock, heads: Path) -> str:
    """A closed store with a memory that was updated, set back by undo, and updated again."""
    database = open_database(store, clock, heads=heads)
    agent = Agent(database, clock)
    memory_id = agent.call("memory_write", content=PORT, type="fact")["id"]
    clock.advance(1)
    agent.call("memory_update", id=memory_id, content="the service listens on port 8081")
    clock.advance(1)
    agent.call("memory_undo", memory_id=memory_id)
    clock.advance(1)
    agent.call("memory_update", id=memory_id, content="the service listens on port 8082")
    assert flaws(database) == {}
    database.close()
    return memory_id


def _numbered(attacker: Attacker, version: int) -> None:
    attacker.run(
        "UPDATE memory_history SET version = ? WHERE event = (SELECT max(event) FROM memory_history)", version
    )
    attacker.rechain()
    attacker.note_head()


def test_the_number_that_older_releases_gave_a_version_after_an_undo_is_no_flaw(
    undone: str, store: str, clock: ManualClock, heads: Path
) -> None:
    attacker = Attacker(store, heads)
    for version, expected in ((2, {}), (3, {}), (1, {"version": f"memory {undone}"})):
        _numbered(attacker, version)
        database = open_database(store, clock, heads=heads)
        assert flaws(database) == expected
        database.close()


def test_an_erasure_of_one_memory_excuses_no_other(
    story: dict[str, str], store: str, clock: ManualClock, heads: Path
) -> None:
    database = open_database(store, clock, heads=heads)
    person = Agent(database, clock)
    person = replace(person, caller=person.caller.as_operator())
    preview = person.call("gdpr_forget", ids=[story["gone"]])
    person.call("gdpr_forget", ids=[story["gone"]], confirm=preview["confirm"])
    assert flaws(database) == {}
    database.close()
    _taken_out(Attacker(store, heads), story)
    database = open_database(store, clock, heads=heads)
    assert flaws(database)["gone"] == f"memory {story['branch']}"
    database.close()


def test_who_rewrites_all_of_it_and_the_head_beside_it_is_not_found(
    story: dict[str, str], store: str, clock: ManualClock, heads: Path
) -> None:
    """The limit that SECURITY.md names: a head kept elsewhere shows it, as m3 audit export gives one."""
    before = json.loads(heads.read_text())
    attacker = Attacker(store, heads)
    _rewritten(attacker, story)
    attacker.note_head()
    database = open_database(store, clock, heads=heads)
    assert flaws(database) == {}
    (kept,) = [tuple(head) for name, head in before.items() if name.endswith("/local")]
    with database.read("local") as reader:
        (owner,) = audit.owners(reader)
        found = audit.audited(reader, owner, {f"{reader.origin}/local": kept})
    database.close()
    assert {flaw.kind: flaw.where for flaw in found.flaws.values()} == {"head": "event 9"}


def test_an_audit_tells_where_the_history_ends_and_how_much_it_saw(
    story: dict[str, str], store: str, clock: ManualClock, heads: Path
) -> None:
    database = open_database(store, clock, heads=heads)
    with database.read("local") as reader:
        (owner,) = audit.owners(reader)
        report = audit.audited(reader, owner, {})
        lines = [json.loads(line) for line in audit.exported(reader, owner, {})]
    database.close()
    assert (report.events, report.unchecked, report.head[0]) == (9, 0, 9)
    assert [line["sequence"] for line in lines[1:]] == list(range(1, 10))
    assert (lines[0]["head"], lines[-1]["hash"]) == ([9, report.head[1]], report.head[1])
    assert story["moved"] in {line["memory_id"] for line in lines[1:]}
    assert not [line for line in lines if "listens" in json.dumps(line)]


def test_a_digest_is_guessed_while_its_salt_is_there_and_not_without(
    database: Database, clock: ManualClock
) -> None:
    """Issue 4, point 7: without the salt there is nothing to try six digits against."""
    digits = size(20_000, 1_000_000)
    agent = Agent(database, clock)
    secret = f"{digits - 7:06}"
    made = agent.call("memory_write", content=secret, type="fact")["id"]
    with database.read("local") as reader:
        event, salt, kept = reader.rows(
            sql(
                "SELECT h.event, s.salt, h.digest_after FROM memory_history AS h"
                " JOIN memory_history_salts AS s ON s.event = h.event WHERE h.memory_id = ?",
                made,
            )
        )[0]
        says = reader.rows(
            sql(
                "SELECT valid_from, valid_to, trust_state, audience FROM memory_validity WHERE memory_id = ?",
                made,
            )
        )[0]
    assert isinstance(salt, bytes)

    def guessed(key: bytes) -> list[str]:
        said = text(kept).partition(":")[0]
        tried = (f"{number:06}" for number in range(digits))
        return [guess for guess in tried if digest_of(key, ("fact", "", guess, "{}", "", *says)) == said]

    assert guessed(salt) == [secret]
    with database.write("local") as writer:
        history.forget_salts(writer, [number(event)])
    with database.read("local") as reader:
        left = [row[0] for row in reader.rows(sql("SELECT salt FROM memory_history_salts"))]
        assert history.verify(reader, audit.owners(reader)[0].owner) is None
    assert salt not in left
    assert guessed(b"") == []
    assert guessed(reader.secret_key) == []


def test_how_a_memory_ranks_is_digested_apart_from_what_it_says() -> None:
    """A change of rank leaves the first part of a digest as it was."""
    texts = [history.digestible_text(("fact", "a\x1eb"), (rank, 0)) for rank in (0.5, 0.9)]
    assert len({each.partition("\x1e")[0] for each in texts}) == 1
    assert len(set(texts)) == 2
