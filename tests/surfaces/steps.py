"""The steps that stories told to every door are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

NOWHERE = "00000000-0000-7000-8000-000000000000"


class Step(NamedTuple):
    """One call of a story. `code` is the error it must come to, "" for success; `$name` in arguments is
    the id that the step of that name made. `verb` says whether a shell can write the arguments.
    """

    tool: str
    arguments: Mapping[str, Any]
    code: str = ""
    name: str = ""
    verb: bool = True
