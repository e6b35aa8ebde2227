"""Names of projects against an oracle: whoever stands in one holds its other names' memories and no more.

The oracle is written from data_model.md §3 and §4 alone: a project is a set of names of which one is the
main name; linking and merging join two sets under a main name, unlinking takes one name out.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass, field

import pytest

from m3_memory.config import Settings
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.clock import ManualClock
from tests.places import Machine, Process
from tests.sizes import size

NAMES = ("atlas", "atlas/two", "-", "%2D", "Atlas", "/work/atlas")


@dataclass
class Names:
    """Which names are one project: each name's main name."""

    main: dict[str, str] = field(default_factory=lambda: {name: name for name in NAMES})

    def beside(self, name: str) -> set[str]:
        """Every name of the project that goes by this one."""
        return {other for other in NAMES if self.main[other] == self.main[name]}

    def join(self, name: str, into: str) -> None:
        main = self.main[into]
        for other in self.beside(name):
            self.main[other] = main

    def leave(self, name: str) -> None:
        self.main[name] = name

    def is_alias(self, name: str) -> bool:
        return self.main[name] != name


@pytest.fixture
def machine(settings: Settings, clock: ManualClock) -> Generator[Machine]:
    """A machine with one store; the test runs once per engine."""
    started = Machine(settings, clock)
    yield started
    started.stop()


@pytest.fixture
def running(machine: Machine) -> dict[str, Process]:
    """A process in each project, which wrote a memory there and runs from now on."""
    processes = {name: machine.start(name) for name in NAMES}
    for number, process in enumerate(processes.values()):
        process.write(f"release {number}")
    return processes


def written_in(names: set[str]) -> set[str]:
    return {f"release {number}" for number, name in enumerate(NAMES) if name in names}


@pytest.mark.parametrize("seed", range(size(2, 20)))
def test_whoever_stands_in_a_project_sees_what_is_kept_under_its_names_and_no_more(
    running: dict[str, Process], seed: int
) -> None:
    chance = random.Random(f"names {seed}")
    oracle = Names()
    someone = running[NAMES[0]]
    seen = set[int]()
    for _ in range(size(12, 40)):
        name, into = chance.choice(NAMES), chance.choice(NAMES)
        match chance.choice(("link", "merge", "unlink", "unlink")):
            case "link":
                running[into].link(name)
                oracle.join(name, into)
            case "merge":
                someone.merge(name, into)
                oracle.join(name, into)
            case _ if oracle.is_alias(name):
                someone.unlink(name)
                oracle.leave(name)
            case _:
                with pytest.raises(InvalidArgument):
                    someone.unlink(name)
        for standing, process in running.items():
            held = oracle.beside(standing)
            caller = process.context().caller
            assert caller.project == oracle.main[standing]
            assert {caller.project, *caller.project_aliases} == held
            assert process.found() == written_in(held), (standing, oracle.main)
            seen.add(len(held))
    assert len(seen) > 1, "nothing was ever linked"
