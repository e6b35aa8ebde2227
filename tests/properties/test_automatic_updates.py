"""Statements that contradict by design: after every step the store holds what a plain model says it ended.

The machine of test_bitemporal.py covers what a caller does; here the check of a write acts, as it does by
default, on texts of which the model knows the subject and the value.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from tests.callers import Agent
from tests.sizes import size
from tests.stores import Stores

SUBJECTS = ("gateway", "mailer", "indexer")
PORTS = (8080, 9090, 7070, 6060)
OPEN = "9999"
DAY_SECONDS = 24 * 60 * 60
LOOKS_PER_STEP = 2

_users = count()
subjects = st.sampled_from(SUBJECTS)
ports = st.sampled_from(PORTS)
hours = st.integers(1, 400)


@dataclass(frozen=True)
class Held:
    """One statement, and when it holds in the world."""

    memory_id: str
    subject: str
    port: int
    start: str
    end: str = OPEN

    @property
    def text(self) -> str:
        return f"The {self.subject} listens on port {self.port}."


class AutomaticUpdates(RuleBasedStateMachine):
    """One user's store, where each subject has one value at a time."""

    location: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock("2026-01-01")
        self.database = open_database(self.location, self.clock)
        caller = Caller(f"user {next(_users)}", "claude", "session-1", project="site")
        self.agent = Agent(self.database, self.clock, caller)
        self.held: dict[str, Held] = {}
        self.replaced: dict[str, dict[str, str]] = defaultdict(dict)
        """Per subject, what took the place of a statement, by the ids of both."""
        self.past: list[tuple[str, list[Held]]] = []

    def teardown(self) -> None:
        self.database.close()

    def current(self, subject: str) -> Held | None:
        """What holds without an end."""
        return next((h for h in self.held.values() if (h.subject, h.end) == (subject, OPEN)), None)

    def is_replaced(self, subject: str, port: int) -> bool:
        """Whether the subject had this value until another took its place, which stands."""
        now = self.current(subject)
        return now is not None and any(
            old in self.held and self.held[old].port == port for old in self.replaced[subject]
        )

    @rule(subject=subjects, port=ports, after=hours)
    def say(self, subject: str, port: int, after: int) -> None:
        self.clock.advance(3600.0 * after)
        said = Held("", subject, port, self.clock.now())
        now = self.current(subject)
        given = {"content": said.text, "type": "fact"}
        if (now is None or now.port != port) and self.is_replaced(subject, port):
            assert self.agent.refusal("memory_write", **given)["code"] == "superseded_value"
            return
        answer = self.agent.call("memory_write", **given)
        if now is None:
            assert (answer["status"], answer["superseded"]) == ("created", [])
        elif now.port == port:
            assert (answer["status"], answer["id"]) == ("duplicate", now.memory_id)
            return
        else:
            assert (answer["status"], answer["superseded"]) == ("superseding", [now.memory_id])
        start = self.agent.call("memory_get", id=answer["id"])["memory"]["valid_from"]
        if now is not None:
            self.held[now.memory_id] = replace(now, end=start)
            self.replaced[subject][now.memory_id] = answer["id"]
        self.held[answer["id"]] = replace(said, memory_id=answer["id"], start=start)

    @precondition(lambda self: self.held)
    @rule(subject=subjects, port=ports)
    def say_of_long_ago(self, subject: str, port: int) -> None:
        """Before all that is known of the subject: it ends where that begins, and ends nothing."""
        theirs = [held for held in self.held.values() if held.subject == subject]
        if not theirs or len(theirs) != 1 or theirs[0].end != OPEN or theirs[0].port == port:
            return
        self.clock.advance(1)
        start = f"20{25 - len(self.past) // 10:02}-01-01"
        if start >= theirs[0].start:
            return
        said = Held("", subject, port, start)
        answer = self.agent.call("memory_write", content=said.text, type="fact", valid_from=start)
        assert (answer["status"], answer["superseded"]) == ("created", [])
        self.held[answer["id"]] = replace(
            said, memory_id=answer["id"], start=f"{start}T00:00:00.000000Z", end=theirs[0].start
        )

    @precondition(lambda self: any(self.replaced.values()))
    @rule(subject=subjects)
    def take_back(self, subject: str) -> None:
        """The last automatic update of a subject is undone by one call."""
        now = self.current(subject)
        old = next((o for o, new in self.replaced[subject].items() if now and new == now.memory_id), None)
        if now is None or old is None:
            return
        self.clock.advance(1)
        self.agent.call("memory_unsupersede", id=old)
        del self.held[now.memory_id], self.replaced[subject][old]
        self.held[old] = replace(self.held[old], end=OPEN)

    @precondition(lambda self: self.held)
    @rule(pick=st.integers(0, 100), is_meant=st.sampled_from([True, False, False]))
    def delete(self, pick: int, is_meant: bool) -> None:
        held = [*self.held.values()][pick % len(self.held)]
        if held.end != OPEN or not is_meant:
            return
        self.clock.advance(1)
        self.agent.call("memory_delete", id=held.memory_id)
        del self.held[held.memory_id]

    @invariant()
    def every_moment_shows_what_held_then(self) -> None:
        self.clock.advance(1)
        self.past.append((self.clock.now(), [*self.held.values()]))
        chance = random.Random(len(self.past))
        moments = sorted({h.start for h in self.held.values()} | {self.clock.now()})
        self.check(None, None, self.past[-1][1])
        assert self.agent.call("review_list", limit=1)["reviews"] == []
        for _ in range(LOOKS_PER_STEP):
            self.check(chance.choice(moments), *chance.choice(self.past))

    def check(self, as_of: str | None, known_at: str | None, held: list[Held]) -> None:
        at = as_of or self.clock.now()
        rows = self.agent.call("memory_list", limit=100, as_of=as_of, known_at=known_at)["memories"]
        expected = {h.memory_id: h.text for h in held if h.start <= at < h.end}
        assert {row["id"]: row["content"] for row in rows} == expected
        assert len({text.split()[1] for text in expected.values()}) == len(expected)


def test_one_value_at_a_time_whatever_is_said_taken_back_and_deleted(stores: Stores) -> None:
    """Nothing is put to a person on the way: what is clear is done, and only that."""
    machine = type("AutomaticUpdates", (AutomaticUpdates,), {"location": stores.fresh()})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=size({"sqlite": 8, "postgres": 3}[stores.engine], 100), stateful_step_count=15
        ),
    )
