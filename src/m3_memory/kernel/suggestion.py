"""What was likely meant by a name that nothing here has."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 60
_ALSO_CALLED = {
    **dict.fromkeys(("limit", "k", "n", "count", "top_k"), ("k", "limit")),
    **dict.fromkeys(("text", "body", "statement", "new_content"), ("content", "query")),
    **dict.fromkeys(("id", "memory_id", "memory"), ("id", "memory_id", "old_id", "from_id", "ids")),
    **dict.fromkeys(("q", "question", "search"), ("query",)),
    **dict.fromkeys(("type", "types", "kind"), ("type_filter", "type")),
    **dict.fromkeys(("since", "start", "date"), ("valid_from", "since")),
    **dict.fromkeys(("until", "end"), ("valid_to", "until")),
    **dict.fromkeys(("tags", "labels"), ("metadata",)),
    "mode": ("search_mode",),
    "why": ("reason",),
}
"""What arguments are called elsewhere, in another tool or another product, and what they are called here."""


def likely(name: str, known: Iterable[str], most: int = 3, nearness: float = 0.6) -> list[str]:
    """The names among `known` that `name` was likely meant to be, the likeliest first."""
    from difflib import get_close_matches  # it costs start time, and is for mistakes alone

    names = list(known)
    called = [other for other in _ALSO_CALLED.get(name, ()) if other in names]
    return called[:most] or get_close_matches(name[:_LONGEST], names, most, nearness)


def did_you_mean(names: Iterable[str]) -> str:
    """A hint that asks; empty for no names."""
    asked = " or ".join(names)
    return f"did you mean {asked}?" if asked else ""
