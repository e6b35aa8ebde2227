"""Erasure: what a person has erased is nowhere any more, whatever might bring it back; the rest stays."""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import erasure, ledger, open_database, queue
from m3_memory.storage.audit import audited, owners
from m3_memory.storage.backup import back_up, backups_in
from m3_memory.storage.integrity import faults
from m3_memory.storage.probe import forms_of, our_files, probe_files, probe_rows
from m3_memory.storage.scheduled_backup import renew_copies
from m3_memory.storage.sql import sql
from tests.callers import Agent
from tests.stores import Stores

SECRET = "zqplanted “Ünïcode” 日本 quartz"
OTHER = "zqneighbour stays where it is"


@pytest.fixture
def location(stores: Stores) -> str:
    return stores.fresh()


@pytest.fixture
def agent(location: str, tmp_path: Path) -> Generator[Agent]:
    clock = ManualClock()
    heads = tmp_path / "noted.head"
    with closing(open_database(location, clock, heads=heads)) as database:
        yield Agent(database, clock, Caller("local", "claude", "session-1", project="atlas"))


def operator(agent: Agent) -> Agent:
    return replace(agent, caller=agent.caller.as_operator())


def write(agent: Agent, content: str, **more: object) -> str:
    assert isinstance(agent.clock, ManualClock)
    agent.clock.advance(1)
    found: str = agent.call("memory_write", content=content, **{"type": "fact", **more})["id"]
    return found


def forget(agent: Agent, /, **subject: object) -> dict[str, Any]:
    """The erasure, as a person does it: looked at, then confirmed."""
    shown = operator(agent).call("gdpr_forget", **subject)
    assert shown["status"] == "preview"
    return operator(agent).call("gdpr_forget", **subject, confirm=shown["confirm"])


def planted(agent: Agent) -> str:
    """A memory that says the secret in every text it has, with a past, edges and a question about it."""
    told = {
        "title": f"T {SECRET}",
        "metadata": {"k": SECRET},
        "refresh_reason": f"R {SECRET}",
        "embed_text": SECRET,
    }
    first = write(
        agent, f"{SECRET} was first", conversation_id=f"c {SECRET}", refresh_on="2026-05-01", **told
    )
    agent.call("memory_update", id=first, content=f"{SECRET} was corrected")
    agent.call("memory_link", from_id=first, to_id=write(agent, OTHER), relationship_type="related")
    agent.call("memory_import", data=json.dumps({"kind": "memory", "id": first, "content": f"no, {SECRET}!"}))
    return first


def rows(agent: Agent, statement: str) -> list[tuple[object, ...]]:
    with agent.database.read("local") as reader:
        return list(reader.rows(sql(statement)))  # pyright: ignore[reportArgumentType]


def stands(agent: Agent, *texts: str) -> bool:
    with agent.database.read("local") as reader:
        return any(probe_rows(reader, texts))


def test_what_was_forgotten_is_in_no_row_and_its_neighbours_are_untouched(agent: Agent) -> None:
    id_ = planted(agent)
    elsewhere = write(agent.who(project="bridge"), f"{SECRET} was corrected")
    assert stands(agent, SECRET)
    assert stands(agent, OTHER)
    before = agent.who(project="bridge").call("memory_get", id=elsewhere)
    done = forget(agent, ids=[id_])
    assert (done["status"], done["memories"], done["ids"]) == ("erased", 1, [id_])
    assert {"memory_items", "memory_validity", "memory_relationships", "review_items"} <= done[
        "counts"
    ].keys()
    with agent.database.read("local") as reader:
        assert erasure.counted(reader, [id_]) == {}
    assert agent.refusal("memory_get", id=id_)["code"] == "not_found"
    assert agent.refusal("memory_history", memory_id=id_)["code"] == "not_found"
    for at in ({}, {"as_of": "2026-01-01T00:00:01Z"}, {"known_at": "2026-01-01T00:00:01Z"}):
        assert agent.call("memory_search", query=SECRET, **at)["hits"] == []
    assert agent.who(project="bridge").call("memory_get", id=elsewhere) == before
    assert len(agent.call("memory_search", query=OTHER)["hits"]) == 1
    forget(agent.who(project="bridge"), ids=[elsewhere])
    assert not stands(agent, SECRET)
    assert stands(agent, OTHER)


