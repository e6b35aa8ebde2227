"""The commands about agents: which there are, and the operator's word on circles, grants and trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from m3_memory.catalog.answers import plain
from m3_memory.domains.agents.service import registry
from m3_memory.errors import InvalidArgument
from m3_memory.kernel.suggestion import did_you_mean, likely
from m3_memory.surfaces.cli.opening import opened

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

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


def run(launch: Launch, given: Namespace, _doors: object) -> dict[str, Any]:
    """`list` answers {agents}; the others ask for the operator's passphrase, and answer the agent."""
    verb, words = given.verb, given.words
    most = len(FORMS[verb].split())
    if not most - FORMS[verb].count("[") <= len(words) <= most:
        raise InvalidArgument(
            f"m3 agents {verb} does not take {len(words)} words", f"m3 agents {verb} {FORMS[verb]}".rstrip()
        )
    with opened(launch, signed_in=verb != "list") as (_, ctx):
        listed = registry.list_agents(ctx)
        found = listed if verb == "list" else registry.enrol(ctx, verb, *words)
    known = [agent.agent_id for agent in listed.agents]
    strangers = [name for name in words[:1] if name not in known]
    told = [
        f"no agent came by the name {name} yet. {did_you_mean(likely(name, known))}" for name in strangers
    ]
    return cast("dict[str, Any]", plain(found)) | ({"notices": told} if told else {})
