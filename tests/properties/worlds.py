"""Random worlds: users, places, memories with a past, and questions about them.

A world is a few users whose names, circles, projects and conversations are made to be confused. Many worlds
share one store, each with users of its own; what one shows of another is a leak as well.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import LiteralString

from m3_memory.kernel.caller import Caller, Scope
from m3_memory.storage.database import Database, Reader, Writer
from m3_memory.storage.predicates import Filter, View, view_of
from m3_memory.storage.sql import Row, sql
from m3_memory.storage.transaction import number
from tests.properties.oracle import NOWHERE, OPEN, Asker, Belief, Place, Question, Store

MOMENTS = tuple(f"2025-0{month}-01T00:00:00.000000Z" for month in range(1, 10))
"""Few moments, so that ends meet starts, expiries and questions exactly."""

TRUST_STATES = ("candidate", "accepted", "verified", "rejected")
VARIANTS = ("", "", "", "v1", "v2")
TYPES = ("fact", "note", "scratchpad")
AGENTS = ("claude", "codex")
CIRCLES = ("local", "local/p", "-")
PROJECTS = ("p", NOWHERE, "p/q", "-", "%2D", "q")
CONVERSATIONS = ("c", "c/d", "-")
SCOPES = ("agent", "session", "user")

_PLANTED: LiteralString = (
    "INSERT INTO memory_validity (memory_id, item, version, valid_from, valid_to, recorded_from, recorded_to,"
    " trust_state, expires_at, audience, type, agent_id, conversation_id, variant, opened_by)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True)
class World:
    """The rows of one world, who looks at them, and what they ask."""

    name: str
    rows: Store
    looks: tuple[tuple[Asker, Question], ...]

    @property
    def memory_ids(self) -> list[str]:
        return sorted({belief.memory_id for belief in self.rows.beliefs})


def make_worlds(count: int, looks: int) -> list[World]:
    """The same worlds in every run; beliefs are numbered through all of them."""
    made = list[World]()
    first = 1
    for world in range(count):
        chance = random.Random(f"world {world}")
        rows = Store(list(_beliefs(chance, world, first)))
        first += len(rows.beliefs)
        asked = tuple((_asker(chance, world), _question(chance)) for _ in range(looks))
        made.append(World(f"world {world}", rows, asked))
    return made


def plant(database: Database, worlds: Iterable[World]) -> None:
    """Puts the worlds' rows into a store as they are; a belief's number is kept as its `opened_by`."""
    with database.write("planter") as writer:
        places = dict[str, int]()
        for world in worlds:
            for belief in world.rows.beliefs:
                writer.execute(sql(_PLANTED, *_row(writer, belief, places)))


def view_for(reader: Reader, asker: Asker, question: Question) -> View:
    """The same question as the product takes it. Raises NeedsGrant as that does."""
    asked = view_of(
        reader,
        Caller(
            user_id=asker.user,
            agent_id=asker.agent,
            conversation_id=asker.conversation,
            circle=asker.circle,
            project=asker.project,
            project_aliases=asker.aliases,
            is_operator=asker.is_operator,
            grants=frozenset({"widen"} if asker.may_widen else ()),
        ),
        Filter(
            as_of=question.as_of or "",
            known_at=question.known_at or "",
            trust_states=tuple(sorted(question.trust_states)),
            variant=question.variant or "",
            scopes=tuple(Scope(name) for name in sorted(question.scopes)),
            types=tuple(sorted(question.types)),
            excluded_types=tuple(sorted(question.excluded_types)),
            agent_id=question.agent or "",
            conversation_id=question.conversation or "",
            valid_since=question.valid_since or "",
            valid_until=question.valid_until or "",
            project=question.project or "",
        ),
    )
    return replace(asked, now=question.now)


def audience_text(place: Place) -> str:
    """What the product calls a place, asked of a caller who stands there."""
    match place:
        case ("agent", user, circle, project):
            return Caller(user, "any", "any", circle, project).audience(Scope.AGENT)
        case ("session", user, circle, conversation):
            return Caller(user, "any", conversation, circle).audience(Scope.SESSION)
        case _:
            return Caller(place[1], "any", "any").audience(Scope.USER)


def _row(writer: Writer, belief: Belief, places: dict[str, int]) -> Row:
    name = audience_text(belief.place)
    if name not in places:
        places[name] = number(
            writer.insert(
                sql(
                    "INSERT INTO audiences (owner, name) VALUES (?, ?) RETURNING audience", writer.owner, name
                )
            )
        )
    return (
        belief.memory_id, belief.number, belief.version, belief.valid_from, belief.valid_to,
        belief.recorded_from, belief.recorded_to, belief.trust_state, belief.expires_at, places[name],
        belief.type, belief.agent_id, belief.conversation_id, belief.variant, belief.number,
    )  # fmt: skip


def _users(world: int) -> tuple[str, ...]:
    return (f"u{world}", f"u{world}/local", f"U{world}")


def _beliefs(chance: random.Random, world: int, first: int) -> Iterable[Belief]:
    for _ in range(chance.randint(12, 20)):
        past = _past(chance, world)
        for belief in past:
            yield replace(belief, number=first)
            first += 1


def _past(chance: random.Random, world: int) -> list[Belief]:
    """What the store came to believe of one memory, one after another; the last may be open."""
    memory_id = str(uuid.UUID(int=chance.getrandbits(128)))
    spans = sorted(chance.sample(range(len(MOMENTS)), chance.randint(2, 5)))
    said = Belief(
        0, memory_id, 1, _place(chance, world), "", "", "", "", "accepted", OPEN,
        chance.choice(TYPES), chance.choice(AGENTS), chance.choice(CONVERSATIONS), chance.choice(VARIANTS),
    )  # fmt: skip
    found = list[Belief]()
    for start, end in pairwise(spans):
        said = replace(_changed(chance, said, world), recorded_from=MOMENTS[start], recorded_to=MOMENTS[end])
        found.append(said)
    if chance.random() < 0.65:
        found[-1] = replace(found[-1], recorded_to=OPEN)
    return found


def _changed(chance: random.Random, said: Belief, world: int) -> Belief:
    """The next belief of the same memory: another interval, state or expiry; seldom another place."""
    valid_from, valid_to = sorted(chance.sample((*MOMENTS, OPEN), 2))
    return replace(
        said,
        version=said.version + chance.randint(0, 1),
        place=_place(chance, world) if chance.random() < 0.05 else said.place,
        valid_from=valid_from,
        valid_to=valid_to if chance.random() < 0.6 else OPEN,
        trust_state=chance.choices(TRUST_STATES, (2, 8, 2, 2))[0],
        expires_at=chance.choice(MOMENTS) if chance.random() < 0.25 else OPEN,
        agent_id=chance.choice(AGENTS) if chance.random() < 0.1 else said.agent_id,
    )


def _place(chance: random.Random, world: int) -> Place:
    user, circle = _likely(chance, _users(world)), _likely(chance, CIRCLES)
    match chance.choices(SCOPES, (6, 2, 2))[0]:
        case "agent":
            return ("agent", user, circle, _likely(chance, PROJECTS, 0.4))
        case "session":
            return ("session", user, circle, chance.choice(CONVERSATIONS))
        case _:
            return ("user", user)


def _likely(chance: random.Random, names: tuple[str, ...], often: float = 0.75) -> str:
    """Mostly the first: otherwise nobody would ever see anything."""
    return names[0] if chance.random() < often else chance.choice(names)


def _asker(chance: random.Random, world: int) -> Asker:
    project = _likely(chance, PROJECTS, 0.4)
    others = [name for name in PROJECTS if name not in (NOWHERE, project)]
    return Asker(
        user=_likely(chance, _users(world)),
        agent=chance.choice(AGENTS),
        circle=_likely(chance, CIRCLES),
        project=project,
        aliases=tuple(chance.sample(others, chance.choice((0, 0, 1, 2)))) if project else (),
        conversation=chance.choice(CONVERSATIONS),
        is_operator=chance.random() < 0.2,
        may_widen=chance.random() < 0.5,
    )


def _question(chance: random.Random) -> Question:
    """Each narrowing is asked for now and then, so that most questions see something."""

    def seldom(choices: tuple[str, ...], often: float = 0.1) -> str | None:
        return chance.choice(choices) if chance.random() < often else None

    one_type = seldom(TYPES)
    no_type = seldom(TYPES)
    return Question(
        now=chance.choice(MOMENTS),
        as_of=seldom(MOMENTS, 0.5),
        known_at=seldom(MOMENTS, 0.5),
        trust_states=_states(chance),
        variant=seldom(("v1", "v2"), 0.3),
        scopes=frozenset(chance.sample(SCOPES, chance.choice((3, 3, 3, 2, 1)))),
        types=frozenset({one_type}) if one_type else frozenset(),
        excluded_types=frozenset({no_type}) if no_type else frozenset(),
        agent=seldom(AGENTS),
        conversation=seldom(CONVERSATIONS),
        valid_since=seldom(MOMENTS, 0.2),
        valid_until=seldom(MOMENTS, 0.2),
        project=seldom(("*", "*", "-", "p", "p/q", "q", "elsewhere"), 0.3),
    )


def _states(chance: random.Random) -> frozenset[str]:
    """Mostly what reads admit by default."""
    if chance.random() < 0.6:
        return frozenset({"accepted", "verified"})
    return frozenset(chance.sample(TRUST_STATES, chance.randint(1, 4)))
