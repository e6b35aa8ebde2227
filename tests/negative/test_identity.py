"""Who is asking comes from the connection: no argument of any tool makes it somebody else."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import NamedTuple

import pytest

from m3_memory.catalog.tool import Effect, Tool
from m3_memory.toolbox import CATALOG
from tests.callers import Agent, embedder_named
from tests.negative.recipes import Arguments, hostile
from tests.negative.scene import READER, Canary, Scene
from tests.stores import Stores

IDENTITIES = frozenset({"user_id", "agent_id", "requesting_agent", "change_agent"})
"""Parameters that may only repeat who the caller is."""

OF_OTHERS = frozenset({"agent_get", "agent_set_trust", "memory_set_retention"})
"""Tools whose `agent_id` names the agent that is asked about, not who asks."""

MEANT = frozenset({"id", "old_id", "memory_id", "from_id"})
"""Parameters by which a change means one memory."""

OF_CALLERS = tuple(tool for tool in CATALOG.tools if tool.name not in OF_OTHERS)

UNKNOWN = "0198c0de-0000-7000-8000-00000000dead"


class Change(NamedTuple):
    """A changing tool, and arguments that would change the memory of this id."""

    tool: Tool
    arguments: Arguments


@pytest.fixture
def scene(stores: Stores) -> Generator[Scene]:
    with closing(Scene(stores.fresh(), embedder_named("off"))) as made:
        yield made


def changes(memory_id: str, other_id: str) -> Iterator[Change]:
    """What can be done to a memory; `other_id` is one of the caller's own, to link it to."""
    for tool in CATALOG.tools:
        names = {parameter.name for parameter in tool.parameters}
        if tool.effect is not Effect.READ and MEANT & names:
            meant = dict.fromkeys(MEANT & names, memory_id) | dict.fromkeys({"to_id"} & names, other_id)
            yield Change(tool, {**tool.example, **meant})


def entitled(agent: Agent, change: Change) -> Agent:
    """The same caller; as the operator for what is the operator's."""
    return agent.who(is_operator=True) if change.tool.effect is Effect.OPERATE else agent


def claims(scene: Scene, canary: Canary) -> Iterator[Change]:
    """Every tool that takes an identity, claiming each that is not the reader's."""
    own: dict[str, object] = {"id": scene.own[0], "old_id": scene.own[0]}
    for tool in OF_CALLERS:
        names = {parameter.name for parameter in tool.parameters}
        for name in IDENTITIES & names:
            for value in hostile(canary):
                if value not in ("", None, READER.user_id, READER.agent_id):
                    meant = {key: value for key, value in own.items() if key in names}
                    yield Change(tool, {**tool.example, **meant, name: value})


def test_no_argument_makes_a_caller_somebody_else(scene: Scene) -> None:
    """Case B34: another's id, a pattern, a list or a piece of SQL is refused, and nothing is stored."""
    scene.add_foreign()
    before = everything(scene)
    tried = set[str]()
    for canary in scene.canaries.values():
        for change in claims(scene, canary):
            refused = entitled(scene.reader, change).refusal(change.tool.name, **change.arguments)
            assert refused["code"] in ("wider_identity", "invalid_argument"), change
            tried.add(change.tool.name)
    assert {"memory_write", "memory_search", "memory_supersede"} <= tried
    assert everything(scene) == before


SUBJECTS = {"gdpr_forget", "gdpr_export"}
"""There such a name says whose memories are meant, and an empty one is refused: tests of forgetting tell."""


def test_the_empty_identity_is_the_callers_own(scene: Scene) -> None:
    """Case B34: old clients send the empty text for what they leave out; it is no wider than that."""
    tried = set[tuple[str, str]]()
    for tool in OF_CALLERS:
        for name in IDENTITIES & {parameter.name for parameter in tool.parameters}:
            if not {"old_id", "path"} & tool.example.keys() and tool.name not in SUBJECTS:
                own = READER.user_id if name == "user_id" else READER.agent_id
                for value in ("", own):
                    asked = Change(tool, {**tool.example, name: value})
                    answer = entitled(scene.reader, asked).outcome(tool.name, asked.arguments)
                    assert not answer.is_error, answer.text
                tried.add((tool.name, name))
    assert {name for _, name in tried} == IDENTITIES


def test_no_change_reaches_a_memory_of_another_place(scene: Scene) -> None:
    """Cases B29, B34: a foreign id is answered like one never given, and the memory stays as it was."""
    scene.add_foreign()
    for canary in scene.canaries.values():
        before = canary.owner.call("memory_get", id=canary.id)
        events = canary.owner.call("memory_history", memory_id=canary.id)["total"]
        own = scene.own[0]
        for change, unknown in zip(changes(canary.id, own), changes(UNKNOWN, own), strict=True):
            asker = entitled(scene.reader, change)
            refused = asker.refusal(change.tool.name, **change.arguments)
            never = asker.refusal(unknown.tool.name, **unknown.arguments)
            assert refused["code"] == "not_found", change
            assert json.dumps(refused).replace(canary.id, UNKNOWN) == json.dumps(never)
        assert canary.owner.call("memory_get", id=canary.id) == before
        assert canary.owner.call("memory_history", memory_id=canary.id)["total"] == events


def test_the_same_changes_reach_a_memory_of_ones_own(scene: Scene) -> None:
    """The control of the test before: each change is one that its owner can make."""
    scene.add_foreign()
    canary = scene.canaries["of another project"]
    own = canary.owner.call("memory_write", content="the door has a bell", type="fact")["id"]
    done = list[str]()
    tried = [change for change in changes(canary.id, own) if change.tool.name not in ELSEWHERE]
    for change in sorted(tried, key=lambda change: _ORDER.index(change.tool.name)):
        entitled(canary.owner, change).call(change.tool.name, **change.arguments)
        done.append(change.tool.name)
    assert done == list(_ORDER)


ELSEWHERE = frozenset({"tombstone_lift"})
"""What changes only a memory that was rejected: test_tombstones.py has its control."""

_ORDER = (
    "memory_update",
    "memory_pin",
    "memory_unpin",
    "memory_feedback",
    "memory_link",
    "memory_unlink",
    "memory_undo",
    "memory_delete",
    "memory_restore",
    "memory_supersede",
    "memory_unsupersede",
    "memory_set_trust",
)


def everything(scene: Scene) -> list[tuple[str, int]]:
    """What the reader's store holds, as the reader sees it."""
    found = scene.reader.call("memory_search", query="passphrase door released tuesdays", k=100)
    return sorted((hit["id"], hit["version"]) for hit in found["hits"])
