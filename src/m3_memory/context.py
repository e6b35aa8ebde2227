"""Context: everything one call may use, and nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from m3_memory.errors import DeadlinePassed, ReadOnlyCall
from m3_memory.storage.database import BUSY_SECONDS, unlimited

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from m3_memory.config import Settings
    from m3_memory.inference.embedder import EmbedderSource
    from m3_memory.kernel.caller import Caller
    from m3_memory.kernel.clock import Clock
    from m3_memory.storage.database import Reader, Store, Writer
    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.heads import HeadFile


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
    database: Store
    embedder: EmbedderSource
    clock: Clock
    settings: Settings
    deadline: float = float("inf")
    cancelled: Callable[[], bool] = field(default=lambda: False, repr=False)
    notices: tuple[str, ...] = ()
    tools: Tools | None = field(default=None, repr=False)

    @contextmanager
    def read(self) -> Generator[Reader]:
        """A read transaction for the caller's user, stopped when time is up or the call was cancelled."""
        self.ensure_time()
        with self.database.read(self.caller.user_id, self.seconds_left) as reader:
            yield reader

    @contextmanager
    def write(self) -> Generator[Writer]:
        """The owner's write transaction; rolled back when the call's time is up or it was cancelled."""
        self.ensure_time()
        with self.database.write(self.caller.user_id, min(self.seconds_left(), BUSY_SECONDS)) as writer:
            yield writer
            self.ensure_time()

    def seconds_left(self) -> float:
        """How long somebody still waits for this call; none once it was cancelled."""
        return 0.0 if self.cancelled() else max(0.0, self.deadline - self.clock.monotonic())

    def ensure_time(self) -> None:
        """Raises DeadlinePassed when nobody waits for this call any more."""
        if self.seconds_left() <= 0:
            raise DeadlinePassed(
                "the call was cancelled or its time ran out before it was done; nothing was stored",
                "try again, with a larger timeout if it keeps happening",
            )

    def reading(self) -> Context:
        """The same context over a store that refuses to write."""
        return replace(self, database=_ReadOnly(self.database))


class _ReadOnly:
    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def dialect(self) -> Dialect:
        return self._store.dialect

    @property
    def heads(self) -> HeadFile:
        return self._store.heads

    def read(
        self, user_id: str, seconds_left: Callable[[], float] = unlimited
    ) -> AbstractContextManager[Reader]:
        return self._store.read(user_id, seconds_left)

    def write(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> AbstractContextManager[Writer]:
        raise ReadOnlyCall("a reading tool tried to write", "report this: it is a bug of this product")
