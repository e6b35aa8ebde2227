"""The registry: which agents there are, what they say of themselves, and what the operator says of them.

An agent speaks for itself alone, and what it says are labels: they set nothing. Circle, grants and trust are
the operator's, each change an event; they count from the agent's next call on, and for nothing it wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from m3_memory.domains.agents import queries
from m3_memory.domains.agents.model import LEAST_TRUST, AgentList, Enrolment
from m3_memory.domains.memories.service.drafts import without_secrets
from m3_memory.domains.memories.service.writes import operation
from m3_memory.errors import InvalidArgument, NeedsOperator, NotFound
from m3_memory.kernel.caller import OUR_AGENTS, SHARED_CIRCLE, Grant, agent_name
from m3_memory.kernel.limits import MAX_LABEL_CHARACTERS, checked_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.context import Context
    from m3_memory.domains.agents.model import AgentRecord
    from m3_memory.kernel.limits import JsonValue
    from m3_memory.storage.database import Reader


def register(
    ctx: Context, role: str, capabilities: Sequence[str], metadata: Mapping[str, JsonValue]
) -> AgentRecord:
    """The caller's agent, seen now and with these labels. Raises InvalidArgument, SecretRefused."""
    named = {"role": role} | {f"capabilities[{n}]": text for n, text in enumerate(capabilities)}
    texts = {name: checked_text(text, name, MAX_LABEL_CHARACTERS) for name, text in named.items() if text}
    cleaned, _ = without_secrets(ctx, texts, json.dumps(metadata, ensure_ascii=False))
    able = [cleaned[name] for name in texts if name != "role"]
    written = json.dumps(able, ensure_ascii=False)
    return _seen(ctx, role=cleaned.get("role", ""), capabilities=written, metadata=cleaned["metadata"])


def heartbeat(ctx: Context) -> AgentRecord:
    """The caller's agent, seen now."""
    return _seen(ctx)


def offline(ctx: Context) -> AgentRecord:
    """The caller's agent, which says that it goes; being seen again ends that."""
    return _seen(ctx, state="offline")


def list_agents(ctx: Context, state: str = "", role: str = "") -> AgentList:
    """The agents of the caller's user, by name: all, or those in a state or of a role."""
    with ctx.read() as reader:
        return AgentList(
            [
                agent
                for agent in queries.agents(reader)
                if state in ("", agent.state) and role in ("", agent.role)
            ]
        )


def get(ctx: Context, agent_id: str) -> AgentRecord:
    """An agent of the caller's user; the caller's own for the empty name. Raises NotFound."""
    with ctx.read() as reader:
        return _known(reader, agent_id or ctx.started_as.agent_id)


def enrol(ctx: Context, verb: str, agent_id: str, word: str = "") -> AgentRecord:
    """What the operator says of an agent, known yet or not, by one of VERBS; an event, where that is new.

    Raises NeedsOperator, InvalidArgument for a word that the verb does not take, NotFound for the trust of an
    agent that nobody knows.
    """
    if not ctx.started_as.is_operator:
        raise NeedsOperator(
            "circles, grants and trust are the operator's to say", "ask the operator to do it"
        )
    name = _named(agent_id)
    told, changed = VERBS[verb]
    value = _read(ctx, verb, name, word)
    with ctx.write() as writer:
        _, found = queries.standing_of(writer, name)
        known = found or Enrolment()
        wanted = changed(known, value)
        if wanted != known:
            queries.put_agent(
                writer, name, circle=wanted.circle, grants=wanted.written_grants, trust=wanted.trust
            )
            operation(ctx, writer).record("grant", "", 0, reason=f"agent {name} {told.format(value)}")
        return _known(writer, name)


VERBS: Mapping[str, tuple[str, Callable[[Enrolment, Any], Enrolment]]] = {
    "isolate": ("was isolated in the circle {}", lambda of, circle: of._replace(circle=circle)),
    "join": ("joined the circle {}", lambda of, circle: of._replace(circle=circle)),
    "grant": ("was granted {}", lambda of, given: of._replace(grants=of.grants | {given})),
    "revoke": ("lost the grant {}", lambda of, taken: of._replace(grants=of.grants - {taken})),
    "trust": ("has the trust {:g}", lambda of, trust: of._replace(trust=trust)),
}
"""What an operator may do with an agent: how its event tells it, and what becomes of the enrolment.

`isolate` gives it a circle to itself, of its own name unless another is said; `join` puts it into one that
there is, the shared one unless another is said; `trust` is the weight of what it says.
"""


def _read(ctx: Context, verb: str, name: str, word: str) -> Grant | float | str:
    """The word that goes with a verb, as what it means."""
    match verb:
        case "grant" | "revoke":
            if word not in list(Grant):
                raise InvalidArgument(f"there is no grant {word}", f"the grants are {', '.join(Grant)}")
            return Grant(word)
        case "trust":
            get(ctx, name)
            with suppress(ValueError):
                if LEAST_TRUST <= (trust := float(word)) <= 1:
                    return trust
            raise InvalidArgument(
                f"{word[:80]} is no trust: it lies from {LEAST_TRUST} to 1", "every agent starts with 1"
            )
        case _:
            return _circle(ctx, name, word, is_new=verb == "isolate")


def _circle(ctx: Context, name: str, word: str, *, is_new: bool) -> str:
    wanted = _named(word or (name if is_new else SHARED_CIRCLE))
    others = [agent for agent in list_agents(ctx).agents if agent.agent_id != name]
    there = sorted({SHARED_CIRCLE, *(agent.circle for agent in others)})
    if (wanted in there) is is_new:
        raise InvalidArgument(
            f"others stand in the circle {wanted}" if is_new else f"nobody stands in the circle {wanted}",
            f"isolate takes one of its own, join one of these: {', '.join(there)}",
        )
    return wanted


def _seen(ctx: Context, state: str = "", **labels: str) -> AgentRecord:
    name = ctx.started_as.agent_id
    with ctx.write() as writer:
        queries.put_agent(writer, name, state=state, last_seen_at=writer.store_time, **labels)
        return _known(writer, name)


def _known(reader: Reader, agent_id: str) -> AgentRecord:
    for agent in queries.agents(reader, agent_id):
        return agent
    raise NotFound(f"no agent {agent_id[:80]} of yours is known", "agent_list names those that are")


def _named(agent_id: str) -> str:
    name = agent_name(agent_id)
    if not name or name in OUR_AGENTS:
        raise InvalidArgument(
            f"{agent_id[:80]!r} is {OUR_AGENTS.get(name, 'no name of an agent')}",
            "m3 agents list names the agents",
        )
    return name