def test_a_person_alone_forgets_and_only_what_was_shown(agent: Agent) -> None:
    id_ = write(agent, SECRET)
    for tool in ("gdpr_forget", "gdpr_export"):
        assert agent.refusal(tool, ids=[id_])["code"] == "needs_operator"
    shown = operator(agent).call("gdpr_forget", agent="claude")
    assert (shown["status"], shown["memories"]) == ("preview", 1)
    assert agent.call("memory_get", id=id_)["status"] == "current"
    write(agent, "a later one")
    stale = operator(agent).refusal("gdpr_forget", agent="claude", confirm=shown["confirm"])
    assert stale["code"] == "stale"
    assert agent.call("memory_get", id=id_)["status"] == "current"
    both = operator(agent).refusal("gdpr_forget", agent="claude", project="atlas")
    assert both["code"] == "invalid_argument"
    found = operator(agent).call("gdpr_forget", query=SECRET)
    assert (found["status"], "confirm" in found, id_ in found["ids"]) == ("proposed", False, True)


@pytest.mark.parametrize("subject", ["agent", "project", "conversation_id", "user_id"])
def test_a_subject_is_forgotten_whole_and_no_other(agent: Agent, subject: str) -> None:
    theirs = agent.who(agent_id="codex", project="bridge", conversation_id="talk-9")
    gone = [write(theirs, f"zqgone number {n}") for n in range(3)]
    stays = write(agent, OTHER)
    names = {"agent": "codex", "project": "bridge", "conversation_id": "talk-9", "user_id": "local"}
    done = forget(agent, **{subject: names[subject]})
    assert done["memories"] == len(gone) + (subject == "user_id")
    assert all(theirs.refusal("memory_get", id=id_)["code"] == "not_found" for id_ in gone)
    assert (agent.outcome("memory_get", {"id": stays}).structured is None) is (subject == "user_id")


@pytest.mark.parametrize(
    "nobody", [{"ids": []}, {"agent": ""}, {"project": " "}, {"conversation_id": ""}, {"user_id": ""}, {}]
)
def test_a_subject_that_names_nobody_is_not_the_whole_user(agent: Agent, nobody: dict[str, object]) -> None:
    write(agent, OTHER)
    for tool in ("gdpr_forget", "gdpr_export") if nobody else ("gdpr_forget",):
        refused = operator(agent).refusal(tool, **nobody)
        assert refused["code"] == "invalid_argument", tool
    assert operator(agent).refusal("gdpr_forget", user_id="bob")["code"] == "wider_identity"
    assert operator(agent).refusal("gdpr_forget", query="x", agent="claude")["code"] == "invalid_argument"
    assert operator(agent).call("gdpr_forget", user_id="local")["memories"] == 1


def test_a_preview_shows_what_the_memories_say(agent: Agent) -> None:
    id_ = write(agent, SECRET, title="Vault")
    first = agent.call("memory_get", id=id_)["memory"]["content"]
    (said,) = operator(agent).call("gdpr_forget", ids=[id_])["shown"]
    told = {"id": id_, "text": f"Vault: {first}", "type": "fact", "project": "atlas"}
    assert said == told | {"trust_state": "accepted"}
    (found,) = operator(agent).call("gdpr_forget", query=SECRET)["shown"]
    assert (found["id"], found["score"] > 0) == (id_, True)
    assert forget(agent, ids=[id_]).get("shown", []) == []


