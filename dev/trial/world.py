"""A world of coding memories, the same for the same seed: what is said, and what is asked about it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from dev.trial import world_data as data

SERVICE_COUNT = 8
FIRST_DAY = date(2024, 1, 8)
CHANGE_DAY = date(2025, 3, 3)


@dataclass(frozen=True)
class Statement:
    """One memory to be. `since` is the day it holds from; empty for today."""

    key: str
    type: str
    content: str
    since: str = ""
    scope: str = "agent"


@dataclass(frozen=True)
class Question:
    """A question, the statement that answers it, and how far down the answer may stand.

    `gone` names statements that must not be among the hits. `known_at` is filled in by the play, for the
    moment before anything was corrected, where `before_corrections` asks for it.
    """

    text: str
    answer: str
    within: int = 1
    gone: tuple[str, ...] = ()
    mode: str = "hybrid"
    as_of: str = ""
    before_corrections: bool = False


@dataclass(frozen=True)
class Service:
    """One service of the world with the values of its slots."""

    name: str
    slots: dict[str, object]


class World:
    """Everything the trial says and asks, but for what it corrects (see `corrections`)."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._given: set[int] = set()
        self.services = [self._service(name) for name in self._random.sample(data.SERVICES, SERVICE_COUNT)]
        self._topic_slots = [self.slots() for _ in data.TOPICS]
        self._awkward_slots = [self._with_service(self.slots()) for _ in data.AWKWARD]
        # The same service in both, or they would differ by more than a "not".
        self._awkward_slots[-1] = self._awkward_slots[-2]
        self.statements = [*self._said()]

    def slots(self) -> dict[str, object]:
        """Fresh values for every slot a text may have."""
        number, pick = self._random.randint, self._random.choice
        return {
            "person": pick(data.PEOPLE),
            "weekday": pick(data.WEEKDAYS),
            "city": pick(data.CITIES),
            "license": pick(data.LICENSES),
            "mailer": pick(data.MAILERS),
            "small": number(3, 9),
            "hours": number(12, 72),
            "hour": number(8, 18),
            "day": number(4, 20),
            "days": number(14, 90),
            "minutes": number(4, 45),
            "percent": number(70, 95),
            "lines": number(150, 400),
            "limit": number(100, 900),
            "pool": number(20, 120),
            "rate": number(20, 400),
            "columns": number(60, 80),
        }

    def facet(self, key: str, service: Service, **changed: object) -> str:
        """The statement of that kind about a service, with some of its values changed."""
        text = next(text for name, _, text in data.FACETS if name == key)
        return text.format(**service.slots | changed)

    def other(self, options: Sequence[str], than: object) -> str:
        """Another of the options."""
        return self._random.choice([option for option in options if option != than])

    def failure_other_than(self, service: Service) -> tuple[str, str]:
        """Another meaning of a service's error, and what helps."""
        others = [(text.format(**service.slots), remedy) for text, remedy in data.FAILURES]
        return self._random.choice([pair for pair in others if pair[0] != service.slots["failure"]])

    def number(self, low: int, high: int) -> int:
        """A whole number of this world, both ends included."""
        return self._random.randint(low, high)

    def by_word(self) -> Iterator[Question]:
        """Questions that name what they look for: names, ports, codes, variables, paths, parts of words."""
        a, b, c, d, e, f, g, h = self.services
        yield Question(f"which port does the {f.name} service listen on", f"port {f.name}")
        yield Question(f"{g.slots['port']}", f"port {g.name}", mode="keyword")
        yield Question(f"staging port of {h.name}", f"staging {h.name}")
        for service in (a, e):
            yield Question(f"{service.slots['code']}", f"error {service.name}", mode="keyword")
        yield Question(f"what does error {h.slots['code']} mean", f"error {h.name}")
        yield Question(f"{b.slots['SERVICE']}_TIMEOUT_MS", f"variable {b.name}", mode="keyword")
        yield Question(f"{c.name} timeout", f"variable {c.name}")
        yield Question(f"which team owns {d.name}", f"owner {d.name}")
        yield Question(f"make {e.name}-release", f"deploy {e.name}")
        yield Question(f"why {f.slots['database']} for {f.name}", f"storage {f.name}")
        for (key, _, _, question), slots in zip(data.AWKWARD, self._awkward_slots, strict=True):
            within = (
                2 if key.startswith("negation") else 1
            )  # words and vectors hardly see a "not": both come up
            yield Question(question.format(**slots), f"awkward {key}", within)

    def by_meaning(self) -> Iterator[Question]:
        """Questions in other words than the answer's; it must be among the first three."""
        for number, (_, _, question) in enumerate(data.TOPICS):
            yield Question(question.format(**self._topic_slots[number]), f"topic {number}", 3)
        for service, (_, question) in zip(self.services, data.ROLES, strict=True):
            yield Question(question, f"role {service.name}", 3)

    def _said(self) -> Iterator[Statement]:
        for place, service in enumerate(self.services):
            since = str(FIRST_DAY + timedelta(days=self._random.randint(0, 200)))
            for key, kind, text in data.FACETS:
                yield Statement(f"{key} {service.name}", kind, text.format(**service.slots), since)
            role, gotcha = data.ROLES[place][0], data.GOTCHAS[place]
            yield Statement(f"role {service.name}", "fact", role.format(**service.slots), since)
            yield Statement(f"gotcha {service.name}", "observation", gotcha.format(**service.slots))
        for number, (kind, text, _) in enumerate(data.TOPICS):
            yield Statement(f"topic {number}", kind, text.format(**self._topic_slots[number]))
        for number, (kind, text) in enumerate(data.BACKGROUND):
            yield Statement(f"background {number}", kind, text.format(**self.slots()))
        for (key, kind, text, _), slots in zip(data.AWKWARD, self._awkward_slots, strict=True):
            yield Statement(f"awkward {key}", kind, text.format(**slots))
        yield Statement("everywhere", "preference", "Explain a change before you make it.", scope="user")

    def _service(self, name: str) -> Service:
        runtime, major = self._random.choice(data.RUNTIMES)
        failure, remedy = self._random.choice(data.FAILURES)
        slots = self.slots()
        return Service(
            name,
            slots
            | {
                "service": name,
                "SERVICE": name.upper(),
                "port": self._unique(4200, 9800),
                "staging_port": self._unique(14200, 19800),
                "runtime": runtime,
                "version": f"{major}.{self._random.randint(2, 24)}",
                "team": self._random.choice(data.TEAMS),
                "database": self._random.choice(data.DATABASES),
                "reason": self._random.choice(data.REASONS),
                "code": f"{name[:3].upper()}-{self._unique(1000, 4000)}",
                "failure": failure.format(**slots),
                "remedy": remedy,
                "timeout": self._unique(500, 4000),
            },
        )

    def _with_service(self, slots: dict[str, object]) -> dict[str, object]:
        name = self._random.choice(self.services).name
        return slots | {"service": name, "Service": name.capitalize()}

    def _unique(self, low: int, high: int) -> int:
        """A number that no other call gives."""
        number = self._random.choice([each for each in range(low, high) if each not in self._given])
        self._given.add(number)
        return number
