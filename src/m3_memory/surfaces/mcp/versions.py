"""Revisions of the protocol, compared by their place in this list and never as text."""

from __future__ import annotations

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Opened by `initialize`."""

MODERN = "2026-07-28"
"""Every request stands alone and carries its version."""

_ORDER = (*LEGACY, MODERN)


def since(version: str) -> int:
    """The place of a known revision in time."""
    return _ORDER.index(version)
