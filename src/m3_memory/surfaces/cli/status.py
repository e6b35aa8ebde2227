"""`m3 status`: the store at a glance, by questions that are quick in a large one; it changes nothing."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from m3_memory.app import App
from m3_memory.config import load_settings
from m3_memory.declared_stores import MAIN
from m3_memory.domains.agents.service import operators
from m3_memory.domains.correction.service.reviews import waiting_for_owner
from m3_memory.errors import M3Error, NoStore, StoreDamaged, StoreOutdated
from m3_memory.kernel.clock import seconds_between
from m3_memory.kernel.counting import counted
from m3_memory.storage.backup import backups_in
from m3_memory.storage.overview import overview
from m3_memory.storage.scheduled_backup import Schedule, missed, schedule_of
from m3_memory.surfaces.cli import output

if TYPE_CHECKING:
    from m3_memory.domains.agents.model import OperatorStatus
    from m3_memory.launch import Launch
    from m3_memory.storage.overview import Overview

NEVER = "never"
LATELY_SECONDS = 7 * 24 * 3600.0
"""For how long a set or changed operator's passphrase is pointed out."""


class State(StrEnum):
    """How the store is: all is well; it works and wants attention; it can't be relied on; there is none."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    FAULT = "fault"
    ABSENT = "absent"


EXIT_CODES = {
    State.HEALTHY: 0,
    State.DEGRADED: M3Error.exit_code,
    State.FAULT: StoreDamaged.exit_code,
    State.ABSENT: NoStore.exit_code,
}


@dataclass(frozen=True, slots=True)
class Status:
    """What there is to tell: `faults` make the store unsound, `attention` is for a person to act on."""

    where: dict[str, Any]
    seen: dict[str, Any] = field(default_factory=dict[str, Any])
    faults: list[str] = field(default_factory=list[str])
    attention: list[str] = field(default_factory=list[str])
    is_absent: bool = False

    @property
    def state(self) -> State:
        if self.is_absent:
            return State.ABSENT
        if self.faults:
            return State.FAULT
        return State.DEGRADED if self.attention else State.HEALTHY

    def told(self) -> dict[str, Any]:
        """The answer for programs."""
        return {
            "state": str(self.state),
            **self.where,
            **self.seen,
            "faults": self.faults,
            "attention": self.attention,
        }


def run(launch: Launch, _given: object, _doors: object) -> int:
    """Prints the status, and returns the exit code that tells it."""
    found = find_status(launch)
    if launch.json or not sys.stdout.isatty():
        output.print_json(found.told())
    else:
        output.print_text(line(found))
    return EXIT_CODES[found.state]


def find_status(launch: Launch) -> Status:
    """The status of the launch's store. Raises InvalidSettings, and UnknownStore for one not declared."""
    settings = load_settings()
    with closing(App.open(settings, store=launch.store, as_it_is=True)) as app:
        where = {"store": app.stores.declared[app.store].shown, "embedder": _embedder(app)}
        try:
            return _seen(app, where)
        except NoStore as error:
            return Status(where | {"hint": error.hint}, is_absent=True)
        except StoreOutdated as error:
            return Status(where, attention=[f"{error.message}: {error.hint}"])
        except M3Error as error:
            return Status(where | {"code": error.code}, faults=[f"{error.message}: {error.hint}"])


def line(status: Status) -> str:
    """The answer for a person: one line, what is wrong first."""
    told, wrong = status.told(), [*status.faults, *status.attention]
    parts = [f"{status.state}: {'; '.join(wrong)}" if wrong else str(status.state), told["store"]]
    if status.is_absent:
        return " · ".join([*parts, f"there is none yet; {told['hint']}"])
    if status.seen:
        parts += _facts(told)
    return " · ".join(parts)


def _facts(told: dict[str, Any]) -> list[str]:
    counts, jobs, embedder, asked = told["memories"], told["jobs"], told["embedder"], told["reviews"]
    past = counts["all"] - counts["current"]
    dead = f", {jobs['dead']:,} dead" if jobs["dead"] else ""
    behind = f", {told['without_vectors']:,} without vectors" if told["without_vectors"] else ""
    operator = told["operator"]
    since = (
        f"set {_day(operator['set_at'])}{', new' if operator['is_new'] else ''}"
        if operator["is_set"]
        else "none"
    )
    return [
        f"{told['engine']}, schema {told['schema_version']}",
        f"{counted(counts['current'], 'memory')}{f' and {past:,} past' if past else ''}",
        f"{counted(jobs['waiting'], 'job')} waiting{dead}",
        f"model {embedder['name']}{behind}",
        *([f"{counted(asked, 'question waits', 'questions wait')} for you: m3 review"] if asked else []),
        f"backup {_day(told['backup']['last'])}",
        f"operator {since}",
    ]


def _day(moment: str) -> str:
    return moment.partition("T")[0]


def _seen(app: App, where: dict[str, Any]) -> Status:
    schedule = schedule_of(app.settings) if app.store == MAIN else None
    heads = app.database.heads.read()
    with app.database.read(app.settings.user_id) as reader:
        found = overview(reader, heads, app.clock.now())
        operator = operators.status_of(reader)
        late = missed(reader, schedule) if schedule else []
        seen = {
            "engine": reader.dialect.describe(),
            "schema_version": found.schema_version,
            "memories": {"current": found.current, "all": found.memories},
            "jobs": {"waiting": found.jobs_waiting, "dead": found.jobs_dead},
            "without_vectors": found.without_vectors,
            "reviews": waiting_for_owner(reader),
            "backup": _backup(app, schedule),
            "operator": _operator(operator, app.clock.now()),
        }
        notices = reader.dialect.notices
    attention = [*notices, *_jobs(found), *late, *_about(operator)]
    return Status(where, seen, [fault.detail for fault in found.faults], attention)


def _embedder(app: App) -> dict[str, str]:
    source = app.embedder
    known = {"name": app.settings.embedder, "state": str(source.state)}
    return known | ({"reason": source.reason} if source.reason else {})


def _backup(app: App, schedule: Schedule | None) -> dict[str, Any]:
    """The newest copy in the usual folder, and how often one is made; of a named store nobody makes any."""
    if not app.stores.declared[app.store].is_file:
        return {"last": NEVER, "hint": "pg_dump makes a backup, m3 export a file of the memories"}
    last = next(iter(backups_in(schedule.folder)), None) if schedule else None
    told = {"last": last.made_at, "path": str(last.path)} if last else {"last": NEVER}
    return told | {"every_hours": schedule.hours if schedule else 0.0}


def _jobs(found: Overview) -> list[str]:
    dead = found.jobs_dead
    return [f"{counted(dead, 'job')} failed too often: m3 doctor names them"] if dead else []


def _operator(found: OperatorStatus, now: str) -> dict[str, Any]:
    told = {name: value for name, value in found._asdict().items() if value is not None}
    lately = bool(found.set_at) and seconds_between(str(found.set_at), now) < LATELY_SECONDS
    return told | {"is_new": lately}


def _about(operator: OperatorStatus) -> list[str]:
    if not operator.removed:
        return []
    return [f"the operator's passphrase was taken out of the store by hand: there was {operator.last_event}"]
