"""The stores of one process: the main one and those the settings declare, opened when first needed."""

from __future__ import annotations

import logging
import threading
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from m3_memory.config import make_home
from m3_memory.declared_stores import MAIN
from m3_memory.errors import StoreReadOnly, StoreUnreachable
from m3_memory.storage import ledger, open_database
from m3_memory.storage.database import BUSY_SECONDS, unlimited

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from m3_memory.config import Settings
    from m3_memory.declared_stores import DeclaredStore
    from m3_memory.kernel.clock import Clock
    from m3_memory.storage.database import Database, Reader, Store, Writer
    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.heads import HeadFile
    from m3_memory.storage.transaction import Connection

_log = logging.getLogger(__name__)


class OpenedStores:
    """Every store by its name. Each is opened by whoever asks first, and all are closed together.

    `as_it_is` opens them without making or migrating any. One that can't be opened now is tried again by the
    next call that asks, and stands in the way of no other.
    """

    def __init__(self, settings: Settings, clock: Clock, *, as_it_is: bool = False) -> None:
        self.declared = settings.all_stores
        self._settings = settings
        self._clock = clock
        self._as_it_is = as_it_is
        self._opening = {name: threading.Lock() for name in self.declared}
        self._opened: dict[str, Database] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.declared)

    @property
    def opened(self) -> dict[str, Database]:
        """Those that are open now."""
        return dict(self._opened)

    def database(self, name: str) -> Database:
        """The store of that name, which is declared. Raises what opening raises."""
        with self._opening[name]:
            if name not in self._opened:
                self._opened[name] = self._open(self.declared[name])
            return self._opened[name]

    def named(self, name: str) -> Store:
        """The store of that name as calls see it: opened when one reads or writes."""
        return _Declared(lambda: self.database(name), self.declared[name])

    def close(self) -> None:
        """Closes what is open; each may be opened again."""
        for name, lock in self._opening.items():
            with lock:
                if opened := self._opened.pop(name, None):
                    opened.close()

    def _open(self, store: DeclaredStore) -> Database:
        heads = None if store.is_file else self._settings.home / _heads_file(store.name)
        if not self._as_it_is:
            self._make_room(store)
        opened = open_database(
            store.location,
            self._clock,
            durable=self._settings.durability == "full",
            heads=heads,
            as_it_is=self._as_it_is or store.read_only,
        )
        if not (self._as_it_is or store.read_only) and ledger.reconcile(
            opened, self._settings.backups_of(store.name)
        ):
            _log.warning("the store was an older copy: what was erased since is erased from it again")
        if opened.backup_path:
            _log.warning("the store was brought up to this version; as it was before: %s", opened.backup_path)
        return _Declared(lambda: opened, store) if store.read_only else opened

    def _make_room(self, store: DeclaredStore) -> None:
        """Makes the home folder, where a main store or the noted heads go; no other folder is ever made."""
        folder = Path(store.location).parent
        if store.name == MAIN or not store.is_file:
            with nullcontext() if store.is_file else suppress(StoreUnreachable):
                make_home(self._settings.home)
        elif not folder.is_dir():
            raise StoreUnreachable(
                f"the folder {folder} of the store {store.name} is not there",
                f"make it, or correct the path of [stores.{store.name}]",
            )


class _Declared:
    """A store as calls see it: opened by the first that reads or writes; a read-only one refuses to write."""

    def __init__(self, open_now: Callable[[], Database], store: DeclaredStore) -> None:
        self._open_now = open_now
        self._store = store

    @property
    def dialect(self) -> Dialect:
        return self._open_now().dialect

    @property
    def heads(self) -> HeadFile:
        return self._open_now().heads

    @property
    def migrated(self) -> tuple[str, ...]:
        return self._open_now().migrated

    @property
    def backup_path(self) -> Path | None:
        return self._open_now().backup_path

    def read(
        self, user_id: str, seconds_left: Callable[[], float] = unlimited
    ) -> AbstractContextManager[Reader]:
        return self._open_now().read(user_id, seconds_left)

    def write(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> AbstractContextManager[Writer]:
        return self._writable().write(user_id, timeout_seconds)

    def erasing(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> AbstractContextManager[Writer]:
        return self._writable().erasing(user_id, timeout_seconds)

    def scrub(self) -> bool:
        return self._writable().scrub()

    def rebuild(self) -> AbstractContextManager[Connection]:
        return self._writable().rebuild()

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        return self._writable().exclusive(name)

    def close(self) -> None:
        self._open_now().close()

    def _writable(self) -> Database:
        if self._store.read_only:
            raise StoreReadOnly(
                f"the store {self._store.name} is declared read-only",
                "write to another store, or take read_only out of its table in the settings file",
            )
        return self._open_now()


def _heads_file(store: str) -> str:
    return "postgres.head" if store == MAIN else f"postgres.{store}.head"
