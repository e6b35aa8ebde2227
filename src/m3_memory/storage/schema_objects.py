"""Which tables, indexes and triggers a store must have: those its migrations create."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from m3_memory.storage import migrate

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMMENT = re.compile(r"--[^\n]*")
_CREATED = re.compile(r"\bCREATE (?:UNIQUE |VIRTUAL )?(TABLE|INDEX|TRIGGER) (\w+)")

TABLE_MISSING = "the table is missing: "
"""How a sentence begins that tells of a missing table: nothing that reads it can be asked then."""


def missing(engine: str, found: Iterable[tuple[object, ...]]) -> list[str]:
    """A sentence for every object of the schema that is not among these (kind, name) rows."""
    there = {(kind, name) for kind, name in found}
    wanted = (
        (kind.lower(), name)
        for migration in migrate.shipped(engine)
        for kind, name in _CREATED.findall(_COMMENT.sub("", migration.script))
    )
    lost = (each for each in wanted if each not in there)
    return [
        f"{TABLE_MISSING if kind == 'table' else f'the {kind} is missing: '}{name}" for kind, name in lost
    ]
