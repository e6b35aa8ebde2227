"""What a caller sees is what the law says: visible() against the oracle, on generated stores."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from m3_memory.errors import NeedsGrant
from m3_memory.kernel.caller import Caller, Scope
from m3_memory.storage.database import Database, Reader
from m3_memory.storage.predicates import clauses, reasons, relation, visible
from m3_memory.storage.sql import Sql, sql
from m3_memory.storage.transaction import number, text
from tests.properties.oracle import Asker, Question
from tests.properties.seeded_faults import FAULTS, Fault
from tests.properties.worlds import World, make_worlds, plant, view_for
from tests.sizes import size

LOOKS = 24
WORLDS = size(60, 1000)
FAULTY_WORLDS = 60
UNKNOWN = "0198c0de-0000-7000-8000-000000000000"


class Difference(NamedTuple):
    """One question that the product and the oracle answer otherwise."""

    world: str
    asker: Asker
    question: Question
    found: set[tuple[str, int]] | None
    expected: set[tuple[str, int]] | None


def selected(reader: Reader, shown: Sql) -> set[tuple[str, int]]:
    rows = reader.rows(sql("SELECT memory_id, opened_by FROM") + shown)
    assert len(rows) == len(set(rows)), "the relation shows a belief twice"
    return {(text(row[0]), number(row[1])) for row in rows}


def differences(reader: Reader, worlds: Iterable[World]) -> Iterator[Difference]:
    for world in worlds:
        for asker, question in world.looks:
            found = answered(reader, asker, question)
            expected = world.rows.seen(asker, question)
            if found != expected:
                yield Difference(world.name, asker, question, found, expected)


def answered(
    reader: Reader, asker: Asker, question: Question, fault: Fault | None = None
) -> set[tuple[str, int]] | None:
    """What the product shows, its conditions with this fault; None where it refuses the question."""
    try:
        view = view_for(reader, asker, question)
    except NeedsGrant:
        return None
    return selected(reader, relation(fault(view, clauses(view)).values()) if fault else visible(view))


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return make_worlds(WORLDS, LOOKS)


def test_a_caller_sees_exactly_what_the_oracle_says(database: Database, worlds: list[World]) -> None:
    """Issue 2, point 3: the five conditions of data_model.md §4, on generated stores. Case B32."""
    plant(database, worlds)
    with database.read("nobody") as reader:
        assert next(differences(reader, worlds), None) is None


def test_the_reasons_given_are_the_conditions_that_hide_a_memory(
    database: Database, worlds: list[World]
) -> None:
    """Issue 2, point 3: `reasons` evaluates the same conditions, and tells nothing of places not held."""
    plant(database, worlds)
    everywhere = [memory_id for world in worlds for memory_id in world.memory_ids]
    with database.read("nobody") as reader:
        for world in worlds:
            chance = random.Random(f"reasons in {world.name}")
            for asker, question in world.looks[: LOOKS // 2]:
                if asker.is_refused(question):
                    continue
                asked = [*chance.sample(world.memory_ids, 4), chance.choice(everywhere), UNKNOWN]
                for memory_id in asked:
                    given = reasons(reader, view_for(reader, asker, question), memory_id)
                    right = world.rows.reasons(memory_id, asker, question)
                    assert frozenset(given) in right, (world.name, asker, question, memory_id)


def test_the_generated_questions_show_much_and_hide_much(worlds: list[World]) -> None:
    """The control of this file: every condition alone hides something somewhere, and much is shown."""
    alone = set[str]()
    shown = 0
    for world in worlds[:FAULTY_WORLDS]:
        for asker, question in world.looks:
            for belief in world.rows.beliefs:
                hidden_by = world.rows.hidden_by(belief, asker, question)
                shown += not hidden_by
                alone |= hidden_by if len(hidden_by) == 1 else set()
    assert alone == {"audience", "belief", "expiry", "trust", "variant", "narrowing"}
    assert shown > FAULTY_WORLDS * LOOKS / 4


def test_every_seeded_fault_is_noticed(database: Database) -> None:
    """Issue 2, point 3: a fault in any condition, or in a part of one, turns the comparison red."""
    faulty_worlds = make_worlds(FAULTY_WORLDS, LOOKS)
    plant(database, faulty_worlds)
    with database.read("nobody") as reader:
        unnoticed = [name for name in FAULTS if not notices(reader, faulty_worlds, name)]
    assert unnoticed == []


def notices(reader: Reader, faulty_worlds: Iterable[World], fault: str) -> bool:
    for world in faulty_worlds:
        for asker, question in world.looks:
            expected = world.rows.seen(asker, question)
            if answered(reader, asker, question, FAULTS[fault]) != expected:
                return True
    return False


@pytest.mark.parametrize("may_widen", [True, False])
def test_who_asks_for_another_project_with_or_without_the_grant_is_noticed(
    database: Database, *, may_widen: bool
) -> None:
    """`scope.caller_cannot_widen`: the same questions, had the product not asked who has the grant."""
    faulty_worlds = make_worlds(FAULTY_WORLDS, LOOKS)
    plant(database, faulty_worlds)
    with database.read("nobody") as reader:
        assert any(
            answered(reader, replace(asker, may_widen=may_widen), asked) != world.rows.seen(asker, asked)
            for world in faulty_worlds
            for asker, asked in world.looks
        )


@pytest.mark.parametrize(
    ("scope", "audience"),
    [
        (Scope.AGENT, "agent/ann/local/site"),
        (Scope.SESSION, "session/ann/local/monday"),
        (Scope.USER, "user/ann"),
    ],
)
def test_a_place_is_written_as_the_data_model_says(scope: Scope, audience: str) -> None:
    assert Caller("ann", "claude", "monday", project="site").audience(scope) == audience


def test_no_project_is_a_place_of_its_own() -> None:
    assert Caller("ann", "claude", "monday").audience(Scope.AGENT) == "agent/ann/local/-"
    named_so = Caller("ann", "claude", "monday", project="-").audience(Scope.AGENT)
    assert named_so != "agent/ann/local/-"
