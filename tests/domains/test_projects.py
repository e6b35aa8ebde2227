"""What a project is called: linked, merged and unlinked names, seen by processes that run already."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import pytest

from m3_memory.config import Settings
from m3_memory.domains.agents.service import projects
from m3_memory.domains.system.service import examine
from m3_memory.errors import InvalidArgument, NeedsOperator
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage.database import Database
from m3_memory.storage.sql import Row, sql
from tests.places import Machine, Process

OLD, NEW, OTHER = "github.com/acme/old", "github.com/acme/new", "github.com/acme/other"


@pytest.fixture
def machine(settings: Settings, clock: ManualClock) -> Generator[Machine]:
    """A machine with one store; the test runs once per engine."""
    started = Machine(settings, clock)
    yield started
    started.stop()


@pytest.fixture
def three(machine: Machine) -> tuple[Process, Process, Process]:
    """Processes in three projects, each of which wrote one memory."""
    running = [machine.start(name) for name in (OLD, NEW, OTHER)]
    for process, name in zip(running, (OLD, NEW, OTHER), strict=True):
        process.write(f"the release of {name}")
    return running[0], running[1], running[2]


def shown(process: Process) -> set[str]:
    """The projects whose one memory a process finds."""
    return {content.removeprefix("the release of ") for content in process.found()}


def audiences(database: Database) -> list[Row]:
    """(memory, audience, project) of every version, in the order they were written."""
    with database.read("local") as reader:
        return reader.rows(sql("SELECT memory_id, audience, project FROM memory_items ORDER BY item"))


def events(database: Database, kind: str) -> list[object]:
    """The reasons of the events of a kind, oldest first."""
    with database.read("local") as reader:
        found = reader.rows(sql("SELECT reason FROM memory_history WHERE kind = ? ORDER BY event", kind))
    return [row[0] for row in found]


def test_a_linked_name_is_seen_at_the_next_call_and_unseen_after_unlinking(
    three: tuple[Process, Process, Process],
) -> None:
    old, new, other = three
    assert shown(new) == {NEW}
    assert new.link(OLD).aliases == [OLD]
    assert (shown(new), shown(old), shown(other)) == ({OLD, NEW}, {OLD, NEW}, {OTHER})
    new.unlink(OLD)
    assert (shown(new), shown(old)) == ({NEW}, {OLD})


def test_linking_rewrites_no_memory_and_new_ones_go_to_the_main_name(
    three: tuple[Process, Process, Process],
) -> None:
    old, new, _ = three
    before = audiences(new.app.database)
    new.link(OLD)
    assert audiences(new.app.database) == before
    old.write("the release that came later")
    assert audiences(new.app.database)[-1][2] == NEW
    new.unlink(OLD)
    assert "the release that came later" in new.found()
    assert "the release that came later" not in old.found()


def test_a_memory_of_an_alias_is_changed_where_it_is(three: tuple[Process, Process, Process]) -> None:
    old, new, _ = three
    memory_id = old.write("the release train leaves on Fridays")
    new.link(OLD)
    new.call("memory_update", id=memory_id, content="the release train leaves on Mondays")
    new.unlink(OLD)
    assert "the release train leaves on Mondays" in old.found()
    assert "the release train leaves on Mondays" not in new.found()


def test_merging_makes_no_chains_and_merging_again_changes_nothing(
    three: tuple[Process, Process, Process],
) -> None:
    old, new, other = three
    other.merge(OLD, NEW)
    merged = other.merge(NEW, OTHER)
    assert (merged.name, merged.aliases, merged.changed) == (OTHER, [NEW, OLD], True)
    assert [shown(process) for process in three] == [{OLD, NEW, OTHER}] * 3
    back = old.merge(OTHER, OLD)
    assert (back.name, back.changed) == (OTHER, False)
    assert events(new.app.database, "merge") == [f"project {OLD} joins {NEW}", f"project {NEW} joins {OTHER}"]
    assert other.unlink(NEW).aliases == []
    assert [shown(process) for process in three] == [{OLD, OTHER}, {NEW}, {OLD, OTHER}]


def test_a_main_name_and_a_name_that_is_not_linked_cannot_be_unlinked(
    three: tuple[Process, Process, Process],
) -> None:
    _, new, other = three
    new.link(OLD)
    with pytest.raises(InvalidArgument) as refused:
        new.unlink(NEW)
    assert OLD in refused.value.hint
    with pytest.raises(InvalidArgument):
        other.unlink(OTHER)
    assert shown(new) == {OLD, NEW}


def test_a_name_that_nothing_is_known_by_is_refused(three: tuple[Process, Process, Process]) -> None:
    assert projects.known_name(three[0].context(), NEW, "") == NEW
    assert projects.known_name(three[0].context(), "as typed", OTHER) == OTHER
    with pytest.raises(InvalidArgument, match="typo"):
        projects.known_name(three[0].context(), "typo", "github.com/acme/typo")


def test_only_the_operator_says_what_a_project_is_called(three: tuple[Process, Process, Process]) -> None:
    agent = three[1].context()
    for change in (
        lambda: projects.link(agent, OLD),
        lambda: projects.unlink(agent, OLD),
        lambda: projects.merge(agent, OLD, NEW),
    ):
        with pytest.raises(NeedsOperator):
            change()
    assert shown(three[1]) == {NEW}


def test_what_is_called_otherwise_is_an_event_of_a_sound_store(
    three: tuple[Process, Process, Process],
) -> None:
    _, new, _ = three
    new.link(OLD)
    new.unlink(OLD)
    assert events(new.app.database, "link") == [f"project {OLD} joins {NEW}"]
    assert events(new.app.database, "unlink") == [f"project {OLD} leaves {NEW}"]
    assert examine(new.context()).faults == []


def test_outside_projects_nothing_can_be_linked(machine: Machine, three: tuple[Process, ...]) -> None:
    assert three
    nowhere = machine.start("/")
    with pytest.raises(InvalidArgument, match="no project"):
        nowhere.link(OLD)
    assert nowhere.found() == set()


def test_another_user_of_the_store_has_names_of_its_own(
    machine: Machine, three: tuple[Process, Process, Process]
) -> None:
    theirs = machine.start(NEW, replace(machine.settings, user_id="bob"))
    theirs.write("the release of bob")
    three[1].link(OLD)
    assert theirs.found() == {"the release of bob"}
    assert [project.name for project in projects.list_projects(theirs.context()).projects] == [NEW]


def test_the_list_counts_what_is_kept_under_each_name(
    machine: Machine, clock: ManualClock, three: tuple[Process, Process, Process]
) -> None:
    old, new, _ = three
    clock.advance(60)
    deleted = new.write("the release that was a mistake")
    new.call("memory_delete", id=deleted)
    new.link(OLD)
    machine.start("/").write("the release of nowhere")
    own = projects.list_projects(old.context()).projects
    assert [(p.name, p.memories, p.aliases, p.current) for p in own] == [(NEW, 2, [OLD], True)]
    listed = projects.list_projects(old.context(is_operator=True)).projects
    assert [(p.name, p.memories, p.aliases, p.current) for p in listed] == [
        ("-", 1, [], False),
        (NEW, 2, [OLD], True),
        (OTHER, 1, [], False),
    ]
    with new.context().read() as reader:
        assert listed[0].last_write_at is not None
        assert listed[0].last_write_at <= reader.now


def test_one_call_stands_in_one_place_from_its_beginning_to_its_end(
    three: tuple[Process, Process, Process],
) -> None:
    """Who links during a call changes what the next one sees."""
    _, new, _ = three
    running = new.context()
    assert running.caller.project_aliases == ()
    new.link(OLD)
    assert running.caller.project_aliases == ()
    assert new.context().caller.project_aliases == (OLD,)
