"""A value that a person rejected does not come back by any door, in any words; each attempt is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from m3_memory.app import App
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from m3_memory.storage.audit import audited, owners
from m3_memory.storage.dump import restore
from m3_memory.storage.reindex import reindex
from m3_memory.surfaces.worker.loop import run_once
from tests.callers import Agent, embedder_named
from tests.stores import Stores
from tests.whole_stores import dump, key_of

VALUE = "The billing service listens on port 8443."
PARAPHRASE = "The billing service is listening on port 8443."
LOOK_ALIKE = "the b\u0456lling s\u0435rvice listens \u043en port 8443"
CURRENT = "The search service listens on port 9443."
DAY_SECONDS = 24 * 60 * 60

Door = Callable[["Launderer", str], str]


@dataclass(frozen=True)
class Launderer:
    """Who would bring a rejected value back, and what there is to bring it back with."""

    agent: Agent
    operator: Agent
    rejected: str
    folder: Path

    def attempts(self) -> int:
        """How many attempts are recorded of the rejected memory."""
        events = self.agent.call("memory_history", memory_id=self.rejected, limit=100)["events"]
        return sum(event["kind"] == "tombstone" for event in events)

    def shown(self) -> list[str]:
        """All texts that any read shows of the place, candidates too."""
        rows = self.agent.call("memory_list", limit=100)["memories"]
        rows += self.agent.call("memory_list", limit=100, trust_state="candidate")["memories"]
        for mode in ("hybrid", "keyword", "vector"):
            rows += self.agent.call("memory_search", query=VALUE, search_mode=mode)["hits"]
        return sorted({row["content"] for row in rows})


def write(agent: Agent, content: str, **given: object) -> str:
    return agent.call("memory_write", **{"type": "fact", "content": content, **given})["id"]


@pytest.fixture
def launderer(stores: Stores, clock: ManualClock, tmp_path: Path) -> Generator[Launderer]:
    with closing(open_database(stores.fresh(), clock)) as database:
        folder = tmp_path.resolve()
        agent = Agent(
            database, clock, Caller("local", "claude", "session-1", project="atlas", folder=str(folder))
        )
        operator = replace(agent, caller=agent.caller.as_operator())
        rejected = write(agent, VALUE)
        clock.advance(60)
        operator.call("memory_set_trust", id=rejected, state="rejected", reason="it never did")
        yield Launderer(agent, operator, rejected, folder)


def _answered(agent: Agent, tool: str, **given: object) -> str:
    """The code of the error that a call is answered with; "" for none."""
    error = agent.outcome(tool, given).error
    return error.code if error else ""


def _write(who: Launderer, text: str) -> str:
    return _answered(who.agent, "memory_write", type="fact", content=text)


def _titled(who: Launderer, text: str) -> str:
    return _answered(who.agent, "memory_write", type="fact", content=text, title="Ports", reassert=True)


def _bulk(who: Launderer, text: str) -> str:
    items = [{"type": "fact", "content": "The office is in Lisbon."}, {"type": "fact", "content": text}]
    return who.agent.call("memory_write_bulk", items=items)["results"][1].get("error", {}).get("code", "")


def _import(who: Launderer, text: str) -> str:
    return _imported(who.agent, text)


def _persons_import(who: Launderer, text: str) -> str:
    return _imported(who.operator, text)


def _imported(agent: Agent, text: str) -> str:
    line = {"id": "00000000-0000-4000-8000-000000000001", "type": "fact", "content": text}
    problems = agent.call("memory_import", data=json.dumps(line))["problems"]
    return problems[0]["code"] if problems else ""


def _update(who: Launderer, text: str) -> str:
    return _answered(who.agent, "memory_update", id=write(who.agent, CURRENT), content=text)


def _update_bulk(who: Launderer, text: str) -> str:
    item = {"id": write(who.agent, CURRENT), "content": text}
    return who.agent.call("memory_update_bulk", updates=[item])["results"][0].get("error", {}).get("code", "")


def _supersede(who: Launderer, text: str) -> str:
    return _answered(who.agent, "memory_supersede", old_id=write(who.agent, CURRENT), content=text)


def _file(who: Launderer, text: str) -> str:
    path = who.folder / "ports.md"
    path.write_text(text)
    return _answered(who.agent, "memory_write_from_file", path=str(path), type="fact")


DOORS: dict[str, Door] = {
    "write": _write,
    "titled": _titled,
    "bulk": _bulk,
    "import": _import,
    "persons_import": _persons_import,
    "update": _update,
    "update_bulk": _update_bulk,
    "supersede": _supersede,
    "file": _file,
}


@pytest.mark.case("B27")
@pytest.mark.parametrize("text", [VALUE, LOOK_ALIKE, PARAPHRASE], ids=["word", "look_alike", "paraphrase"])
@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_a_rejected_value_back(launderer: Launderer, door: str, text: str) -> None:
    """tombstone.laundering_sequence, tombstone.key_normalization_attack."""
    before = launderer.attempts()
    assert DOORS[door](launderer, text) == "tombstoned"
    assert launderer.attempts() == before + 1
    assert not [shown for shown in launderer.shown() if "8443" in shown]


@pytest.mark.case("B27")
@pytest.mark.parametrize("door", DOORS)
def test_what_a_door_took_without_a_vector_goes_again_when_the_vector_comes(
    app: App, clock: ManualClock, tmp_path: Path, door: str
) -> None:
    """tombstone.laundering_sequence: no model at the write, so only the worker meets the paraphrase."""
    folder = tmp_path.resolve()
    caller = Caller("local", "claude", "session-1", project="atlas", folder=str(folder))
    agent = Agent(app.database, clock, caller)
    rejected = write(agent, VALUE)
    clock.advance(60)
    operator = replace(agent, caller=caller.as_operator())
    operator.call("memory_set_trust", id=rejected, state="rejected")
    wordless = replace(agent, embedder=embedder_named("off"))
    operator = replace(operator, embedder=embedder_named("off"))
    launderer = Launderer(wordless, operator, rejected, folder)
    assert DOORS[door](launderer, PARAPHRASE) == ""
    assert write(wordless, "The office is in Porto.")
    assert PARAPHRASE in launderer.shown()

    assert run_once(app)["failed"] == 0
    assert not [shown for shown in replace(launderer, agent=agent).shown() if "8443" in shown]
    assert launderer.attempts() == 1
    assert "The office is in Porto." in launderer.shown()
    assert run_once(app)["done"] == 0


@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_another_value(launderer: Launderer, door: str) -> None:
    """The control: the doors are open, only not for what was rejected."""
    assert DOORS[door](launderer, "The office is in Porto.") == ""
    assert "The office is in Porto." in launderer.shown()
    assert launderer.attempts() == 0


def test_a_deleted_memory_is_not_restored_with_what_was_rejected_meanwhile(launderer: Launderer) -> None:
    agent, operator = launderer.agent, launderer.operator
    operator.call("tombstone_lift", id=launderer.rejected)
    deleted = write(agent, VALUE, type="note")
    edited = write(agent, VALUE.replace("billing", "mail"), type="note")
    agent.call("memory_update", id=edited, content=CURRENT)
    agent.call("memory_delete", id=deleted)
    for text in (VALUE, VALUE.replace("billing", "mail")):
        memory_id = write(agent, text)
        operator.call("memory_set_trust", id=memory_id, state="rejected")

    assert agent.refusal("memory_restore", id=deleted)["code"] == "tombstoned"
    assert agent.refusal("memory_undo", memory_id=deleted)["code"] == "tombstoned"
    assert agent.refusal("memory_undo", memory_id=edited)["code"] == "tombstoned"
    deletion = agent.call("memory_history", memory_id=deleted)["events"][-2]["at"]
    undone = agent.call("memory_undo", agent="claude", since=deletion)
    assert "tombstoned" in {kept["why"] for kept in undone["kept"]}
    assert not [shown for shown in launderer.shown() if "8443" in shown]

    operator.call("tombstone_lift", id=operator.call("tombstone_list")["tombstones"][1]["id"])
    assert agent.call("memory_restore", id=deleted)["status"] == "restored"


def test_a_superseded_memory_does_not_get_its_place_back(launderer: Launderer) -> None:
    agent, operator = launderer.agent, launderer.operator
    operator.call("tombstone_lift", id=launderer.rejected)
    old = write(agent, VALUE, type="note")
    agent.call("memory_supersede", old_id=old, content=CURRENT, valid_from="2020-01-01")
    operator.call("memory_set_trust", id=write(agent, VALUE), state="rejected")
    assert agent.refusal("memory_unsupersede", id=old)["code"] == "tombstoned"
    assert not [shown for shown in launderer.shown() if "8443" in shown]


def test_it_outlives_reindexing_restart_and_time(
    launderer: Launderer, clock: ManualClock, stores: Stores
) -> None:
    """tombstone.survives_ttl_and_prune: a purge of what was closed and a limit on what is kept, too."""
    agent, operator = launderer.agent, launderer.operator
    gone = write(agent, CURRENT)
    agent.call("memory_delete", id=gone)
    operator.call("memory_set_retention", agent_id="claude", max_memories=1, ttl_days=1)
    for _ in reindex(agent.database):
        pass
    clock.advance(400 * DAY_SECONDS)
    assert operator.call("memory_maintenance", purge_closed_days=1)["purged"] == 1
    assert agent.refusal("memory_get", id=gone)["code"] == "not_found"
    assert _write(launderer, VALUE) == _write(launderer, LOOK_ALIKE) == "tombstoned"

    lines, key = dump(agent.database), key_of(agent.database)
    with closing(open_database(stores.fresh(), clock)) as copy:
        restore(copy, lambda: lines, key)
        elsewhere = replace(
            launderer,
            agent=replace(agent, database=copy),
            operator=replace(launderer.operator, database=copy),
        )
        before = elsewhere.attempts()
        assert _write(elsewhere, VALUE) == _write(elsewhere, PARAPHRASE) == "tombstoned"
        assert elsewhere.attempts() == before + 2
        assert not [shown for shown in elsewhere.shown() if "8443" in shown]
        elsewhere.operator.call("tombstone_lift", id=launderer.rejected)
        assert write(elsewhere.agent, VALUE)


def test_a_session_memory_that_was_rejected_stays_so_after_its_day(
    launderer: Launderer, clock: ManualClock
) -> None:
    rejected = write(launderer.agent, "The build takes 44 minutes.", scope="session")
    launderer.operator.call("memory_set_trust", id=rejected, state="rejected")
    clock.advance(3 * DAY_SECONDS)
    given = {"type": "fact", "content": "The build takes 44 minutes.", "scope": "session"}
    assert launderer.agent.refusal("memory_write", **given)["code"] == "tombstoned"


def test_what_is_no_rejected_value_is_taken(launderer: Launderer) -> None:
    agent, operator = launderer.agent, launderer.operator
    assert agent.who(project="other").call("memory_write", type="fact", content=VALUE)["status"] == "created"

    for rejected, other in (("The limit is 106.", "The limit is 10\u2076."), ("Use x2.", "Use x\u00b2.")):
        operator.call("memory_set_trust", id=write(agent, rejected), state="rejected")
        assert write(agent, other)

    operator.call("tombstone_lift", id=launderer.rejected, reason="the world changed")
    assert agent.call("memory_write", type="fact", content=VALUE)["status"] == "created"


def test_a_superseded_value_comes_back_when_the_world_does(launderer: Launderer, clock: ManualClock) -> None:
    agent = launderer.agent
    old = write(agent, "The gate is open at night.")
    clock.advance(30 * DAY_SECONDS)
    agent.call("memory_supersede", old_id=old, content="The gate is closed at night.")
    clock.advance(30 * DAY_SECONDS)
    given = {"type": "fact", "content": "The gate is open at night."}
    assert agent.refusal("memory_write", **given)["code"] == "superseded_value"
    assert agent.call("memory_write", **given, reassert=True)["status"] in ("created", "superseding")


def said(agent: Agent) -> list[str]:
    return [each["content"] for each in agent.call("memory_list")["memories"]]


@pytest.mark.parametrize("door", ["update", "supersede"])
def test_what_a_rejected_value_took_the_place_of_comes_back_when_its_vector_comes(
    app: App, clock: ManualClock, tmp_path: Path, door: str
) -> None:
    agent = Agent(app.database, clock, Caller("local", "claude", "session-1", folder=str(tmp_path)))
    operator = replace(agent, caller=agent.caller.as_operator())
    operator.call("memory_set_trust", id=write(agent, VALUE), state="rejected")
    true = write(agent, "The payments gateway listens on port 9090.")
    clock.advance(60)
    wordless = replace(agent, embedder=embedder_named("off"))
    given = {"update": {"id": true}, "supersede": {"old_id": true}}[door]
    wordless.call(f"memory_{door}", **given, content=PARAPHRASE)
    assert said(agent) == [PARAPHRASE]

    assert run_once(app)["failed"] == 0
    assert said(agent) == ["The payments gateway listens on port 9090."]
    assert agent.call("memory_get", id=true)["status"] == "current"
    assert agent.refusal("memory_undo", memory_id=true)["code"] == "needs_operator"
    with app.database.read("local") as reader:
        assert not audited(reader, owners(reader)[0], {}).flaws
