"""The types of tools' parameters, each described and bounded once.

A tool narrows a description by annotating again: `Annotated[MemoryId, Param("the memory to replace")]`.

What every parameter accepts, whatever its type: null stands for an argument left out; numbers, booleans,
objects and lists may come as text that loses nothing (`"8"`, `8.0`, `"true"`, `"[1, 2]"`). The empty text,
which old clients send for what they leave out, is absence for choices, moments, ids, objects and lists; for
other text it is passed on, and the tool's default is `""` where it means absence.
"""

from __future__ import annotations

from typing import Annotated, Any

from m3_memory.catalog.schema import Compat, Param
from m3_memory.errors import InvalidArgument, InvalidContent, InvalidId, InvalidMetadata, InvalidTime
from m3_memory.kernel.caller import Scope
from m3_memory.kernel.ids import parse_full, parse_prefix
from m3_memory.kernel.interval import ACCEPTED_FORMS, parse_moment, parse_time
from m3_memory.kernel.limits import checked_metadata
from m3_memory.kernel.vocabulary import AUTO_TYPE, CLEAR, EDGE_TYPES, MEMORY_TYPES


def _time_or_clear(text: str) -> str:
    return text if text == CLEAR else parse_time(text)


def _types(text: str) -> str:
    """Types with commas between them, each once. Raises InvalidArgument for one that is none."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",")))
    if unknown := [name for name in names if name not in MEMORY_TYPES]:
        raise InvalidArgument(
            f"{unknown[0][:60]!r} is no type of memory", f"the types are {', '.join(MEMORY_TYPES)}"
        )
    return ",".join(names)


Query = Annotated[str, Param("what to look for", visible_text=True)]

Limit = Annotated[int, Param("how many at most", minimum=1, maximum=100)]

Timestamp = Annotated[
    str,
    Param("moment, ISO 8601", error=InvalidTime, expected=f"text: {ACCEPTED_FORMS}", parse=parse_moment),
]
"""The tool is given it in store form."""

TimestampOrOpen = Annotated[Timestamp, Param(parse=parse_time)]
"""The same, or the last instant of the year 9999, which means no end."""

TimestampOrClear = Annotated[Timestamp, Param(parse=_time_or_clear)]
"""The same, or CLEAR, by which a caller empties what is there."""

MemoryId = Annotated[str, Param("full id", error=InvalidId, expected="a full id, as text", parse=parse_full)]
"""The tool is given it in canonical form."""

MemoryIdOrPrefix = Annotated[
    str,
    Param(
        "id, or enough of its beginning",
        error=InvalidId,
        expected="an id or its start, as text",
        parse=parse_prefix,
    ),
]
"""The tool is given it in canonical form, whole or as far as it goes."""

Content = Annotated[str, Param("the statement, up to 50,000 characters", error=InvalidContent)]

Title = Annotated[str, Param("short title", error=InvalidContent)]

Metadata = Annotated[
    dict[str, Any],  # JsonValue names itself, which only resolves in modules that import it
    Param("labels of yours; never identity or trust", error=InvalidMetadata, parse=checked_metadata),
]

MemoryScope = Annotated[
    Scope,
    Param(
        "who finds it: agent = this project, session, user = everywhere", choices=("agent", "session", "user")
    ),
]

MemoryType = Annotated[
    str,
    Param(
        "fact, decision, preference, procedure, note, task …; auto",
        choices=(AUTO_TYPE, *MEMORY_TYPES),
        hidden_choices=True,
    ),
]

TypeFilter = Annotated[str, Param("only this type", choices=MEMORY_TYPES, hidden_choices=True)]

RelationshipType = Annotated[
    str, Param("related, supports, contradicts, references …", choices=EDGE_TYPES, hidden_choices=True)
]

TypesFilter = Annotated[
    str, Param("only of these types, with commas", expected="types with commas between them", parse=_types)
]
"""The tool is given them as a list with commas and nothing else between."""

TrustState = Annotated[str, Param("trust state", choices=("accepted", "verified", "candidate"))]

ProjectName = Annotated[str, Compat("look into this project, or * for all: needs the grant widen")]
"""The place that a read looks into, instead of the caller's own; never a write's. Few agents may name one, so
it is not advertised.
"""

Importance = Annotated[float, Param("0 to 1", minimum=0, maximum=1, absent=("-1", "-1.0"))]
"""-1, which old clients send to leave or inherit it, is absence: the tool's default is None there."""

SearchMode = Annotated[
    str,
    Param(
        "by words and meaning, or one",
        choices=("hybrid", "keyword", "vector"),
        aliases=(("semantic", "vector"),),
    ),
]

Label = Annotated[str, Param()]
"""Free text of a tool's own: annotate it again with its description."""

Switch = Annotated[bool, Param()]
"""A yes or no of a tool's own: annotate it again with its description."""
