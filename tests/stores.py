"""Fresh, migrated stores on either engine, copied from a template that is migrated once a run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from tests.postgres import PostgresServer


class Stores(Protocol):
    """Makes stores of one engine."""

    engine: str

    def fresh(self) -> str:
        """The location of a new, empty, migrated store, as `open_database` takes it.

        Copies share the template's origin and key; open an empty location for a store with its own.
        """
        ...

    def unmade(self) -> str:
        """A location where a store can be made, and none is yet."""
        ...

    def discard(self) -> None:
        """Removes every store made since the last time."""
        ...


class SqliteStores:
    """Stores in files below one folder."""

    engine = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[Path] = []
        self._count = 0
        self._template: Path | None = None

    def fresh(self) -> str:
        if self._template is None:
            self._template = self._folder / "template.db"
            open_database(self._template, ManualClock()).close()
        location = self.unmade()
        shutil.copy(self._template, location)
        return location

    def unmade(self) -> str:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        self._made.append(folder)
        return str(folder / "m3.db")

    def discard(self) -> None:
        while self._made:
            shutil.rmtree(self._made.pop())


class PostgresStores:
    """Stores in databases of one server."""

    engine = "postgres"

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._made: list[str] = []
        self._template = ""

    def fresh(self) -> str:
        if not self._template:
            self._template = self._server.create()
            open_database(self._template, ManualClock()).close()
        return self._kept(self._server.create(self._template))

    def unmade(self) -> str:
        return self._kept(self._server.create())

    def discard(self) -> None:
        while self._made:
            self._server.drop(self._made.pop())

    def _kept(self, url: str) -> str:
        self._made.append(url)
        return url
