"""Context: everything one call may use, and nothing else."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from m3_memory.declared_stores import MAIN
from m3_memory.errors import DeadlinePassed, ReadOnlyCall, UnknownStore
from m3_memory.storage.database import BUSY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from m3_memory.config import Settings
    from m3_memory.inference.embedder import EmbedderSource
    from m3_memory.kernel.caller import Caller
    from m3_memory.kernel.clock import Clock
    from m3_memory.storage.database import Reader, Store, Writer


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


class _RehearsedError(Exception):
    """Everything was tried, and nothing is to stay."""


class Stores(Protocol):
    """The declared stores, by name."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def named(self, name: str) -> Store:
        """The store of one of these names."""
        ...


class OneStore:
    """There is one store and no other."""

    names = (MAIN,)

    def named(self, name: str) -> Store:
        raise UnknownStore(f"there is no store but {MAIN}", f"{name} is not declared")


class Standing(NamedTuple):
    """A caller under every name of its place, and what an answer should say about that place."""

    caller: Caller
    notices: tuple[str, ...] = ()


def as_started(_reader: Reader, caller: Caller) -> Standing:
    """The standing of a caller whose place has no other names."""
    return Standing(caller)


def find_store(name: str, names: Sequence[str]) -> str:
    """The name, if it is one of these. Raises UnknownStore, naming those there are."""
    if name not in names:
        raise UnknownStore(
            f"there is no store {name[:60]!r}",
            f"the stores are {', '.join(names)}; others are declared in the settings file, as [stores.NAME]",
        )
    return name


@dataclass(frozen=True)
class Context:
    """What one call runs with. `deadline` is on the clock's monotonic scale, in seconds.

    `started_as` is who asks, as the surface found it; `stand` reads how its place is called in a store.
    `said` holds the notices that this process has given already. `store` is the name of the store that
    `database` is.
    """

    started_as: Caller
    database: Store
    embedder: EmbedderSource
    clock: Clock
    settings: Settings
    deadline: float = float("inf")
    cancelled: Callable[[], bool] = field(default=lambda: False, repr=False)
    notices: tuple[str, ...] = ()
    stand: Callable[[Reader, Caller], Standing] = field(default=as_started, repr=False)
    said: set[str] = field(default_factory=set[str], repr=False)
    tools: Tools | None = field(default=None, repr=False)
    store: str = MAIN
    stores: Stores = field(default_factory=OneStore, repr=False)
    count_uses: Callable[[str, Sequence[str]], None] = field(default=lambda _store, _ids: None, repr=False)
    only_reads: bool = False

    @property
    def caller(self) -> Caller:
        """Who is asking, in this store: one answer for the whole call, found in its first transaction."""
        return self._standing.caller

    @contextmanager
    def read(self) -> Generator[Reader]:
        """A read transaction for the caller's user, stopped when time is up or the call was cancelled."""
        self.ensure_time()
        with self.database.read(self.started_as.user_id, self.seconds_left) as reader:
            self._look_around(reader)
            yield reader

    @contextmanager
    def write(self) -> Generator[Writer]:
        """The owner's write transaction; rolled back when the call's time is up or it was cancelled."""
        if self.only_reads:
            raise ReadOnlyCall("a reading tool tried to write", "report this: it is a bug of this product")
        self.ensure_time()
        with self.database.write(self.started_as.user_id, min(self.seconds_left(), BUSY_SECONDS)) as writer:
            self._look_around(writer)
            yield writer
            self.ensure_time()

    @contextmanager
    def rehearsal(self) -> Generator[Writer]:
        """As `write`, but nothing of it stays: a dry run is the run itself, taken back."""
        with suppress(_RehearsedError), self.write() as writer:
            yield writer
            raise _RehearsedError

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
        """The same context, which refuses to write, whatever the store."""
        return replace(self, only_reads=True)

    def at(self, store: str) -> Context:
        """The same context at the store of that name. Raises UnknownStore, naming those there are."""
        if store == self.store:
            return self
        return replace(self, database=self.stores.named(find_store(store, self.stores.names)), store=store)

    def note_shown(self, memory_ids: Sequence[str]) -> None:
        """Takes down that the answer shows these memories of this store; nothing waits for it."""
        self.count_uses(self.store, memory_ids)

    def news(self) -> tuple[str, ...]:
        """What there is to say about how the caller was found and where it stands, said already or not."""
        found: Standing | None = vars(self).get("_standing")
        return self.notices + (found.notices if found else ())

    @cached_property
    def _standing(self) -> Standing:
        """Found by itself where no transaction was open yet."""
        with self.database.read(self.started_as.user_id, self.seconds_left) as reader:
            return self._found(reader)

    def _look_around(self, reader: Reader) -> None:
        if "_standing" not in vars(self):
            vars(self)["_standing"] = self._found(reader)

    def _found(self, reader: Reader) -> Standing:
        caller, notices = self.stand(reader, self.started_as)
        return Standing(caller, notices + reader.dialect.notices)
