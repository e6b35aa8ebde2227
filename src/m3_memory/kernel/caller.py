"""Who is asking, and which audiences that caller holds.

A caller is made by a surface from how it was started, never from a tool argument.
An audience is where a memory belongs and who may read it; its text is made here and nowhere else.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NO_PLACE = "-"
"""The project part of an audience when the caller stands in no project: a place of its own."""

OPERATOR = "operator"
"""The agent an operator's acts are recorded under; no agent can be started by this name."""

SHARED_CIRCLE = "local"
"""The circle of every agent that no operator isolated."""

OUR_AGENTS = {"worker": "this product's own worker", OPERATOR: "a person who proved to be the operator"}
"""Names that no agent goes by, and who does."""

EVERY_PROJECT = "*"
"""What a read names instead of a project to look in all of them."""

_LONGEST_AGENT = 64
_LONGEST_NAME_READ = 1_000
_NOT_IN_AGENTS = re.compile(r"[^\w.@-]+")


def agent_name(name: str) -> str:
    """The one spelling of an agent's name; empty for what holds no letter or digit."""
    folded = unicodedata.normalize("NFC", name[:_LONGEST_NAME_READ]).strip().lower()
    return _NOT_IN_AGENTS.sub("-", folded).strip("-.")[:_LONGEST_AGENT]


def names_of(name: str, mains: Mapping[str, str]) -> tuple[str, ...]:
    """Every name of the project that goes by this one, the main name first; `mains` are those of aliases."""
    main = mains.get(name, name)
    return (main, *sorted(alias for alias, of in mains.items() if of == main))


class Grant(StrEnum):
    """What an operator may give an agent beyond reading and writing where it stands.

    `widen`: reads other projects of its circle. `curate`: applies a plan that ends many memories it holds.
    `publish`: writes for an organisation. `produce`: background passes.
    """

    WIDEN = "widen"
    CURATE = "curate"
    PUBLISH = "publish"
    PRODUCE = "produce"


class Scope(StrEnum):
    """How far a memory reaches; `org` is refused until organisations exist."""

    AGENT = "agent"
    SESSION = "session"
    USER = "user"
    ORG = "org"


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity every call runs under.

    `project` is the main name of the place, `project_aliases` its other names; both empty in no project.
    `folder` is the place's top folder, empty for one that was given by its name. `trust` is the weight of
    what the agent says, from 0.5 to 1. Of an agent that `is_claimed` nobody but the client says who it is.
    """

    user_id: str
    agent_id: str
    conversation_id: str
    circle: str = SHARED_CIRCLE
    project: str = ""
    project_aliases: tuple[str, ...] = ()
    grants: frozenset[str] = frozenset()
    surface: str = "mcp"
    is_operator: bool = False
    folder: str = ""
    trust: float = 1.0
    is_claimed: bool = False

    def as_operator(self) -> Caller:
        """The same person, proved to be the operator: only to be asked for after the proof."""
        return replace(self, agent_id=OPERATOR, is_operator=True)

    def may(self, grant: Grant) -> bool:
        """Whether an operator gave the agent this; an operator has it."""
        return self.is_operator or grant in self.grants

    def looking_into(self, projects: Iterable[str]) -> Caller:
        """The same caller, reading these projects in place of its own; `""` is no project.

        Who writes must never be one: it is for a view, made where the grant was checked.
        """
        main, *others = dict.fromkeys(projects)
        return replace(self, project=main, project_aliases=tuple(others))

    @property
    def circle_prefix(self) -> str:
        """How the audience of every project of the circle begins."""
        return f"{_joined('agent', self.user_id, self.circle)}/"

    def project_of(self, audience: str) -> str:
        """The project whose audience in the caller's circle this is; `""` for no project."""
        place = audience.removeprefix(self.circle_prefix)
        return "" if place == NO_PLACE else unquote(place)

    def audience(self, scope: Scope) -> str:
        """The audience a memory of this scope is written to."""
        match scope:
            case Scope.AGENT:
                return _agent_audience(self, self.project)
            case Scope.SESSION:
                return _joined("session", self.user_id, self.circle, self.conversation_id)
            case Scope.USER:
                return _joined("user", self.user_id)
            case Scope.ORG:
                raise ValueError("organisations do not exist yet")

    def audiences(
        self, scopes: tuple[Scope, ...] = (Scope.AGENT, Scope.SESSION, Scope.USER)
    ) -> tuple[str, ...]:
        """Every audience held within these scopes; a place with aliases counts once per alias."""
        held = [self.audience(scope) for scope in scopes]
        if Scope.AGENT in scopes:
            held += [_agent_audience(self, alias) for alias in self.project_aliases]
        return tuple(held)


def _agent_audience(caller: Caller, project: str) -> str:
    return f"{caller.circle_prefix}{_encoded(project) if project else NO_PLACE}"


def _joined(kind: str, *parts: str) -> str:
    return "/".join([kind, *map(_encoded, parts)])


def _encoded(part: str) -> str:
    return "%2D" if part == NO_PLACE else quote(part, safe="")