def test_a_question_about_others_that_quotes_it_goes_with_it(agent: Agent, location: str) -> None:
    """Waiting or decided: a proposal may say of another memory what this one says."""
    gone, stays = write(agent, f"{SECRET} was first"), write(agent, OTHER)
    asked = [
        agent.call("review_propose", steps=[{"act": "update", "id": stays, "changes": changes}], reason="so")
        for changes in ({"content": f"They say: {SECRET} was first."}, {"content": "zqneighbour moved away"})
    ]
    copy = Path(location).with_name("copy.db")
    if "://" not in location:
        agent.database.dialect.copy_to(copy)
    shown = operator(agent).call("gdpr_forget", ids=[gone])["counts"]
    assert forget(agent, ids=[gone])["counts"]["review_items"] == shown["review_items"] == 1
    assert not stands(agent, SECRET)
    left = agent.call("review_list")["reviews"]
    assert [each["review_id"] for each in left] == [asked[1]["review_id"]]
    if copy.exists():
        with closing(open_database(copy, agent.clock, heads=agent.database.heads.path)) as older:
            assert stands(replace(agent, database=older), SECRET)
            ledger.reconcile(older)
            assert not stands(replace(agent, database=older), SECRET)


def test_an_erasure_of_nothing_leaves_no_event(agent: Agent) -> None:
    write(agent, OTHER)
    before = rows(agent, "SELECT count(*) FROM memory_history")
    done = forget(agent, ids=["01990a5e-7b1c-7d3e-8f00-000000000001"])
    assert (done["status"], done["memories"]) == ("erased", 0)
    forget(agent, agent="nobody-by-this-name")
    assert rows(agent, "SELECT count(*) FROM memory_history") == before


def test_an_import_asks_nobody_about_what_was_erased(agent: Agent) -> None:
    gone, stays = write(agent, SECRET), write(agent, OTHER)
    forget(agent, ids=[gone])
    lines = [{"kind": "memory", "id": stays, "content": text} for text in (SECRET, "zqneighbour left")]
    found = agent.call("memory_import", data="\n".join(map(json.dumps, lines)))
    assert (found["for_review"], found["refused"], found["problems"][0]["code"]) == (1, 1, "tombstoned")
    assert not stands(agent, SECRET)
    assert rows(agent, "SELECT count(*) FROM memory_history WHERE kind = 'tombstone'") == [(1,)]


def test_what_was_derived_from_it_alone_goes_with_it(agent: Agent) -> None:
    source, beside = write(agent, "zqsource one"), write(agent, "the other source")
    alone, both, further = (write(agent, f"zqderived {name}") for name in ("alone", "both", "further"))
    with agent.database.write("local") as writer:
        for derived, of in ((alone, source), (both, source), (both, beside), (further, alone)):
            statement = "INSERT INTO derivations (derived_kind, derived_id, source_kind, source_id)"
            writer.execute(sql(f"{statement} VALUES ('memory', ?, 'memory', ?)", derived, of))
    assert sorted(forget(agent, ids=[source])["ids"]) == sorted([source, alone, further])
    assert agent.call("memory_get", id=both)["status"] == "current"


def test_an_erased_value_comes_back_by_no_door_until_it_is_lifted(agent: Agent) -> None:
    id_ = write(agent, SECRET)
    lines = agent.call("memory_export")["lines"]
    forget(agent, ids=[id_])
    assert agent.refusal("memory_write", content=f"{SECRET.upper()}.", type="note")["code"] == "tombstoned"
    assert (
        agent.who(project="bridge").refusal("memory_write", content=SECRET, type="fact")["code"]
        == "tombstoned"
    )
    back = agent.call("memory_import", data="\n".join(json.dumps(line) for line in lines))
    assert (back["imported"], back["refused"]) == (0, 1)
    assert agent.refusal("memory_restore", id=id_)["code"] == "not_found"
    assert agent.who(user_id="bob").call("memory_write", content=SECRET, type="fact")["status"] == "created"
    (buried,) = operator(agent).call("tombstone_list")["tombstones"]
    assert (buried["kind"], buried.get("memory_id")) == ("erased", None)
    operator(agent).call("tombstone_lift", id=buried["id"])
    assert agent.call("memory_write", content=SECRET, type="fact")["status"] == "created"


