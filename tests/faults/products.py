"""The whole product over a store that something happens to: its servers, sessions, and a look at its rows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, LiteralString

from m3_memory.app import App
from m3_memory.config import HostEnvironment, Settings
from m3_memory.domains.system.service import examine
from m3_memory.kernel.clock import SystemClock
from m3_memory.launch import Launch
from m3_memory.storage.audit import audited, owners
from m3_memory.storage.sql import sql
from m3_memory.surfaces.session import Session
from tests.rights import without_root_rights
from tests.surfaces.mcp_wire import Message, Wire, call

PROJECT = "harbour"
M3 = [sys.executable, "-m", "m3_memory"]


def environment(settings: Settings) -> dict[str, str]:
    """What a process needs to use the store of these settings."""
    chosen = {"M3_HOME": str(settings.home), "M3_EMBEDDER": settings.embedder}
    if settings.database_url:
        chosen["M3_DATABASE_URL"] = settings.database_url
    return os.environ | chosen


def open_session(settings: Settings, agent: str = "auditor") -> Session:
    """The product in this process, as one agent of the project that all of these tests write to."""
    launch = Launch(agent=agent, project=PROJECT)
    return Session(launch, App(settings, SystemClock(), HostEnvironment()))


def answer(session: Session, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a call that must succeed."""
    found = session.call(tool, arguments)
    assert found.structured is not None, (tool, arguments, found.text)
    return found.structured


class Server(Wire):
    """A server process of one agent, after the handshake."""

    def __init__(
        self, settings: Settings, agent: str = "agent", *, confined: bool = False, **process: Any
    ) -> None:
        """`confined` servers have no more rights than the permissions of files give them."""
        command = [*M3, "--agent", agent, "--project", PROJECT]
        environ = environment(settings) | process.pop("env", {})
        super().__init__(
            command=without_root_rights(command) if confined else command, env=environ, **process
        )
        self.open()

    def __enter__(self) -> Server:
        return self

    def answered(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The structured answer of a call that must succeed."""
        result = self.outcome(tool, **arguments)
        assert "structuredContent" in result, result
        return result["structuredContent"]

    def refused(self, tool: str, **arguments: object) -> Message:
        """The error of a call that must fail: code, message, hint."""
        result = self.outcome(tool, **arguments)
        assert result.get("isError") is True, result
        return error_of(result)

    def outcome(self, tool: str, **arguments: object) -> Message:
        """What a call came to."""
        return self.result(call(tool, arguments))

    def found(self, query: str, **arguments: object) -> list[str]:
        """The contents of all that a search finds."""
        return [hit["content"] for hit in self.answered("memory_search", query=query, **arguments)["hits"]]


def error_of(result: Message) -> Message:
    """The error that a failed call's result tells: code, message, hint."""
    error = json.loads(result["content"][0]["text"])
    assert error.keys() == {"code", "message", "hint"}
    return error


@contextmanager
def session(settings: Settings, agent: str = "auditor") -> Generator[Session]:
    """The same as `open_session`, closed at the end of the block."""
    opened = open_session(settings, agent)
    try:
        yield opened
    finally:
        opened.close()


def recorded(settings: Settings, question: LiteralString) -> list[Any]:
    """What the store's tables hold, by a SELECT."""
    with session(settings) as opened, opened.app.database.read(settings.user_id) as reader:
        return list[Any](reader.rows(sql(question)))


def noted_heads(settings: Settings) -> list[tuple[int, str]]:
    """Where every history stands, by the file beside the store."""
    with session(settings) as opened:
        return list(opened.app.database.heads.read().values())


def sound_counts(settings: Settings) -> dict[str, int]:
    """How much the store holds, when the doctor and the audit of every user find nothing wrong with it."""
    with session(settings) as opened:
        caller, _ = opened.app.caller_for(Launch(project=PROJECT))
        found = examine(opened.app.context(caller))
        assert (found.ok, found.faults) == (True, [])
        heads = opened.app.database.heads.read()
        with opened.app.database.read(settings.user_id) as reader:
            for owner in owners(reader, everybody=True):
                assert audited(reader, owner, heads).flaws == {}
    return dict(found.counts)
