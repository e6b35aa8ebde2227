"""The composition root: from the settings to what one call may use.

It knows no tool, so that whoever only needs a context loads none.
"""

from __future__ import annotations

import logging
import re
import threading
import unicodedata
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from m3_memory.config import host_environment, is_unexpanded, make_home
from m3_memory.context import Context
from m3_memory.errors import InvalidArgument, StoreUnreachable
from m3_memory.inference.source import open_embedder
from m3_memory.kernel.caller import Caller
from m3_memory.kernel.clock import SystemClock
from m3_memory.kernel.ids import new_id
from m3_memory.place import Place, find_place, is_named
from m3_memory.storage import open_database
from m3_memory.storage.database import BUSY_SECONDS, unlimited

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from m3_memory.config import HostEnvironment, Settings
    from m3_memory.kernel.clock import Clock
    from m3_memory.launch import Launch
    from m3_memory.storage.database import Database, Reader, Writer
    from m3_memory.storage.dialect import Dialect
    from m3_memory.storage.heads import HeadFile

_log = logging.getLogger(__name__)

UNKNOWN_AGENT = "unknown"
_OUR_AGENT = "worker"
_RESERVED_AGENTS = frozenset({_OUR_AGENT, "cli"})
_LONGEST_AGENT = 64
_LONGEST_CLIENT_NAME = 1_000
_LONGEST_SESSION_ID = 200
_NOT_IN_AGENTS = re.compile(r"[^\w.@-]+")


class App:
    """One process's use of one installation. The store is opened by the first call that needs it."""

    def __init__(self, settings: Settings, clock: Clock, host: HostEnvironment) -> None:
        self.settings = settings
        self.clock = clock
        self.embedder = open_embedder(settings.embedder)
        self._opening = threading.Lock()
        self._store: Database | None = None
        self._host = host
        session_id, self._session_notices = _session_id(host)
        self._conversation_id = session_id or new_id(clock.now())
        self._places: dict[tuple[str, ...], Place] = {}

    @classmethod
    def open(cls, settings: Settings, clock: Clock | None = None) -> App:
        """An app for these settings; nothing is read or written yet."""
        return cls(settings, clock or SystemClock(), host_environment())

    @property
    def database(self) -> Database:
        """The store, opened by whoever asks first. Raises what opening raises; the next one tries again."""
        with self._opening:
            if self._store is None:
                self._store = self._open_store()
            return self._store

    def caller_for(
        self, launch: Launch, client_name: str = "", roots: Callable[[], tuple[str, ...]] = tuple
    ) -> tuple[Caller, tuple[str, ...]]:
        """Who is asking, and what the answer should say about how that was found.

        `client_name` and `roots` are the client's; roots are asked for only if nothing else names a project.
        Raises InvalidArgument for a `--project` that can be no name, and an `--agent` that is our own.
        """
        place = self._place(launch.project, roots)
        agent_id, notices = _agent(launch.agent, client_name)
        caller = Caller(
            user_id=self.settings.user_id,
            agent_id=agent_id,
            conversation_id=self._conversation_id,
            project=place.project,
            surface=launch.surface,
        )
        return caller, notices + self._session_notices + place.notices

    def context(
        self,
        caller: Caller,
        notices: tuple[str, ...] = (),
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Context:
        """What one call of this caller may use, from now until the settings' time is up."""
        return Context(
            caller=caller,
            database=_LazyStore(self),
            embedder=self.embedder,
            clock=self.clock,
            settings=self.settings,
            deadline=self.clock.monotonic() + self.settings.timeout_seconds,
            cancelled=cancelled,
            notices=notices,
        )

    def close(self) -> None:
        """Closes the store if it was opened."""
        with self._opening:
            if self._store is not None:
                self._store.close()
            self._store = None

    def _place(self, requested: str, roots: Callable[[], tuple[str, ...]]) -> Place:
        """A place once found stays, also when its folder goes away under a running process."""
        offered = () if is_named(requested, self._host) else roots()
        asked = (requested, *offered)
        if asked not in self._places:
            self._places[asked] = find_place(requested, self._host, offered)
        return self._places[asked]

    def _open_store(self) -> Database:
        durable = self.settings.durability == "full"
        heads = self.settings.home / "postgres.head" if self.settings.database_url else None
        with suppress(StoreUnreachable) if heads else nullcontext():
            make_home(self.settings.home)
        opened = open_database(self.settings.store, self.clock, durable=durable, heads=heads)
        if opened.backup_path:
            _log.warning("the store was brought up to this version; as it was before: %s", opened.backup_path)
        return opened


class _LazyStore:
    """An app's store, opened by the first call that reads or writes."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def dialect(self) -> Dialect:
        return self._app.database.dialect

    @property
    def heads(self) -> HeadFile:
        return self._app.database.heads

    def read(
        self, user_id: str, seconds_left: Callable[[], float] = unlimited
    ) -> AbstractContextManager[Reader]:
        return self._app.database.read(user_id, seconds_left)

    def write(self, user_id: str, timeout_seconds: float = BUSY_SECONDS) -> AbstractContextManager[Writer]:
        return self._app.database.write(user_id, timeout_seconds)


def _agent(requested: str, client_name: str) -> tuple[str, tuple[str, ...]]:
    """The agent's id and notices: the launch's name, else the client's, in one spelling of each."""
    unexpanded = is_unexpanded(requested)
    notices = (f"--agent holds a variable that was not replaced ({requested}); it counts as absent",)
    named = "" if unexpanded else _agent_id(requested)
    if named == _OUR_AGENT:
        raise InvalidArgument(
            f"--agent {_OUR_AGENT} is the name of this product's own worker", "give the agent another name"
        )
    client = _agent_id(client_name)
    if client in _RESERVED_AGENTS:
        client = f"client-{client}"
    return named or client or UNKNOWN_AGENT, notices if unexpanded else ()


def _agent_id(name: str) -> str:
    folded = unicodedata.normalize("NFC", name[:_LONGEST_CLIENT_NAME]).strip().lower()
    return _NOT_IN_AGENTS.sub("-", folded).strip("-.")[:_LONGEST_AGENT]


def _session_id(host: HostEnvironment) -> tuple[str, tuple[str, ...]]:
    """The host's session id, empty if it gives none that can be used, and what to say about that."""
    given = host.session_id.strip()
    if is_unexpanded(given):
        problem = f"holds a variable that was not replaced ({given[:_LONGEST_SESSION_ID]})"
    elif len(given) > _LONGEST_SESSION_ID:
        problem = f"has {len(given):,} characters; the limit is {_LONGEST_SESSION_ID}"
    elif not given.isprintable():
        problem = "holds characters that can't be printed"
    else:
        return given, ()
    return "", (f"the host's session id {problem}; this process counts as a conversation of its own",)
