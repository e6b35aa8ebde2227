"""Agents: what each says of itself, what the operator says of it, and when it counts."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest

from m3_memory.catalog.dispatch import dispatch
from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.agents.service import registry
from m3_memory.domains.system.service import examine
from m3_memory.errors import InvalidArgument, NeedsOperator, NotFound
from m3_memory.kernel.caller import Grant
from m3_memory.kernel.clock import ManualClock
from m3_memory.launch import Launch
from m3_memory.storage.sql import sql
from m3_memory.toolbox import CATALOG
from tests.callers import Agent
from tests.places import Machine, Process

SITE = "github.com/acme/site"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture
def machine(settings: Settings, clock: ManualClock) -> Generator[Machine]:
    """A machine with one store; the test runs once per engine."""
    started = Machine(settings, clock)
    yield started
    started.stop()


@pytest.fixture
def claude(machine: Machine) -> Process:
    return machine.start(SITE)


@pytest.fixture
def codex(claude: Process) -> Process:
    """Another agent in the same project."""
    return named(claude, "codex")


def named(process: Process, agent: str) -> Process:
    return replace(process, launch=Launch(agent=agent, project=SITE))


def search(process: Process, client: str) -> dict[str, Any]:
    """The answer to a client of that name."""
    caller, notices = process.app.caller_for(Launch(project=SITE), client)
    found = dispatch(CATALOG, process.app.context(caller, notices), "memory_search", {"query": "release"})
    assert found.structured is not None
    return found.structured


def operator(process: Process) -> Context:
    return process.context(is_operator=True)


def test_an_agent_is_active_idle_or_offline_by_when_it_was_seen(claude: Process, clock: ManualClock) -> None:
    assert claude.call("agent_heartbeat")["state"] == "active"
    for seconds, state in ((15 * 60 - 1, "active"), (1, "idle"), (24 * 3600, "offline")):
        clock.advance(seconds)
        assert claude.call("agent_get")["state"] == state
    claude.write("the release leaves on Fridays")
    assert claude.call("agent_get")["state"] == "active"


def test_who_says_it_goes_is_offline_until_it_is_seen_again(claude: Process, clock: ManualClock) -> None:
    assert claude.call("agent_offline")["state"] == "offline"
    assert [a["agent_id"] for a in claude.call("agent_list", status="offline")["agents"]] == ["claude"]
    clock.advance(90)
    claude.write("the release leaves on Fridays")
    assert claude.call("agent_get")["state"] == "active"


def test_what_an_agent_says_of_itself_are_labels(claude: Process) -> None:
    said = {"role": "reviewer", "capabilities": ["sql", "operator"], "metadata": {"team": "blue"}}
    registered = claude.call("agent_register", **said)
    assert registered | said == registered
    assert (registered["circle"], registered["grants"], registered["trust"]) == ("local", [], 1.0)
    again = claude.call("agent_register", role="author")
    assert (again["role"], again["capabilities"], again["metadata"]) == ("author", [], {})
    assert claude.call("agent_list", role="author")["agents"] == [again]
    assert claude.call("agent_list", role="reviewer")["agents"] == []
    assert claude.context().caller.grants == frozenset()


def test_secrets_leave_the_labels_and_too_much_is_refused(claude: Process, codex: Process) -> None:
    kept = claude.call(
        "agent_register", role=f"holds {SECRET}", capabilities=[SECRET], metadata={"k": SECRET}
    )
    assert SECRET not in json.dumps(kept)
    assert json.dumps(kept).count("[secret:") == 3
    agent = Agent(codex.app.database, codex.app.clock, codex.context().caller)
    for bad in ({"role": "r" * 201}, {"capabilities": ["c" * 201]}, {"capabilities": ["c"] * 51}):
        assert agent.refusal("agent_register", **bad)["code"] == "invalid_argument"
    assert agent.refusal("agent_register", metadata={"circle": "x"})["code"] == "invalid_metadata"
    assert agent.refusal("agent_get")["code"] == "not_found"


@pytest.mark.parametrize("tool", ["agent_register", "agent_heartbeat", "agent_offline"])
def test_an_agent_speaks_for_itself_alone(claude: Process, codex: Process, tool: str) -> None:
    before = codex.call("agent_heartbeat")
    agent = Agent(claude.app.database, claude.app.clock, claude.context().caller)
    assert agent.call(tool, agent_id="claude")["agent_id"] == "claude"
    assert agent.refusal(tool, agent_id="codex")["code"] == "wider_identity"
    assert codex.call("agent_get") == before


def test_agents_of_another_user_are_not_there(machine: Machine, claude: Process) -> None:
    claude.call("agent_register", role="reviewer")
    bob = machine.start(SITE, replace(machine.settings, user_id="bob"))
    bob.call("agent_heartbeat")
    named(bob, "codex").call("agent_heartbeat")
    assert [a["agent_id"] for a in claude.call("agent_list")["agents"]] == ["claude"]
    assert [a["role"] for a in bob.call("agent_list")["agents"]] == ["", ""]
    with pytest.raises(NotFound):
        registry.get(claude.context(), "codex")
    registry.enrol(operator(claude), "isolate", "claude")
    assert bob.context().caller.circle == "local"


def test_an_isolated_agent_writes_and_reads_apart_from_then_on(claude: Process, codex: Process) -> None:
    """Data model §4: isolating changes what an agent writes and reads, never what it wrote. Case B37."""
    codex.write("the release that codex wrote before")
    registry.enrol(operator(claude), "isolate", "codex")
    codex.write("the release that codex wrote apart")
    claude.write("the release that claude wrote")
    assert codex.found() == {"the release that codex wrote apart"}
    assert claude.found() == {"the release that codex wrote before", "the release that claude wrote"}
    registry.enrol(operator(claude), "join", "codex")
    assert codex.found() == claude.found()
    registry.enrol(operator(claude), "isolate", "codex")
    assert codex.found() == {"the release that codex wrote apart"}


def test_a_private_note_is_on_no_fast_path(claude: Process, codex: Process) -> None:
    """Case B37: the exact phrase, few results, words alone and meaning alone, by id and by its beginning."""
    registry.enrol(operator(claude), "isolate", "codex")
    notes = [codex.write(f"zebra passphrase {n} is plum") for n in range(3)]
    for asking, seen in ((claude, 0), (codex, 3)):
        for mode in ("hybrid", "keyword", "vector"):
            for k in (1, 3):
                hits = asking.call("memory_search", query="zebra passphrase 1 is plum", k=k, search_mode=mode)
                assert len(hits["hits"]) == min(k, seen)
    agent = Agent(claude.app.database, claude.app.clock, claude.context().caller)
    for address in (notes[0], notes[0][:-1]):
        assert agent.refusal("memory_get", id=address)["code"] == "not_found"


def test_a_clients_own_name_leads_to_no_isolated_circle_and_no_grant(claude: Process, codex: Process) -> None:
    """Data model §3: `initialize` never selects an isolated circle; the answer says where it stands."""
    codex.write("the release of all")
    registry.enrol(operator(claude), "isolate", "codex")
    registry.enrol(operator(claude), "grant", "codex", Grant.WIDEN)
    codex.write("the release of codex alone")
    found = search(claude, "codex")
    assert [hit["content"] for hit in found["hits"]] == ["the release of all"]
    assert any("--agent codex" in notice for notice in found["notices"])
    assert codex.found() == {"the release of codex alone"}


def test_a_circle_is_isolated_where_nobody_stands_and_joined_where_somebody_does(
    claude: Process, codex: Process
) -> None:
    claude.call("agent_heartbeat")
    assert registry.enrol(operator(claude), "isolate", "codex", "lab").circle == "lab"
    for circle in ("lab", "local"):
        with pytest.raises(InvalidArgument, match="others stand in"):
            registry.enrol(operator(claude), "isolate", "claude", circle)
    with pytest.raises(InvalidArgument, match="nobody stands in"):
        registry.enrol(operator(claude), "join", "claude", "labb")
    assert registry.enrol(operator(claude), "join", "claude", "lab").circle == "lab"
    assert claude.context().caller.circle == codex.context().caller.circle == "lab"


def test_an_agent_can_be_isolated_before_it_ever_came(claude: Process, codex: Process) -> None:
    registry.enrol(operator(claude), "isolate", "Codex")
    assert codex.context().caller.circle == "codex"
    for name in ("operator", "worker", "", "…"):
        with pytest.raises(InvalidArgument):
            registry.enrol(operator(claude), "isolate", name)


def test_each_word_of_the_operator_is_an_event_and_news_for_a_day(
    claude: Process, clock: ManualClock
) -> None:
    claude.call("agent_heartbeat")
    registry.enrol(operator(claude), "grant", "claude", Grant.WIDEN)
    registry.enrol(operator(claude), "grant", "claude", Grant.WIDEN)
    registry.enrol(operator(claude), "revoke", "claude", Grant.WIDEN)
    registry.enrol(operator(claude), "trust", "claude", "0.7")
    told = [
        "agent claude was granted widen",
        "agent claude lost the grant widen",
        "agent claude has the trust 0.7",
    ]
    with claude.context().read() as reader:
        rows = reader.rows(sql("SELECT kind, reason FROM memory_history ORDER BY event"))
    assert rows == [("grant", reason) for reason in told]
    news = machine_news(claude)
    assert [any(reason in notice for notice in news) for reason in told] == [True] * 3
    assert examine(claude.context()).faults == []
    clock.advance(25 * 3600)
    assert machine_news(claude) == []


def machine_news(process: Process) -> list[str]:
    """What the doctor notes of agents."""
    return [note for note in examine(process.context()).notes if "agent" in note]


def test_trust_out_of_range_is_refused_not_clamped(claude: Process) -> None:
    claude.call("agent_heartbeat")
    for trust in (0.49, 1.01, float("nan")):
        with pytest.raises(InvalidArgument):
            registry.enrol(operator(claude), "trust", "claude", str(trust))
    with pytest.raises(NotFound):
        registry.enrol(operator(claude), "trust", "nobody", "0.8")
    assert registry.enrol(operator(claude), "trust", "claude", "0.5").trust == 0.5
    assert claude.context().caller.trust == 0.5


def test_only_the_operator_says_what_an_agent_may(claude: Process) -> None:
    claude.call("agent_heartbeat")
    agent = claude.context()
    for verb, word in {"isolate": "", "join": "", "grant": "widen", "revoke": "widen", "trust": "1"}.items():
        with pytest.raises(NeedsOperator):
            registry.enrol(agent, verb, "claude", word)
    assert registry.get(agent, "claude").grants == []
