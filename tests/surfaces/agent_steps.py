"""The part of the story that tells of agents."""

from __future__ import annotations

from tests.surfaces.steps import Step

AGENTS: tuple[Step, ...] = (
    Step("agent_register", {"role": "reviewer", "capabilities": ["sql", "python"], "metadata": {"team": 7}}),
    Step("agent_register", {"agent_id": "somebody"}, "wider_identity"),
    Step("agent_register", {"metadata": {"trust": 1}}, "invalid_metadata"),
    Step("agent_heartbeat", {}),
    Step("agent_heartbeat", {"agent_id": "*"}, "wider_identity"),
    Step("agent_list", {}),
    Step("agent_list", {"status": "idle"}),
    Step("agent_list", {"role": "reviewer"}),
    Step("agent_list", {"status": "asleep"}, "invalid_argument"),
    Step("agent_get", {}),
    Step("agent_get", {"agent_id": "cli"}),
    Step("agent_get", {"agent_id": "nobody"}, "not_found"),
    Step("agent_set_trust", {"agent_id": "cli", "trust_score": 0.5}, "needs_operator"),
    Step("agent_offline", {}),
    Step("agent_offline", {"agent_id": "somebody"}, "wider_identity"),
    Step("agent_get", {}),
    Step("memory_search", {"query": "branch", "project": "another"}, "needs_grant", verb=False),
)
"""An agent says what it is, is seen, and goes; what is not its own to say is refused."""
