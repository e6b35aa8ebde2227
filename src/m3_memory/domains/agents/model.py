"""What the agents slice knows: who may act as the operator, and what a project is called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from m3_memory.kernel.caller import Caller

SHORTEST_PASSPHRASE = 12
LONGEST_PASSPHRASE = 1_000
SIGNED_IN_SECONDS = 15 * 60

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


def names_of(name: str, mains: Mapping[str, str]) -> tuple[str, ...]:
    """Every name of the project that goes by this one, the main name first; `mains` are those of aliases."""
    main = mains.get(name, name)
    return (main, *sorted(alias for alias, of in mains.items() if of == main))


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
