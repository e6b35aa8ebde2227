"""Who is asking, and which audiences that caller holds.

A caller is made by a surface from how it was started, never from a tool argument.
An audience is where a memory belongs and who may read it; its text is made here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import quote

NO_PLACE = "-"
"""The project part of an audience when the caller stands in no project: a place of its own."""

OPERATOR = "operator"
"""The agent an operator's acts are recorded under; no agent can be started by this name."""


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
    `folder` is the place's top folder, empty for one that was given by its name.
    """

    user_id: str
    agent_id: str
    conversation_id: str
    circle: str = "local"
    project: str = ""
    project_aliases: tuple[str, ...] = ()
    grants: frozenset[str] = frozenset()
    surface: str = "mcp"
    is_operator: bool = False
    folder: str = ""

    def as_operator(self) -> Caller:
        """The same person, proved to be the operator: only to be asked for after the proof."""
        return replace(self, agent_id=OPERATOR, is_operator=True)

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
    place = _encoded(project) if project else NO_PLACE
    return f"{_joined('agent', caller.user_id, caller.circle)}/{place}"


def _joined(kind: str, *parts: str) -> str:
    return "/".join([kind, *map(_encoded, parts)])


def _encoded(part: str) -> str:
    return "%2D" if part == NO_PLACE else quote(part, safe="")
