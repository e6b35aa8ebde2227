"""Callers for tests: who asks, on which store, with which model; every call goes through dispatch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from m3_memory.catalog.dispatch import Outcome, dispatch
from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.inference.embedder import Embedder, EmbedderSource, EmbedderState
from m3_memory.inference.hashing import HashingEmbedder
from m3_memory.inference.source import NoEmbedder
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import Clock
from m3_memory.storage.database import Database
from m3_memory.toolbox import CATALOG


class Hashing:
    """The shipped stub, there from the first call on: no thread, no waiting."""

    state = EmbedderState.READY
    reason = ""

    def __init__(self) -> None:
        self._embedder = HashingEmbedder()

    def get(self, wait_seconds: float = 1.5) -> Embedder:
        return self._embedder


def embedder_named(name: str) -> EmbedderSource:
    """`on` is the hashing stub, `off` is none."""
    return Hashing() if name == "on" else NoEmbedder()


@dataclass(frozen=True)
class Agent:
    """One caller at one store."""

    database: Database
    clock: Clock
    caller: Caller = field(default_factory=lambda: Caller("local", "claude", "session-1"))
    embedder: EmbedderSource = field(default_factory=Hashing)
    contradiction: Literal["auto", "propose", "off"] = "auto"
    home: Path = Path("unused")

    def who(self, **changes: Any) -> Agent:
        """The same store, asked by another: fields of Caller."""
        return replace(self, caller=replace(self.caller, **changes))

    def outcome(self, tool: str, arguments: Mapping[str, object]) -> Outcome:
        settings = Settings(home=self.home, contradiction=self.contradiction)
        context = Context(self.caller, self.database, self.embedder, self.clock, settings)
        return dispatch(CATALOG, context, tool, arguments)

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The structured answer of a call that must succeed."""
        found = self.outcome(tool, arguments)
        assert found.structured is not None, (tool, arguments, found.text)
        return found.structured

    def refusal(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The error of a call that must fail: code, message, hint."""
        found = self.outcome(tool, arguments)
        assert found.structured is None, (tool, arguments, found.structured)
        return json.loads(found.text)
