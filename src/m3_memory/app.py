"""The composition root: from the settings to what one call may use.

It knows no tool, so that whoever only needs a context loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.config import host_environment, is_unexpanded
from m3_memory.context import Context, find_store
from m3_memory.declared_stores import MAIN
from m3_memory.domains.agents.service.standing import Arrivals
from m3_memory.errors import InvalidArgument
from m3_memory.inference.source import open_embedder
from m3_memory.kernel.caller import OUR_AGENTS, Caller, agent_name
from m3_memory.kernel.clock import SystemClock
from m3_memory.kernel.ids import new_id
from m3_memory.opened_stores import OpenedStores
from m3_memory.place import Place, find_place, is_named
from m3_memory.use_counter import UseCounter

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3_memory.config import HostEnvironment, Settings
    from m3_memory.kernel.clock import Clock
    from m3_memory.launch import Launch
    from m3_memory.storage.database import Database

UNKNOWN_AGENT = "unknown"
_RESERVED_AGENTS = frozenset({*OUR_AGENTS, "cli"})
_LONGEST_SESSION_ID = 200


class App:
    """One process's use of one installation. A store is opened by the first call that needs it.

    `store` names the one that calls use if they name no other: empty for the main one. `as_it_is` opens
    stores without making or migrating them. Raises UnknownStore.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        host: HostEnvironment,
        store: str = "",
        *,
        as_it_is: bool = False,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.embedder = open_embedder(settings)
        self.stores = OpenedStores(settings, clock, as_it_is=as_it_is)
        self.uses = UseCounter(self.stores, clock)
        self.store = find_store(store or MAIN, self.stores.names)
        self._host = host
        session_id, self._session_notices = _session_id(host)
        self._conversation_id = session_id or new_id(clock.now())
        self._places: dict[tuple[str, ...], Place] = {}
        self._arrivals = Arrivals()
        self._said = set[str]()

    @classmethod
    def open(
        cls, settings: Settings, clock: Clock | None = None, store: str = "", *, as_it_is: bool = False
    ) -> App:
        """An app for these settings; nothing is read or written yet."""
        return cls(settings, clock or SystemClock(), host_environment(), store, as_it_is=as_it_is)

    @property
    def database(self) -> Database:
        """The store, opened by whoever asks first. Raises what opening raises; the next one tries again."""
        return self.stores.database(self.store)

    def caller_for(
        self, launch: Launch, client_name: str = "", roots: Callable[[], tuple[str, ...]] = tuple
    ) -> tuple[Caller, tuple[str, ...]]:
        """Who is asking, and what the answer should say about how that was found.

        `client_name` and `roots` are the client's; roots are asked for only if nothing else names a project.
        Raises InvalidArgument for a `--project` that can be no name, and an `--agent` that is our own.
        """
        place = self._place(launch.project, roots)
        agent_id, is_claimed, notices = _agent(launch.agent, client_name)
        caller = Caller(
            user_id=self.settings.user_id,
            agent_id=agent_id,
            conversation_id=self._conversation_id,
            project=place.project,
            folder=place.folder,
            surface=launch.surface,
            is_claimed=is_claimed,
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
            started_as=caller,
            database=self.stores.named(self.store),
            embedder=self.embedder,
            clock=self.clock,
            settings=self.settings,
            deadline=self.clock.monotonic() + self.settings.timeout_seconds,
            cancelled=cancelled,
            notices=notices,
            stand=self._arrivals.stand,
            said=self._said,
            store=self.store,
            stores=self.stores,
            count_uses=self.uses.note,
        )

    def note_places(self) -> None:
        """Notes in the stores in which folders this process met which project, once that was told."""
        self._arrivals.note(self.stores.opened.values())

    def close(self) -> None:
        """Closes the stores that were opened, once what answers showed is counted in them."""
        self.uses.write_now()
        self.stores.close()

    def _place(self, requested: str, roots: Callable[[], tuple[str, ...]]) -> Place:
        """A place once found stays, also when its folder goes away under a running process."""
        offered = () if is_named(requested, self._host) else roots()
        asked = (requested, *offered)
        if asked not in self._places:
            self._places[asked] = find_place(requested, self._host, offered)
        return self._places[asked]


def _agent(requested: str, client_name: str) -> tuple[str, bool, tuple[str, ...]]:
    """The agent's id: the launch's name, else the client's; whether only the client says so; and notices."""
    unexpanded = is_unexpanded(requested)
    notices = (f"--agent holds a variable that was not replaced ({requested}); it counts as absent",)
    named = "" if unexpanded else agent_name(requested)
    if named in OUR_AGENTS:
        raise InvalidArgument(
            f"--agent {named} is the name of {OUR_AGENTS[named]}", "give the agent another name"
        )
    client = agent_name(client_name)
    if client in _RESERVED_AGENTS:
        client = f"client-{client}"
    return named or client or UNKNOWN_AGENT, not named, notices if unexpanded else ()


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
