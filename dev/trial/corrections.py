"""How the trial's world changes after it was written down, and what is asked about then and now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from dev.trial import world_data as data
from dev.trial.world import CHANGE_DAY, Question, Service, World

BEFORE = str(CHANGE_DAY - timedelta(days=60))
AFTER = str(CHANGE_DAY + timedelta(days=60))


@dataclass(frozen=True)
class Replaced:
    """A statement that stopped being true on a day, and what took its place. No day: just now."""

    key: str
    content: str
    since: str
    question: str

    @property
    def new_key(self) -> str:
        return f"{self.key}, later"


@dataclass(frozen=True)
class Misrecorded:
    """A statement that was written down wrongly: the world did not change."""

    key: str
    content: str
    question: str


class Corrections:
    """What changes in one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.replaced = [*self._replaced()]
        self.always_so = self._always_so()
        self.misrecorded = [*self._misrecorded()]
        self.deleted = [f"gotcha {service.name}" for service in world.services[1:4]]
        self.restored = self.deleted[-1]
        self.returned = self.replaced[1]

    def said_again(self) -> Iterator[str]:
        """Keys of statements that are written once more, as people do."""
        last = self.world.services[-1].name
        yield from ("topic 3", "topic 24", "everywhere", "awkward sql", f"owner {last}", f"port {last}")

    def questions(self) -> Iterator[Question]:
        """As of a day, as the store knew it before the corrections, and now."""
        for each in self.replaced:
            now = Question(each.question, each.new_key, gone=(each.key,))
            if each is self.returned:
                now = Question(each.question, f"{each.key}, again", gone=(each.key, each.new_key))
            yield now
            if each.since:
                yield Question(each.question, each.key, gone=(each.new_key,), as_of=BEFORE)
                yield Question(each.question, each.new_key, gone=(each.key,), as_of=AFTER)
            else:
                yield Question(each.question, each.key, gone=(each.new_key,), before_corrections=True)
        so = self.always_so
        yield Question(so.question, so.new_key, gone=(so.key,), as_of=BEFORE)
        yield Question(so.question, so.key, gone=(so.new_key,), before_corrections=True)
        for wrong in self.misrecorded:
            yield Question(wrong.question, wrong.key)
            yield Question(wrong.question, wrong.key, before_corrections=True)
        yield from self._about_deleted()

    def _about_deleted(self) -> Iterator[Question]:
        for key in self.deleted:
            text = next(each.content for each in self.world.statements if each.key == key)
            if key == self.restored:
                yield Question(text, key)
            else:
                yield Question(text, "", gone=(key,))
                yield Question(text, key, before_corrections=True)

    def _replaced(self) -> Iterator[Replaced]:
        world, (a, b, c, d, e, f, g, _) = self.world, self.world.services
        runtime = f"{d.slots['version']}"
        newer = f"{runtime.partition('.')[0]}.{int(runtime.partition('.')[2]) + 1}"
        timeout = world.number(5000, 9000)
        changes: list[tuple[str, Service, dict[str, object], str]] = [
            (
                "port",
                a,
                {"port": world.number(9801, 9999)},
                f"which port does the {a.name} service listen on",
            ),
            ("owner", b, {"team": world.other(data.TEAMS, b.slots["team"])}, f"which team owns {b.name}"),
            ("storage", c, _database(world, c), f"which database does {c.name} use"),
            ("runtime", d, {"version": newer}, f"runtime version of {d.name}"),
            ("region", e, {"city": world.other(data.CITIES, e.slots["city"])}, f"where is {e.name} hosted"),
            ("deploy", f, {"minutes": world.number(50, 90)}, f"how is {f.name} deployed"),
            ("variable", g, {"timeout": timeout}, f"request timeout of {g.name}"),
        ]
        for facet, service, changed, question in changes:
            content = world.facet(facet, service, **changed)
            yield Replaced(f"{facet} {service.name}", content, str(CHANGE_DAY), question)
        flags = f"Feature flags are removed {world.number(100, 200)} days after full rollout."
        yield Replaced("topic 3", flags, "", "when are feature flags removed")

    def _always_so(self) -> Replaced:
        service = self.world.services[0]
        content = self.world.facet("staging", service, staging_port=self.world.number(20000, 20999))
        return Replaced(f"staging {service.name}", content, "2024-01-01", f"staging port of {service.name}")

    def _misrecorded(self) -> Iterator[Misrecorded]:
        service = self.world.services[2]
        failure, remedy = self.world.failure_other_than(service)
        content = self.world.facet("error", service, failure=failure, remedy=remedy)
        yield Misrecorded(f"error {service.name}", content, f"what does {service.slots['code']} mean")
        path = next(each.content for each in self.world.statements if each.key == "awkward path")
        yield Misrecorded("awkward path", path.replace("failover.md", "recovery.md"), "where is the runbook")


def _database(world: World, service: Service) -> dict[str, object]:
    return {
        "database": world.other(data.DATABASES, service.slots["database"]),
        "reason": world.other(data.REASONS, service.slots["reason"]),
    }
