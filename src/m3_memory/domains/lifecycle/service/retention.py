"""Retention: how much of what one agent wrote is kept, as an operator decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.lifecycle import queries
from m3_memory.domains.lifecycle.model import Policy, RetentionResult
from m3_memory.domains.memories.service.operations import operation
from m3_memory.storage.predicates import Filter, view_of

if TYPE_CHECKING:
    from m3_memory.context import Context


def set_retention(ctx: Context, policy: Policy) -> RetentionResult:
    """Sets an agent's policy, with an event; one that limits nothing takes the policy away.

    Nothing is closed here: maintenance does, and every memory it closes can be brought back.
    """
    with ctx.write() as writer:
        known = {each.agent_id: each for each in queries.policies(writer)}
        before = known.get(policy.agent_id, Policy(policy.agent_id, 0, 0))
        status = "unchanged"
        if policy != before:
            status = "set" if policy.max_memories or policy.ttl_days else "removed"
            told = f"retention of {policy.agent_id}: {policy.max_memories} memories, {policy.ttl_days} days"
            event = operation(ctx, writer).record("grant", "", 0, reason=told)
            queries.put_policy(writer, policy, event)
        view = view_of(writer, ctx.caller, Filter())
        return RetentionResult(*policy, status, len(queries.beyond(writer, view, policy)))