def test_the_history_stays_whole_and_its_digests_can_not_be_guessed(agent: Agent) -> None:
    id_ = write(agent, "481516")
    salts = "SELECT count(*) FROM memory_history_salts"
    assert rows(agent, salts) != [(0,)]
    forget(agent, ids=[id_])
    events = f"SELECT kind FROM memory_history WHERE memory_id = '{id_}' ORDER BY event"
    assert [row[0] for row in rows(agent, events)] == ["create", "forget"]
    assert rows(agent, f"{salts} WHERE event = (SELECT min(event) FROM memory_history)") == [(0,)]
    with agent.database.read("local") as reader:
        for owner in owners(reader, everybody=True):
            report = audited(reader, owner, agent.database.heads.read())
            assert report.flaws == {}


def test_an_undo_brings_nothing_back_that_was_forgotten(agent: Agent) -> None:
    id_ = write(agent, SECRET)
    agent.call("memory_delete", id=id_)
    forget(agent, ids=[id_])
    for arguments in ({"memory_id": id_}, {"agent_id": "claude", "since": "2020-01-01"}):
        agent.outcome("memory_undo", arguments)
    assert not stands(agent, SECRET)
    assert agent.call("memory_search", query=SECRET)["hits"] == []


def test_an_older_copy_that_is_put_back_is_erased_again_before_it_is_read(
    agent: Agent, location: str
) -> None:
    id_, stays = write(agent, SECRET), write(agent, OTHER)
    if "://" in location:
        pytest.skip("copies of a PostgreSQL store are its own tools'; the rows are those of the next test")
    copy = Path(location).with_name("copy.db")
    agent.database.dialect.copy_to(copy)
    forget(agent, ids=[id_])
    with closing(open_database(copy, agent.clock, heads=agent.database.heads.path)) as older:
        back = replace(agent, database=older)
        assert stands(back, SECRET)
        assert ledger.reconcile(older) == 1
        assert not stands(back, SECRET)
        assert back.refusal("memory_get", id=id_)["code"] == "not_found"
        assert back.call("memory_get", id=stays)["status"] == "current"
        assert back.refusal("memory_write", content=SECRET, type="fact")["code"] == "tombstoned"
        assert ledger.reconcile(older) == 0


SEEN = "SELECT agent_id, conversation_id FROM memory_corroborations WHERE agent_id = 'codex'"


@pytest.mark.parametrize("subject", [{"agent": "codex"}, {"conversation_id": "zqtalk"}])
def test_what_a_forgotten_subject_saw_is_gone_from_the_memories_of_others(
    agent: Agent, location: str, subject: dict[str, str]
) -> None:
    codex = agent.who(agent_id="codex", conversation_id="zqtalk")
    seen = write(agent, "releases leave on Tuesdays")
    assert codex.call("memory_write", content="releases leave on Tuesdays", type="fact")["id"] == seen
    write(codex, "what codex alone wrote")
    codex.call("memory_write", content="said in confidence", type="fact", scope="session")
    assert len(rows(agent, SEEN)) == 1
    assert stands(agent, "zqtalk")
    copy = Path(location).with_name("copy.db")
    if "://" not in location:
        agent.database.dialect.copy_to(copy)
    shown = operator(agent).call("gdpr_forget", **subject)["counts"]
    done = forget(agent, **subject)
    assert (done["memories"], done["counts"]["memory_corroborations"]) == (2, shown["memory_corroborations"])
    assert not stands(agent, "zqtalk")
    assert agent.call("memory_get", id=seen)["status"] == "current"
    if copy.exists():
        with closing(open_database(copy, agent.clock, heads=agent.database.heads.path)) as older:
            back = replace(agent, database=older)
            assert stands(back, "zqtalk")
            ledger.reconcile(older)
            assert not stands(back, "zqtalk")
            assert rows(back, SEEN) == []


