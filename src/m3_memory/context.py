"""Context: everything one call may use, and nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from m3_memory.errors import DeadlinePassed, ReadOnlyCall

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from m3_memory.config import Settings
    from m3_memory.inference.embedder import EmbedderSource
    from m3_memory.kernel.caller import Caller
    from m3_memory.kernel.clock import Clock
    from m3_memory.storage.database import Database, Reader, Writer
    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.heads import HeadFile


BUSY_SECONDS = 10.0
"""The longest a call waits for other writers."""


class Tools(Protocol):
    """The catalog as a tool sees it: for the tools that list, load and call other tools."""

    def run(self, name: str, arguments: dict[str, Any], *, dry_run: bool = False) -> Any:
        """Runs a tool in this call's context and returns its structured result."""
        ...

    def domains(self) -> list[tuple[str, str, int]]:
        """(name, description, number of tools) of every domain."""
        ...

    def schemas(self, domain: str) -> list[dict[str, Any]]:
        """The list entries of every tool of a domain."""
        ...

    def essentials(self) -> list[str]:
        """The names of the tools every connection starts with."""
        ...


@dataclass(frozen=True)
class Context:
    """What one call runs with. `deadline` is on the clock's monotonic scale, in seconds."""

    caller: Caller
    database: Database
    embedder: EmbedderSource
    clock: Clock
    settings: Settings
    deadline: float = float("inf")
    cancelled: Callable[[], bool] = field(default=lambda: False, repr=False)
    notices: tuple[str, ...] = ()
    tools: Tools | None = field(default=None, repr=False)

    @contextmanager
    def read(self) -> Generator[Reader]:
        """A read transaction for the caller's user."""
        with self.database.read(self.caller.user_id) as reader:
            yield reader

    @contextmanager
    def write(self) -> Generator[Writer]:
        """The owner's write transaction; rolled back when the call's time is up or it was cancelled."""
        with self.database.write(self.caller.user_id, min(self.seconds_left(), BUSY_SECONDS)) as writer:
            yield writer
            self.ensure_time()

    def seconds_left(self) -> float:
        return max(0.0, self.deadline - self.clock.monotonic())

    def ensure_time(self) -> None:
        """Raises DeadlinePassed when nobody waits for this call any more."""
        if self.cancelled() or self.seconds_left() <= 0:
            raise DeadlinePassed(
                "the call was cancelled or its time ran out before it was done; nothing was stored",
                "try again, with a larger timeout if it keeps happening",
            )

    def reading(self) -> Context:
        """The same context over a database that refuses to write."""
        return replace(self, database=_ReadOnly(self.database))


class _ReadOnly:
    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def dialect(self) -> Dialect:
        return self._database.dialect

    def read(self, user_id: str) -> AbstractContextManager[Reader]:
        return self._database.read(user_id)

    def write(self, user_id: str, timeout_seconds: float = 10.0) -> AbstractContextManager[Writer]:
        raise ReadOnlyCall("a reading tool tried to write", "report this: it is a bug of this product")

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        return self._database.exclusive(name)

    @property
    def heads(self) -> HeadFile:
        return self._database.heads

    @property
    def migrated(self) -> tuple[str, ...]:
        return self._database.migrated

    @property
    def backup_path(self) -> Path | None:
        return self._database.backup_path

    def close(self) -> None:
        """A call never closes the store it was lent."""
