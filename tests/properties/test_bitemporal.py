"""Reads agree with a model of the two clocks after every change, at every moment of both."""

from __future__ import annotations

import random
from itertools import count
from typing import Any, ClassVar, TypeAlias

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock, later
from m3_memory.storage import open_database
from tests.callers import Agent
from tests.properties.model import Model, Statement, Text, Verdict
from tests.properties.oracle import OPEN, Asker, Belief
from tests.sizes import size
from tests.stores import Stores

MODES = ("keyword", "semantic", "hybrid")
MOMENTS_PER_STEP = 2
MEMORIES_PER_STEP = 3

SENTENCES = (
    "release runs on mondays",
    "Release runs  on Mondays.",
    "release runs on tuesdays",
    "release branch is main",
    "release branch is trunk",
)
REFUSALS = ("invalid_time", "superseded_value", "duplicate_value", "not_current", "undo_blocked")
WORD = "release"
"""In every sentence, so that a search for it shows everything there is."""

CLOCK = (0.000001, 1.0, 3600.0, 90000.0, "2025-12-01", "2026-01-01T12:00:00", "2026-02-01", "2026-04-01")
"""Seconds that pass, and moments that the clock jumps to."""

DATES = ("2024-06-01", "2025-12-31T23:59:59.999999Z", "2026-01-01", "2026-01-02", "2026-03-01")

Date: TypeAlias = str | int | None

texts = st.builds(
    Text, st.sampled_from(SENTENCES), st.sampled_from(["", "", "release day"]), st.sampled_from(["", "a"])
)
dates = st.one_of(st.none(), st.none(), st.sampled_from(DATES), st.integers(0, 30))
"""A date, or the number of a moment at which something begins or ends."""
ends = st.one_of(st.none(), st.none(), dates)
picks = st.integers(0, 1000)
sentences = st.one_of(st.sampled_from(SENTENCES), picks)
"""A sentence, or the number of a memory that says it."""
kinds = st.sampled_from(["fact"] * 6 + ["note", "log"])
scopes = st.sampled_from(["agent"] * 5 + ["session"] * 2 + ["user"])
"""Mostly the same, so that statements meet."""

_users = count()