def test_a_session_that_was_forgotten_may_be_written_in_again(agent: Agent) -> None:
    id_ = write(agent, SECRET, scope="session")
    forget(agent, ids=[id_])
    again = write(agent, OTHER, scope="session")
    assert [hit["id"] for hit in agent.call("memory_search", query=OTHER)["hits"]] == [again]
    with agent.database.read("local") as reader:
        assert faults(reader, agent.database.heads.read(), agent.clock.now()) == []


def test_jobs_of_any_kind_that_name_what_was_erased_go_with_it(agent: Agent) -> None:
    gone, stays = write(agent, SECRET), write(agent, OTHER)
    with agent.database.write("local") as writer:
        for id_ in (gone, stays):
            queue.enqueue(writer, queue.Job("summary", f"summary:{id_}", {"of": [id_]}, "local"))
    forget(agent, ids=[gone])
    kept = rows(agent, "SELECT key FROM jobs WHERE kind = 'summary'")
    assert kept == [(f"summary:{stays}",)]


def test_copies_made_before_the_bytes_could_go_are_made_anew_once_they_are_gone(tmp_path: Path) -> None:
    clock, backups = ManualClock(), tmp_path / "backups"
    with closing(open_database(tmp_path / "m3.db", clock)) as database:
        agent = Agent(database, clock, Caller("local", "claude", "session-1"))
        id_ = write(agent, SECRET)
        kept = back_up(database, backups)
        clock.advance(1)
        forget(agent, ids=[id_], keep_backups=True)
        with database.write("local") as writer:
            writer.execute(sql("UPDATE erasures SET scrubbed = 0"))
        meanwhile = back_up(database, backups)
        clock.advance(1)
        assert ledger.scrub_what_is_left(database, backups).is_done
        left = [backup.path for backup in backups_in(backups)]
        assert kept in left
        assert meanwhile not in left
        assert len(left) == 2
        assert ledger.scrub_what_is_left(database, backups) == ledger.Cleansed()


def test_no_byte_of_what_was_purged_is_left_while_the_store_is_open(tmp_path: Path) -> None:
    clock = ManualClock()
    with closing(open_database(tmp_path / "m3.db", clock)) as database:
        agent = Agent(database, clock, Caller("local", "claude", "session-1"))
        id_ = write(agent, f"{SECRET} is purged")
        write(agent, OTHER)
        agent.call("memory_search", query="anything near", search_mode="vector")
        agent.call("memory_delete", id=id_)
        clock.advance(90 * 86_400)
        assert list(probe_files(our_files(tmp_path), [SECRET, "quartz"]))
        assert operator(agent).call("memory_maintenance", purge_closed_days=30)["purged"] == 1
        assert list(probe_files(our_files(tmp_path), [SECRET, "zqplanted", "quartz"])) == []
        assert list(probe_files(our_files(tmp_path), [OTHER]))


def test_bytes_that_a_killed_process_left_are_taken_out_by_the_next_opening(agent: Agent) -> None:
    forget(agent, ids=[write(agent, SECRET)])
    with agent.database.write("local") as writer:
        writer.execute(sql("UPDATE erasures SET scrubbed = 0"))
    assert ledger.reconcile(agent.database) == 0
    assert rows(agent, "SELECT scrubbed FROM erasures") == [(1,)]


