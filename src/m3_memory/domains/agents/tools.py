"""Tools about agents: who there is, and what each says of itself."""

from __future__ import annotations

from typing import Annotated

from m3_memory.catalog.params import Compat, Label, Metadata, Param
from m3_memory.catalog.tool import Effect, tool
from m3_memory.context import Context
from m3_memory.domains.agents.model import LEAST_TRUST, STATES, AgentList, AgentRecord
from m3_memory.domains.agents.service import registry
from m3_memory.kernel.narrowing import ensure_own

Own = Annotated[Label, Compat("may only name the caller itself")]

_TIMELESS = "it tells of agents, not of memories"


@tool(
    Effect.WRITE,
    domain="agent",
    title="Register an agent",
    idempotent=True,
    example={"role": "reviewer", "capabilities": ["python", "sql"]},
)
def agent_register(
    ctx: Context,
    role: Annotated[Label, Param("what you are here for")] = "",
    capabilities: Annotated[list[Label] | None, Param("what you can do", max_items=50)] = None,
    metadata: Metadata | None = None,
    agent_id: Own = "",
) -> AgentRecord:
    """Say that you are there, and what you are; replaces what you said of yourself before.

    All of it are labels: circle, grants and trust are the operator's to set.
    """
    ensure_own(ctx.started_as, agent_id=agent_id)
    return registry.register(ctx, role, capabilities or (), metadata or {})


@tool(Effect.WRITE, domain="agent", title="Say you are there", idempotent=True, example={})
def agent_heartbeat(ctx: Context, agent_id: Own = "") -> AgentRecord:
    """Say that you are still there. Writing a memory says it too."""
    ensure_own(ctx.started_as, agent_id=agent_id)
    return registry.heartbeat(ctx)


@tool(Effect.WRITE, domain="agent", title="Say you go", idempotent=True, example={})
def agent_offline(ctx: Context, agent_id: Own = "") -> AgentRecord:
    """Say that you go offline. Your memories stay; your next sign of life ends it."""
    ensure_own(ctx.started_as, agent_id=agent_id)
    return registry.offline(ctx)


@tool(
    Effect.READ,
    domain="agent",
    title="List agents",
    example={"status": "active"},
    timeless=_TIMELESS,
    brief=("agents",),
)
def agent_list(
    ctx: Context,
    status: Annotated[Label, Param("only these", choices=STATES)] = "",
    role: Annotated[Label, Param("only of this role")] = "",
) -> AgentList:
    """List your user's agents: active, idle or offline, with circle, grants and trust."""
    return registry.list_agents(ctx, status, role)


@tool(Effect.READ, domain="agent", title="Get an agent", example={}, timeless=_TIMELESS)
def agent_get(
    ctx: Context, agent_id: Annotated[Label, Param("its name; without one, yourself")] = ""
) -> AgentRecord:
    """Read what is known of one agent of your user."""
    return registry.get(ctx, agent_id)


@tool(
    Effect.OPERATE,
    domain="agent",
    title="Set an agent's trust",
    idempotent=True,
    example={"agent_id": "claude-code", "trust_score": 0.8},
)
def agent_set_trust(
    ctx: Context,
    agent_id: Annotated[Label, Param("its name")],
    trust_score: Annotated[float, Param("0.5 to 1", minimum=LEAST_TRUST, maximum=1)],
) -> AgentRecord:
    """Set how much what an agent says weighs in confidence; the operator's. What it wrote stays as it is."""
    return registry.enrol(ctx, "trust", agent_id, repr(trust_score))
