"""The closed lists of words that callers choose from."""

from __future__ import annotations

AUTO_TYPE = "auto"
"""Accepted where a type is asked for when writing: the product chooses one by rules, and says which."""

CLEAR = "clear"
"""Accepted where a field that may be empty is changed: it becomes so."""

MEMORY_TYPES: tuple[str, ...] = tuple(
    """
    belief chat_log code config conversation decision event_extraction fact fact_enriched home home_automation
    infrastructure knowledge linux_only local_device log macos_only message migration-log network_config note
    observation plan preference procedure reference scratchpad security session_note session_summary snippet
    summary synthesis task to_do user_fact windows_only
    """.split()
)
"""Every type a stored memory can have."""

EDGE_TYPES: tuple[str, ...] = tuple(
    """
    related supports contradicts extends supersedes references consolidates message handoff precedes follows
    distills_from
    """.split()
)
"""Every type an edge between two memories can have."""
