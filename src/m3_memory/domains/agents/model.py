"""What the agents slice knows: who may act as the operator, and what a project is called."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from m3_memory.kernel.caller import SHARED_CIRCLE, names_of
from m3_memory.kernel.clock import seconds_between
from m3_memory.kernel.counting import counted
from m3_memory.kernel.limits import JsonValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.kernel.caller import Caller

SHORTEST_PASSPHRASE = 12
LONGEST_PASSPHRASE = 1_000
SIGNED_IN_SECONDS = 15 * 60

ACTIVE, IDLE, OFFLINE = STATES = ("active", "idle", "offline")
ACTIVE_SECONDS = 15 * 60
IDLE_SECONDS = 24 * 60 * 60
"""For how long after it was last seen an agent counts as active, and as idle."""

LEAST_TRUST = 0.5

SET = "operator's passphrase was set"
CHANGED = "operator's passphrase was changed"
"""The reasons of the events that set a passphrase."""


class Verifier(NamedTuple):
    """What a passphrase is compared with. `parameters` are scrypt's, as `scrypt:N:r:p`."""

    parameters: str
    salt: bytes
    digest: bytes
    set_at: str = ""


class Proof(NamedTuple):
    """That the operator's passphrase was given in this process: of which store and user, and when.

    `proved_at_seconds` is on the clock's monotonic scale; `set_at` tells which passphrase it was.
    """

    store: str
    user_id: str
    set_at: str
    proved_at_seconds: float

    def holds(self, seconds: float, set_at: str) -> bool:
        """Whether the person is still signed in at that moment, with a passphrase that is still the one."""
        return set_at == self.set_at and seconds - self.proved_at_seconds < SIGNED_IN_SECONDS


class OperatorStatus(NamedTuple):
    """Whether a passphrase is set and since when; `last_event` is what the history last says of it.

    `removed` says that the history tells of one and the store has none: it was taken out by hand.
    """

    is_set: bool
    set_at: str | None = None
    last_event: str | None = None
    removed: bool = False


class Met(NamedTuple):
    """That a folder was met under a name, and since when."""

    folder: str
    name: str
    first_seen_at: str


@dataclass(frozen=True, slots=True)
class Project:
    """One project as the list shows it: its main name, and what is kept under that and its other names.

    `memories` are those a default read shows there now. `-` is what was written in no project.
    """

    name: str
    memories: int
    aliases: list[str]
    folders: list[str]
    last_write_at: str | None = None
    current: bool = False


@dataclass(frozen=True, slots=True)
class ProjectList:
    """Every project of a user, by name."""

    projects: list[Project]


@dataclass(frozen=True, slots=True)
class Naming:
    """What a project is called after a change; `changed` is false where it was called so already."""

    name: str
    aliases: list[str]
    changed: bool


class Enrolment(NamedTuple):
    """What the operator said of an agent: its circle, its grants, and the weight of what it says."""

    circle: str = SHARED_CIRCLE
    grants: frozenset[str] = frozenset()
    trust: float = 1.0

    @property
    def written_grants(self) -> str:
        """The grants as they are stored."""
        return " ".join(sorted(self.grants))


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """One agent. `state` is active, idle or offline by when it was last seen, or as it said itself.

    `role`, `capabilities` and `metadata` are labels it gave itself: they set nothing.
    """

    agent_id: str
    state: str
    circle: str
    grants: list[str]
    trust: float
    first_seen_at: str
    last_seen_at: str | None = None
    role: str = ""
    capabilities: list[str] = field(default_factory=list[str])
    metadata: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    def headline(self) -> str:
        return f"{self.agent_id}: {self.state}, circle {self.circle}"


@dataclass(frozen=True, slots=True)
class AgentList:
    """Agents of the caller's user, by name."""

    agents: list[AgentRecord]

    def headline(self) -> str:
        return f"{counted(len(self.agents), 'agent')}:"


def state_at(now: str, seen: str, said: str) -> str:
    """Whether an agent is there: as it said itself, else by how long ago it was seen."""
    if said or not seen:
        return said or OFFLINE
    away_seconds = seconds_between(seen, now)
    return ACTIVE if away_seconds < ACTIVE_SECONDS else IDLE if away_seconds < IDLE_SECONDS else OFFLINE


def enrolled(caller: Caller, found: Enrolment | None) -> Caller:
    """The caller in the circle and with the grants of its agent; trust counts in any case.

    Who only claims to be that agent gets neither: no client chooses its circle by a name.
    """
    if found is None:
        return caller
    if caller.is_claimed:
        return replace(caller, trust=found.trust)
    return replace(caller, circle=found.circle, grants=caller.grants | found.grants, trust=found.trust)


def placed(caller: Caller, mains: Mapping[str, str]) -> Caller:
    """The caller under the main name of its place, holding the others.

    A folder whose project has a name of its own, such as its remote, goes by its path too: what was written
    there before it had that name is written by and for who stands there.
    """
    if not caller.project:
        return caller
    main, *others = names_of(caller.project, mains)
    paths = names_of(caller.folder, mains) if caller.folder else ()
    aliases = tuple(dict.fromkeys(name for name in (*others, *paths) if name != main))
    return replace(caller, project=main, project_aliases=aliases)
