"""The commands about agents: which there are, and the operator's word on circles, grants and trust."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

from m3_memory.app import App
from m3_memory.catalog.answers import plain
from m3_memory.config import load_settings
from m3_memory.domains.agents.service import registry
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.caller import Grant
from m3_memory.surfaces.cli.signing_in import as_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from m3_memory.launch import Launch

FORMS: Mapping[str, str] = {
    "list": "",
    "isolate": "AGENT [CIRCLE]",
    "join": "AGENT [CIRCLE]",
    "grant": "AGENT GRANT",
    "revoke": "AGENT GRANT",
    "trust": "AGENT NUMBER",
}
"""What each verb takes."""


def run(launch: Launch, verb: str, words: Sequence[str]) -> dict[str, Any]:
    """`list` answers {agents}; the others ask for the operator's passphrase, and answer the agent."""
    most = len(FORMS[verb].split())
    if not most - FORMS[verb].count("[") <= len(words) <= most:
        raise InvalidArgument(
            f"m3 agents {verb} does not take {len(words)} words", f"m3 agents {verb} {FORMS[verb]}".rstrip()
        )
    given = [*words[:1], *(_READ.get(verb, str)(word) for word in words[1:])]
    with closing(App.open(load_settings(), store=launch.store)) as app:
        caller, _ = app.caller_for(launch)
        if verb == "list":
            return cast("dict[str, Any]", plain(registry.list_agents(app.context(caller))))
        change = registry.CHANGES[verb]
        return cast("dict[str, Any]", plain(change(app.context(as_operator(app, caller)), *given)))


def _grant(word: str) -> Grant:
    if word not in list(Grant):
        raise InvalidArgument(f"there is no grant {word}", f"the grants are {', '.join(Grant)}")
    return Grant(word)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError as error:
        raise InvalidArgument(f"{word} is no number", "trust lies from 0.5 to 1") from error


_READ: Mapping[str, Callable[[str], object]] = {"grant": _grant, "revoke": _grant, "trust": _number}
"""How the second word of a verb is read."""
