"""m3 Memory: what agents wrote down, kept exactly, found again, and corrected over time."""

from __future__ import annotations

__version__ = "0.4.0"
