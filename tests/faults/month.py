"""A month of use: agents in repositories write, correct, delete and undo; and what should then be there."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.kernel.clock import SystemClock
from m3_memory.launch import Launch
from m3_memory.surfaces.session import Session
from m3_memory.surfaces.worker.loop import BackgroundWork
from tests.faults.products import M3, environment
from tests.surfaces.mcp_wire import Wire, call

Ask = Callable[..., dict[str, Any]]
EVERYWHERE = "everywhere"
BULK = 5
_SUBJECTS = "parser index cache queue ledger schema cursor bucket webhook tenant".split()


@dataclass
class Diary:
    """What is current, by place and id, and every id that was ever given out."""

    current: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    deleted: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    ids: set[str] = field(default_factory=set[str])
    writes: int = 0

    def note(self, place: str, memory_id: str, content: str) -> None:
        """A memory that is new, or says something else now."""
        self.ids.add(memory_id)
        self.current.setdefault(place, {})[memory_id] = content

    @property
    def current_ids(self) -> set[str]:
        """What is current in any place."""
        return set[str]().union(*self.current.values())

    def seen_from(self, repository: str) -> dict[str, str]:
        """What a default read shows in that repository."""
        return self.current.get(repository, {}) | self.current.get(EVERYWHERE, {})


@dataclass
class Hand:
    """One agent at work in one repository, by calls that all must succeed."""

    agent: str
    repository: str
    ask: Ask
    diary: Diary
    chance: random.Random

    def work(self, writes: int) -> None:
        """As many writes, some at once, and among them corrections, deletions and undoing."""
        until = self.diary.writes + writes
        while self.diary.writes < until:
            deeds = (self._write, self._write_many, self._update, self._supersede, self._delete, self._undo)
            self.chance.choices(deeds, (60, 4, 10, 8, 8, 6))[0]()

    def _write(self) -> None:
        place = EVERYWHERE if self.chance.random() < 0.05 else self.repository
        scope = "user" if place == EVERYWHERE else "agent"
        content = self._statement()
        written = self.ask("memory_write", content=content, type="fact", scope=scope)
        assert written["status"] == "created", written
        self.diary.note(place, written["id"], content)

    def _write_many(self) -> None:
        contents = [self._statement() for _ in range(BULK)]
        items = [{"content": content, "type": "observation"} for content in contents]
        answered = self.ask("memory_write_bulk", items=items)
        assert (answered["created"], answered["failed"]) == (BULK, 0), answered
        for content, result in zip(contents, answered["results"], strict=True):
            self.diary.note(self.repository, result["id"], content)

    def _update(self) -> None:
        if memory_id := self._any():
            content = self._statement()
            self.ask("memory_update", id=memory_id, content=content)
            if self.chance.random() < 0.3:
                self.ask("memory_undo", memory_id=memory_id)
            else:
                self.diary.note(self.repository, memory_id, content)

    def _supersede(self) -> None:
        if memory_id := self._any():
            content = self._statement()
            new = self.ask("memory_supersede", old_id=memory_id, content=content)["id"]
            if self.chance.random() < 0.2:
                self.diary.ids.add(new)
                self.ask("memory_unsupersede", id=memory_id)
            else:
                del self.diary.current[self.repository][memory_id]
                self.diary.note(self.repository, new, content)

    def _delete(self) -> None:
        if memory_id := self._any():
            self.ask("memory_delete", id=memory_id)
            self.diary.deleted[memory_id] = (
                self.repository,
                self.diary.current[self.repository].pop(memory_id),
            )

    def _undo(self) -> None:
        mine = [key for key, (place, _) in self.diary.deleted.items() if place == self.repository]
        if mine:
            memory_id = self.chance.choice(mine)
            self.ask("memory_restore", id=memory_id)
            self.diary.note(*self._restored(memory_id))

    def _restored(self, memory_id: str) -> tuple[str, str, str]:
        place, content = self.diary.deleted.pop(memory_id)
        return place, memory_id, content

    def _any(self) -> str:
        return self.chance.choice([*self.diary.current.get(self.repository, {}), ""])

    def _statement(self) -> str:
        self.diary.writes += 1
        subject = self.chance.choice(_SUBJECTS)
        return f"Note {self.diary.writes} of {self.agent}: the {subject} takes {self.diary.writes * 7} steps"


@contextmanager
def in_process(settings: Settings, agent: str, repository: Path) -> Generator[Ask]:
    """A session in this process, with its worker; it ends with the block, as on a restart."""
    work = BackgroundWork()
    app = App(settings, SystemClock(), HostEnvironment())
    opened = Session(Launch(agent=agent, project=str(repository)), app, work.after_call)

    def ask(tool: str, /, **arguments: object) -> dict[str, Any]:
        found = opened.call(tool, arguments)
        assert found.structured is not None, (tool, arguments, found.text)
        return found.structured

    try:
        yield ask
    finally:
        opened.close()


@contextmanager
def by_server(settings: Settings, agent: str, repository: Path) -> Generator[Ask]:
    """A server process, as a host starts it in that repository."""
    command = [*M3, "--agent", agent, "--project", str(repository)]
    with Wire(command=command, env=environment(settings), cwd=repository) as wire:
        wire.open()

        def ask(tool: str, /, **arguments: object) -> dict[str, Any]:
            result = wire.result(call(tool, arguments))
            assert "structuredContent" in result, (tool, arguments, result)
            return result["structuredContent"]

        yield ask


def listed(ask: Ask, limit: int = 500) -> Iterator[dict[str, Any]]:
    """Every row that `memory_list` shows, page after page."""
    page = ask("memory_list", limit=limit)
    yield from page["memories"]
    while cursor := page.get("cursor"):
        page = ask("memory_list", limit=limit, cursor=cursor)
        yield from page["memories"]