class Bitemporal(RuleBasedStateMachine):
    """One user's store, changed through dispatch and compared with the model after every step."""

    location: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.asker = Asker(f"user {next(_users)}", "claude", "local", "site", (), "session-1")
        self.model = Model(self.asker, self.clock)
        self.steps = 0
        self.operations: list[str] = []
        self._start()

    def _start(self) -> None:
        who = Caller(self.asker.user, self.asker.agent, self.asker.conversation, project=self.asker.project)
        stores = [open_database(self.location, self.clock) for _ in range(2)]
        self.agents = [Agent(store, self.clock, who, contradiction="off") for store in stores]

    def teardown(self) -> None:
        for agent in self.agents:
            agent.database.close()

    @initialize(scope=scopes, sentence=st.sampled_from(SENTENCES))
    def begin(self, scope: str, sentence: str) -> None:
        self.say(Statement(Text("release the kraken"), "fact", scope))
        self.say(Statement(Text(sentence)))

    @rule(text=texts, kind=kinds, scope=scopes, valid_from=dates, valid_to=ends)
    def write(self, text: Text, kind: str, scope: str, valid_from: Date, valid_to: Date) -> None:
        self.say(Statement(text, kind, scope, self.moment(valid_from), self.moment(valid_to)))

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks, valid_from=dates, valid_to=ends, reassert=st.booleans())
    def say_again(self, pick: int, valid_from: Date, valid_to: Date, reassert: bool) -> None:
        was = self.model.newest(self.chosen(pick))
        start, end = self.moment(valid_from), self.moment(valid_to)
        self.say(Statement(self.model.text(was), was.type, was.place[0], start, end, reassert))

    def say(self, said: Statement) -> None:
        verdict = self.model.judged_write(said)
        answer = self.changed(verdict, "memory_write", **arguments(said))
        if verdict.what == "created":
            self.model.write(answer["id"], said)
            self.note_operation()
        elif verdict.what == "duplicate":
            assert answer["id"] in verdict.of
            self.model.sight(answer["id"])

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks, text=texts, parts=st.sets(st.sampled_from(Text._fields)), valid_to=ends)
    def update(self, pick: int, text: Text, parts: set[str], valid_to: Date) -> None:
        memory_id, ends = self.chosen(pick), self.moment(valid_to)
        was = self.model.text(self.model.newest(memory_id))
        given = {name: part for name, part in text._asdict().items() if name in parts and part}
        verdict = self.model.judged_update(memory_id, was._replace(**given), ends)
        asked: dict[str, object] = {name: given[name] for name in ("content", "title") if name in given}
        if "note" in given:
            asked["metadata"] = {"note": given["note"]}
        self.changed(verdict, "memory_update", id=memory_id, valid_to=ends, **asked)
        if verdict.what == "updated":
            self.model.update(memory_id, was._replace(**given), ends)
            self.note_operation()

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks, importance=st.sampled_from([0.25, 0.75]))
    def weigh(self, pick: int, importance: float) -> None:
        memory_id = self.chosen(pick)
        changes = self.model.importance[memory_id] != importance
        verdict = Verdict("updated" if changes else "unchanged")
        if not self.model.can_change(memory_id):
            verdict = Verdict("not_current")
        self.changed(verdict, "memory_update", id=memory_id, importance=importance)
        if verdict.what == "updated":
            self.model.weigh(memory_id, importance)

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks, sentence=sentences, valid_from=dates, scope=st.one_of(st.none(), scopes))
    def supersede(self, pick: int, sentence: str | int, valid_from: Date, scope: str | None) -> None:
        old_id = self.chosen(pick)
        if isinstance(sentence, int):
            sentence = self.model.text(self.model.newest(self.chosen(sentence))).content
        old = self.model.newest(old_id)
        text = self.model.text(old)._replace(content=sentence)
        said = Statement(text, old.type, scope or old.place[0], self.moment(valid_from))
        verdict = self.model.judged_supersede(old_id, said)
        given = {"content": sentence, "scope": scope, "valid_from": said.valid_from}
        answer = self.changed(verdict, "memory_supersede", old_id=old_id, **given)
        if verdict.what == "superseding":
            assert answer["superseded"] == [old_id]
            assert not verdict.of or answer["id"] in verdict.of
            assert verdict.of or answer["id"] not in self.model.ids
            self.model.supersede(old_id, answer["id"], said)
            self.note_operation()

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        memory_id = self.chosen(pick)
        verdict = Verdict("deleted" if self.model.can_change(memory_id) else "not_current")
        self.changed(verdict, "memory_delete", id=memory_id)
        if verdict.what == "deleted":
            self.model.delete(memory_id)
            self.note_operation()

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks)
    def restore(self, pick: int) -> None:
        memory_id = self.chosen(pick)
        verdict = self.model.judged_restore(memory_id)
        self.changed(verdict, "memory_restore", id=memory_id)
        if verdict.what == "restored":
            self.model.undo(self.model.last_change(memory_id))
            self.note_operation()

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks, again=st.booleans())
    def undo(self, pick: int, again: bool) -> None:
        """A memory's last change is undone, with all that it did to other memories; and perhaps that too."""
        for _ in range(1 + again):
            memory_id = self.chosen(pick)
            number = self.model.last_change(memory_id)
            verdict = self.model.judged_undo(number)
            self.changed(verdict, "memory_undo", memory_id=memory_id)
            if verdict.what == "undone":
                self.model.undo(number)
                self.note_operation()

    @precondition(lambda self: self.model.done)
    @rule(pick=picks)
    def undo_earlier(self, pick: int) -> None:
        """A change that is not the last is undone, or something is in the way."""
        number = len(self.model.done) - 1 - pick % min(len(self.model.done), 6)
        verdict = self.model.judged_undo(number)
        self.changed(verdict, "memory_undo", operation=self.operations[number])
        if verdict.what == "undone":
            self.model.undo(number)
            self.note_operation()

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks, other=sentences, valid_from=dates, again_from=dates, reassert=st.booleans())
    def replace_and_return(
        self, pick: int, other: str | int, valid_from: Date, again_from: Date, reassert: bool
    ) -> None:
        """A value is superseded and said once more."""
        self.supersede(pick, other, valid_from, None)
        self.say_again(pick, again_from, None, reassert)

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks, valid_to=dates, sentence=sentences, valid_from=dates)
    def end_and_replace(self, pick: int, valid_to: Date, sentence: str | int, valid_from: Date) -> None:
        """What has an end already gets a successor, before or after it."""
        self.update(pick, Text(""), set(), valid_to)
        self.supersede(pick, sentence, valid_from, None)

    @precondition(lambda self: self.model.ids)
    @rule(pick=picks, seconds=st.sampled_from([1.0, 90000.0]), says_more=st.booleans())
    def delete_and_return(self, pick: int, seconds: float, says_more: bool) -> None:
        """A deleted memory comes back after a while, unless it was said again meanwhile."""
        self.delete(pick)
        if says_more:
            self.say_again(pick, None, None, reassert=True)
        self.restore(pick)
        self.clock.advance(seconds)

    @rule(to=st.sampled_from(CLOCK))
    def time_passes_or_jumps(self, to: float | str) -> None:
        if isinstance(to, str):
            self.clock.set(to)
        else:
            self.clock.advance(to)

    @rule()
    def restart(self) -> None:
        self.teardown()
        self._start()

    @invariant()
    def every_read_agrees(self) -> None:
        self.steps += 1
        chance = random.Random(self.steps)
        agent = self.agents[self.steps % 2]
        looks = [(None, None), *(self.look(chance) for _ in range(MOMENTS_PER_STEP))]
        ids = chance.sample(self.model.ids, min(MEMORIES_PER_STEP, len(self.model.ids)))
        for number, (as_of, known_at) in enumerate(looks):
            seen = self.model.seen(as_of, known_at)
            self.check_search(agent, MODES[(self.steps + number) % 3], seen, as_of=as_of, known_at=known_at)
            for memory_id in ids:
                self.check_get(agent, memory_id, seen.get(memory_id), as_of=as_of, known_at=known_at)
        for memory_id, (_, known_at) in zip(ids, looks, strict=False):
            self.check_history(agent, memory_id, known_at)

    def check_search(self, agent: Agent, mode: str, seen: dict[str, Belief], **at: str | None) -> None:
        answer = agent.call("memory_search", query=WORD, k=100, search_mode=mode, **at)
        found = {hit["id"]: shown(hit) for hit in answer["hits"]}
        assert found == {key: self.expected(belief) for key, belief in seen.items()}, (mode, at)
        assert len(answer["hits"]) == len(found)

    def check_get(self, agent: Agent, memory_id: str, seen: Belief | None, **at: str | None) -> None:
        answer = agent.call("memory_get", id=memory_id, **at)
        memory = answer.get("memory")
        assert (shown(memory) if memory else None) == (self.expected(seen) if seen else None), at
        if memory and seen:
            assert memory["importance"] == self.model.importance[memory_id]
            assert memory["metadata"].get("note", "") == self.model.text(seen).note
        if not any(at.values()):
            state, since = self.model.standing(memory_id)
            told = (answer.get("state", "current"), answer.get("since", since))
            assert told == (state, since)
            assert answer["status"] == ("current" if state == "current" else "not_current")

    def check_history(self, agent: Agent, memory_id: str, known_at: str | None) -> None:
        events = [e for e in self.model.events[memory_id] if not known_at or e.at <= known_at]
        if not events:
            refused = agent.refusal("memory_history", memory_id=memory_id, known_at=known_at)
            assert refused["code"] == "not_found"
            return
        answer = agent.call("memory_history", memory_id=memory_id, limit=100, known_at=known_at)
        assert [(e["kind"], e["at"], e["version"]) for e in answer["events"]] == events[::-1]

    def expected(self, belief: Belief) -> tuple[object, ...]:
        text = self.model.text(belief)
        ends = None if belief.valid_to == OPEN else belief.valid_to
        return (belief.version, text.content, text.title, belief.valid_from, ends, belief.recorded_from)

    def changed(self, verdict: Verdict, tool: str, **given: object) -> dict[str, Any]:
        """The answer, which must be what the model says it is."""
        agent = self.agents[0]
        if verdict.what in REFUSALS:
            assert agent.refusal(tool, **given)["code"] == verdict.what
            return {}
        answer = agent.call(tool, **given)
        assert answer["status"] == verdict.what
        return answer

    def note_operation(self) -> None:
        """Keeps the operation id of the change just made."""
        memory_id = next(iter(self.model.done[-1].stages))
        (event,) = self.agents[0].call("memory_history", memory_id=memory_id, limit=1)["events"]
        self.operations.append(event["operation_id"])

    def chosen(self, pick: int) -> str:
        return self.model.ids[pick % len(self.model.ids)]

    def moments(self) -> list[str]:
        """Every moment at which something begins or ends, on either clock."""
        names = ("valid_from", "valid_to", "recorded_from", "recorded_to", "expires_at")
        ends = {getattr(belief, name) for belief in self.model.rows.beliefs for name in names}
        return sorted(ends - {OPEN}) or [self.model.now]

    def moment(self, date: str | int | None) -> str | None:
        if isinstance(date, int):
            known = self.moments()
            return known[date % len(known)]
        return full(date) if date else None

    def look(self, chance: random.Random) -> tuple[str | None, str | None]:
        """A moment on each clock: at an end, just before or just after one, or the default."""

        def one() -> str | None:
            near = later(chance.choice(self.moments()), chance.choice((-1, 0, 0, 1)))
            return chance.choice((None, near, near))

        return one(), one()


def arguments(said: Statement) -> dict[str, object]:
    return {
        "content": said.text.content,
        "title": said.text.title,
        "metadata": {"note": said.text.note} if said.text.note else None,
        "type": said.type,
        "scope": said.scope,
        "valid_from": said.valid_from,
        "valid_to": said.valid_to,
        "reassert": said.reassert,
    }


def shown(memory: dict[str, Any]) -> tuple[object, ...]:
    names = ("version", "content", "title", "valid_from", "valid_to", "recorded_at")
    return tuple(memory.get(name) for name in names)


def full(date: str) -> str:
    return date if date.endswith("Z") else f"{date}T00:00:00.000000Z"


def test_every_read_agrees_with_the_model_after_every_step(stores: Stores) -> None:
    """Issue 2, point 4. Cases B18, B19, B25: as_of and known_at, closed windows, deletions that stay."""

    class Here(Bitemporal):
        location = stores.fresh()

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=size({"sqlite": 15, "postgres": 6}[stores.engine], 250), stateful_step_count=50
        ),
    )
