"""Characters that take no room on the page."""

from __future__ import annotations

_INVISIBLE = (
    *(0x00AD, 0x034F, 0x061C, 0x180E, 0xFEFF),  # soft hyphen, joiners and marks on their own
    *range(0x200B, 0x2010),  # zero-width space, joiners, direction marks
    *range(0x202A, 0x202F),  # direction embeddings
    *range(0x2060, 0x2070),  # word joiner, isolates, invisible operators
    *range(0xFE00, 0xFE10),  # variation selectors
    *range(0xE0000, 0xE0080),  # tags
    *range(0xE0100, 0xE01F0),  # more variation selectors
)

WITHOUT_INVISIBLE: dict[int, None] = dict.fromkeys(_INVISIBLE)
"""For str.translate: drops zero-width characters, bidi marks and variation selectors."""
