"""Processes that stand in folders: each with a memory of its own, all on one store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.context import Context
from m3_memory.domains.agents.model import Naming
from m3_memory.domains.agents.service import projects
from m3_memory.kernel.clock import ManualClock
from m3_memory.launch import Launch
from m3_memory.surfaces.session import Session


@dataclass(frozen=True)
class Process:
    """One process of the product, in one place, as long as it runs."""

    app: App
    launch: Launch

    def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """The answer of a call that must succeed."""
        outcome = Session(self.launch, self.app).call(tool, arguments)
        assert outcome.structured is not None, outcome.text
        return outcome.structured

    def write(self, content: str) -> str:
        """The id of a fact written now."""
        return self.call("memory_write", content=content, type="fact")["id"]

    def found(self, query: str = "release") -> set[str]:
        """The contents that a search for the word shows."""
        return {hit["content"] for hit in self.call("memory_search", query=query, k=50)["hits"]}

    def news(self) -> list[str]:
        """What the next answer says of the place."""
        return self.call("memory_search", query="release").get("notices", [])

    def context(self, *, is_operator: bool = False) -> Context:
        caller, _ = self.app.caller_for(self.launch)
        return self.app.context(caller.as_operator() if is_operator else caller)

    def link(self, name: str) -> Naming:
        return projects.link(self.context(is_operator=True), name)

    def unlink(self, name: str) -> Naming:
        return projects.unlink(self.context(is_operator=True), name)

    def merge(self, name: str, into: str) -> Naming:
        return projects.merge(self.context(is_operator=True), name, into)


class Machine:
    """Starts processes on one store; `settings` of another user make processes of that user."""

    def __init__(self, settings: Settings, clock: ManualClock) -> None:
        self.settings = settings
        self.clock = clock
        self._apps: list[App] = []

    def start(self, project: Path | str, settings: Settings | None = None) -> Process:
        """A new process that is told this folder, or this name of a project."""
        app = App(settings or self.settings, self.clock, HostEnvironment())
        self._apps.append(app)
        return Process(app, Launch(agent="claude", project=str(project)))

    def stop(self) -> None:
        """Ends every process."""
        while self._apps:
            self._apps.pop().close()