def test_a_ledger_that_was_lost_is_written_anew(agent: Agent) -> None:
    id_ = write(agent, SECRET)
    forget(agent, ids=[id_])
    heads = agent.database.heads.path
    assert heads
    noted = heads.with_suffix(".erased")
    assert id_ not in noted.read_text()
    assert "zqplanted" not in noted.read_text()
    whole = [line for line in noted.read_text().splitlines() if line]
    noted.write_text('{"erasure_id": "cut o')
    assert ledger.reconcile(agent.database) == 0
    assert [line for line in noted.read_text().splitlines() if line][1:] == whole


def test_no_byte_of_it_is_left_in_any_file(tmp_path: Path) -> None:
    clock = ManualClock()
    home = tmp_path / "home"
    home.mkdir()
    with closing(open_database(home / "m3.db", clock)) as database:
        agent = Agent(database, clock, Caller("local", "claude", "session-1", project="atlas"))
        id_ = planted(agent)
        agent.call("memory_search", query="anything near", search_mode="vector")
        assert list(probe_files(our_files(home), [SECRET]))
        assert forget(agent, ids=[id_])["scrubbed"] is True
        assert list(probe_files(our_files(home), [SECRET, "zqplanted", "quartz"])) == []
        assert list(probe_files(our_files(home), [OTHER]))
    with closing(open_database(home / "m3.db", clock)) as again:
        assert replace(agent, database=again).call("memory_search", query=OTHER)["hits"]
    assert list(probe_files(our_files(home), [SECRET, "zqplanted"])) == []


def test_the_probe_knows_the_forms_that_text_is_written_in(tmp_path: Path) -> None:
    for number, (name, written) in enumerate(forms_of(SECRET).items()):
        path = tmp_path / f"{number}"
        path.write_bytes(b"x" * (4 * 2**20 - 5) + written)
        assert [trace.form for trace in probe_files([path], [SECRET])][:1] == [name]
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(SECRET.encode()))
    assert list(probe_files([packed], [SECRET]))
    assert list(probe_files([packed], ["zqnothing"])) == []


def test_subject_access_shows_every_row_page_by_page(agent: Agent) -> None:
    id_, deleted = planted(agent), write(agent, "deleted since")
    agent.call("memory_delete", id=deleted)
    write(agent.who(user_id="bob"), "Bob's own")
    found, cursor = list[dict[str, Any]](), ""
    while True:
        page = operator(agent).call("gdpr_export", limit=1, cursor=cursor)
        found += page["items"]
        if not (cursor := page.get("next_cursor", "")):
            break
    assert page["items_count"] == len(found) == 3
    mine = next(item for item in found if item["id"] == id_)
    assert [version["version"] for version in mine["memory_items"]] == [1, 2]
    assert {"memory_validity", "memory_state", "memory_relationships", "review_items"} <= mine.keys()
    assert "Bob" not in json.dumps(found)


def test_what_changed_since_it_was_shown_is_not_erased(agent: Agent) -> None:
    id_ = write(agent, "shown first")
    shown = operator(agent).call("gdpr_forget", ids=[id_])
    agent.call("memory_update", id=id_, content="never shown")
    assert operator(agent).refusal("gdpr_forget", ids=[id_], confirm=shown["confirm"])["code"] == "stale"
    assert agent.call("memory_get", id=id_)["memory"]["content"] == "never shown"


def test_forgetting_in_one_store_renews_its_own_backups_alone(tmp_path: Path) -> None:
    clock = ManualClock()
    backups = tmp_path / "backups"
    with (
        closing(open_database(tmp_path / "one.db", clock)) as one,
        closing(open_database(tmp_path / "other.db", clock)) as other,
    ):
        theirs, ours = back_up(other, backups), back_up(one, backups)
        broken = backups / f"m3-{'2020-01-01T000000-000000Z'}.db"
        broken.write_bytes(b"no store")
        clock.advance(1)
        assert renew_copies(one, backups) == ([ours], [broken])
        kept = {backup.path for backup in backups_in(backups)}
        assert {theirs, broken} < kept
        assert ours not in kept
        assert len(kept) == 3
