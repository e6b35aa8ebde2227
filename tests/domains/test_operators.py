"""The operator's passphrase: what it proves, for how long, and what stays of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Generator
from dataclasses import replace

import pytest

from m3_memory.config import Settings
from m3_memory.domains.agents.model import LONGEST_PASSPHRASE, SHORTEST_PASSPHRASE
from m3_memory.domains.agents.service import operators
from m3_memory.domains.system.service import examine
from m3_memory.errors import InvalidArgument, NeedsOperator
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.sql import sql
from tests.places import Machine, Process

FIRST, SECOND = "correct horse battery", "another horse entirely"
QUARTER = 15 * 60


@pytest.fixture
def machine(settings: Settings, clock: ManualClock) -> Generator[Machine]:
    """A machine with one store; the test runs once per engine."""
    started = Machine(settings, clock)
    yield started
    started.stop()


@pytest.fixture
def process(machine: Machine) -> Process:
    return machine.start("atlas")


def noted(process: Process) -> list[str]:
    """What the doctor notes of the operator."""
    return [note for note in examine(process.context()).notes if "operator" in note]


def test_only_the_passphrase_that_was_set_proves_who_gives_it(process: Process) -> None:
    with pytest.raises(NeedsOperator, match="no operator"):
        operators.prove(process.context(), FIRST)
    operators.set_passphrase(process.context(), FIRST)
    for wrong in (FIRST.upper(), f"{FIRST} "):
        with pytest.raises(NeedsOperator, match="not the operator's"):
            operators.prove(process.context(), wrong)
    assert operators.is_signed_in(process.context(), operators.prove(process.context(), FIRST))


def test_a_proof_holds_for_a_quarter_of_an_hour(process: Process, clock: ManualClock) -> None:
    operators.set_passphrase(process.context(), FIRST)
    proof = operators.prove(process.context(), FIRST)
    clock.advance(QUARTER - 1)
    assert operators.is_signed_in(process.context(), proof)
    clock.advance(1)
    assert not operators.is_signed_in(process.context(), proof)


def test_a_proof_is_of_one_passphrase_one_user_and_one_store(
    machine: Machine, process: Process, clock: ManualClock
) -> None:
    operators.set_passphrase(process.context(), FIRST)
    proof = operators.prove(process.context(), FIRST)
    bob = machine.start("atlas", replace(machine.settings, user_id="bob"))
    with pytest.raises(NeedsOperator, match="no operator"):
        operators.is_signed_in(bob.context(), proof)
    operators.set_passphrase(bob.context(), FIRST)
    assert not operators.is_signed_in(bob.context(), proof)
    assert not operators.is_signed_in(process.context(), proof._replace(store="another"))
    clock.advance(1)
    operators.change_passphrase(process.context(is_operator=True), proof, SECOND)
    assert not operators.is_signed_in(process.context(), proof)
    with pytest.raises(NeedsOperator):
        operators.change_passphrase(process.context(is_operator=True), proof, FIRST)
    assert operators.prove(process.context(), SECOND)


def test_a_passphrase_is_set_once_and_then_changed(process: Process) -> None:
    operators.set_passphrase(process.context(), FIRST)
    with pytest.raises(InvalidArgument, match="already"):
        operators.set_passphrase(process.context(), SECOND)
    assert operators.prove(process.context(), FIRST)


@pytest.mark.parametrize("passphrase", ["", "x" * (SHORTEST_PASSPHRASE - 1), "x" * (LONGEST_PASSPHRASE + 1)])
def test_a_passphrase_too_short_or_too_long_is_refused(process: Process, passphrase: str) -> None:
    with pytest.raises(InvalidArgument, match=str(SHORTEST_PASSPHRASE)):
        operators.set_passphrase(process.context(), passphrase)
    assert not operators.status(process.context()).is_set


def test_how_a_keyboard_composes_letters_does_not_matter(process: Process) -> None:
    operators.set_passphrase(process.context(), unicodedata.normalize("NFC", "señor élan größe"))
    assert operators.prove(process.context(), unicodedata.normalize("NFD", "señor élan größe"))


def test_the_same_passphrase_set_by_two_is_stored_differently(machine: Machine, process: Process) -> None:
    bob = machine.start("atlas", replace(machine.settings, user_id="bob"))
    operators.set_passphrase(process.context(), FIRST)
    operators.set_passphrase(bob.context(), FIRST)
    with process.context().read() as reader:
        rows = reader.rows(sql("SELECT parameters, salt, verifier FROM operators"))
    assert len({row[1] for row in rows}) == len({row[2] for row in rows}) == 2
    assert {row[0] for row in rows} == {"scrypt:65536:8:2"}


def test_setting_and_changing_it_are_events_that_the_doctor_tells_for_a_day(
    process: Process, clock: ManualClock
) -> None:
    assert noted(process) == []
    operators.set_passphrase(process.context(), FIRST)
    clock.advance(60)
    proof = operators.prove(process.context(), FIRST)
    changed = operators.change_passphrase(process.context(is_operator=True), proof, SECOND)
    with process.context().read() as reader:
        found = reader.rows(
            sql(
                "SELECT h.kind, h.reason, a.agent_id FROM memory_history AS h"
                " JOIN agents AS a ON a.agent = h.agent ORDER BY h.event"
            )
        )
    assert found == [
        ("grant", "operator's passphrase was set", "claude"),
        ("grant", "operator's passphrase was changed", "operator"),
    ]
    assert examine(process.context()).faults == []
    assert noted(process) == [
        changed.last_event,
        "the operator's passphrase was set at 2026-01-01T00:00:00.000000Z",
    ]
    clock.advance(25 * 60 * 60)
    assert noted(process) == []


def test_one_that_is_taken_out_by_hand_is_told_until_another_is_set(process: Process) -> None:
    operators.set_passphrase(process.context(), FIRST)
    with process.context().write() as writer:
        writer.execute(sql("DELETE FROM operators"))
    status = operators.status(process.context())
    assert (status.is_set, status.removed) == (False, True)
    assert any("no longer in the store" in note for note in noted(process))
    assert not operators.set_passphrase(process.context(), SECOND).removed
