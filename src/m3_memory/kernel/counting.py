"""Numbers of things, in words."""

from __future__ import annotations

import re


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 memory`, `1,200 memories`, `3 days`; `plural` where the noun makes it otherwise."""
    return f"{number:,} {noun if number == 1 else plural or re.sub('(?<![aeiou])y$', 'ie', noun) + 's'}"
