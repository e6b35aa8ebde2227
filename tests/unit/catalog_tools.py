"""A small toolset of its own, and the context its calls run in: what the tests of the catalog call."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, cast

from m3_memory.catalog.dispatch import Outcome, dispatch
from m3_memory.catalog.params import Compat, Limit, Metadata, Param, Timestamp
from m3_memory.catalog.registry import Catalog, catalog_of
from m3_memory.catalog.tool import Effect, tool
from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.system import tools as system
from m3_memory.inference.embedder import EmbedderSource
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import ManualClock
from m3_memory.kernel.limits import JsonValue
from m3_memory.storage.database import Reader, Store, Writer
from m3_memory.storage.dialect import Dialect


class Book:
    """A store that keeps only the names of the users who wrote, in order."""

    notices: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.writers: list[str] = []
        self.asked = 0

    @property
    def dialect(self) -> Dialect:
        return cast(Dialect, self)

    @contextmanager
    def read(self, user_id: str, seconds_left: Callable[[], float] = lambda: 30.0) -> Generator[Reader]:
        self.asked += 1
        yield cast(Reader, self)

    @contextmanager
    def write(self, user_id: str, timeout_seconds: float = 10.0) -> Generator[Writer]:
        self.asked += 1
        yield cast(Writer, self)
        self.writers.append(user_id)


@dataclass(frozen=True)
class Note:
    text: str
    size: int
    state: Literal["new", "old"] = "new"
    tags: tuple[str, ...] = ()
    labels: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    successor: str | None = None

    def headline(self) -> str:
        return f"Note: {self.size}"


@dataclass(frozen=True)
class Time:
    seconds_left: float


@tool(Effect.READ, domain="memory", title="Read a note", example={"text": "a"}, essential=True)
def note_read(
    ctx: Context,
    text: Annotated[str, Param("what it says")],
    size: Limit = 8,
    labels: Metadata | None = None,
    as_of: Timestamp = "",
    known_at: Timestamp = "",
    requesting_agent: Annotated[str, Compat("equal to the caller")] = "",
) -> Note:
    """Read a note.

    And say what it holds.
    """
    return Note(text, size, labels=labels or {}, successor=requesting_agent or None)


@tool(Effect.WRITE, domain="memory", title="Write a note", example={"text": "a"})
def note_write(ctx: Context, text: Annotated[str, Param("what it says")]) -> Note:
    """Write a note."""
    with ctx.write():
        return Note(text, len(text))


def _crooked(text: str) -> str:
    raise RuntimeError(f"nobody foresaw {text}")


@tool(Effect.READ, domain="tasks", title="Look", example={"text": "a"}, timeless="it shows a read")
def note_look(
    ctx: Context,
    text: Annotated[str, Param("what it says")],
    size: Limit = 8,
    crooked: Annotated[str, Param("read by a function with a fault", parse=_crooked)] = "",
) -> Note:
    """Look a note up."""
    with ctx.read():
        return Note(text, size)


@tool(Effect.READ, domain="memory", title="Peek", example={}, timeless="it shows a fault")
def note_peek(ctx: Context) -> Note:
    """Write in a reading tool, which is a fault."""
    with ctx.write():
        return Note("never", 0)


@tool(Effect.READ, domain="memory", title="Detour", example={}, timeless="it shows a fault")
def note_detour(ctx: Context) -> Note:
    """Write in a reading tool, by way of another tool."""
    assert ctx.tools is not None
    ctx.tools.run("note_write", {"text": "smuggled"})
    return Note("never", 0)


@tool(Effect.OPERATE, domain="tasks", title="Purge", example={})
def note_purge(ctx: Context) -> Note:
    """Remove every note."""
    with ctx.write():
        return Note("purged", 0)


@tool(Effect.WRITE, domain="tasks", title="Break", example={})
def note_break(ctx: Context) -> Note:
    """Fail in a way nobody foresaw."""
    raise RuntimeError("the innermost secret")


@tool(Effect.READ, domain="tasks", title="Odd", example={}, timeless="it shows a fault")
def note_odd(ctx: Context) -> dict[str, Any]:
    """Return what no JSON can say."""
    return {"score": float("nan")}


@tool(Effect.READ, domain="tasks", title="Time left", example={}, timeless="it tells of the call")
def note_time(ctx: Context) -> Time:
    """Tell how much time the call has."""
    return Time(ctx.seconds_left())


CATALOG = catalog_of(
    [note_read, note_write, note_peek, note_detour],
    [note_purge, note_break, note_odd, note_time, note_look],
    [system.tools_list_domains, system.tools_load_domain, system.m3_call],
)


class Desk:
    """One caller at one catalog."""

    def __init__(self, catalog: Catalog = CATALOG, **caller: Any) -> None:
        self.catalog = catalog
        self.book = Book()
        self.context = Context(
            started_as=Caller("ann", "tester", "c1", **caller),
            database=cast(Store, self.book),
            embedder=cast(EmbedderSource, None),
            clock=ManualClock(),
            settings=cast(Settings, None),
            deadline=30.0,
        )

    def within(self, seconds: float) -> None:
        """Leaves that much time to the calls that follow."""
        self.context = replace(self.context, deadline=self.context.clock.monotonic() + seconds)

    def call(self, name: str, /, **arguments: object) -> Outcome:
        return dispatch(self.catalog, self.context, name, arguments)

    def result(self, name: str, /, **arguments: object) -> dict[str, Any]:
        """What a call that succeeds answers."""
        outcome = self.call(name, **arguments)
        assert outcome.structured is not None, outcome.text
        return outcome.structured

    def refusal(self, name: str, /, **arguments: object) -> dict[str, str]:
        """What a call that fails answers."""
        outcome = self.call(name, **arguments)
        assert outcome.is_error
        assert outcome.structured is None
        return cast("dict[str, str]", json.loads(outcome.text))
