"""A pool of connections: opened when needed, kept for the next transaction, dropped after an error."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

IDLE_CONNECTIONS = 8


class Pooled(Protocol):
    """A connection that says whether it is still good for another transaction."""

    @property
    def reusable(self) -> bool: ...

    def close(self) -> None: ...


Connection = TypeVar("Connection", bound=Pooled)


class Pool(Generic[Connection]):
    """Every thread has a connection to itself while it holds one. `failure` is the driver's root error."""

    def __init__(self, opened: Callable[[], Connection], failure: type[Exception]) -> None:
        self._opened = opened
        self._failure = failure
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def connection(self) -> Generator[Connection]:
        connection = self._taken() or self._opened()
        try:
            yield connection
        except self._failure:
            connection.close()
            raise
        except BaseException:
            self.put(connection)
            raise
        self.put(connection)

    def close(self) -> None:
        """Closes what is idle now, and the rest as it comes back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def put(self, connection: Connection) -> None:
        """Keeps a connection that is ours no more for the next transaction, or closes it."""
        with self._guard:
            kept = not self._closed and connection.reusable and len(self._idle) < IDLE_CONNECTIONS
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()

    def _taken(self) -> Connection | None:
        with self._guard:
            while self._idle:
                connection = self._idle.pop()
                if connection.reusable:
                    return connection
                connection.close()
        return None
