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
"""For str.translate: drops zero-width characters, bidi marks and variation selectors. Stored search tokens
rest on this table, so it stays as it is."""

_UNSEEN = (
    *(*range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0x85), *range(0x86, 0xA0)),  # controls, no white space
    *(0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),  # fillers and blanks that count as letters
    *(*range(0x180B, 0x1810), *range(0x206A, 0x2070), *range(0xFFF0, 0xFFFC)),  # selectors, annotations
    *(*range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0080, 0xE1000)),  # formats, unassigned
)

WITHOUT_UNSEEN = WITHOUT_INVISIBLE | dict.fromkeys(_UNSEEN)
"""The same, and control characters, fillers and all else that shows nothing: for comparing texts."""
