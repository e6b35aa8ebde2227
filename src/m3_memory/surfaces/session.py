"""What the MCP server and the command line share: from one launch to calls of tools."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from m3_memory.app import App
from m3_memory.catalog.dispatch import dispatch
from m3_memory.config import load_settings
from m3_memory.toolbox import CATALOG

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3_memory.catalog.dispatch import Outcome
    from m3_memory.kernel.caller import Caller
    from m3_memory.launch import Launch


class Client(Protocol):
    """Who is connected, as it calls itself. Reading `roots` may ask the client."""

    @property
    def name(self) -> str: ...
    @property
    def roots(self) -> tuple[str, ...]: ...


class Session:
    """The product behind one connection. Calls may come from several threads at once."""

    def __init__(
        self,
        launch: Launch,
        app: App,
        after_call: Callable[[App], None] | None = None,
        prove: Callable[[App, Caller], Caller] | None = None,
    ) -> None:
        self.app = app
        self._launch = launch
        self._after_call = after_call
        self._prove = prove

    def as_operator(self, prove: Callable[[App, Caller], Caller]) -> Session:
        """The same session, whose callers are what `prove` makes of them: an operator, or it raises."""
        return Session(self._launch, self.app, self._after_call, prove)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        client: Client | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Runs one tool of the catalog.

        What the call or the tool did wrong is an outcome; raises only the errors of the launch itself.
        """
        client_name = client.name if client else ""
        caller, notices = self.app.caller_for(
            self._launch, client_name, lambda: client.roots if client else ()
        )
        caller = self._prove(self.app, caller) if self._prove else caller
        outcome = dispatch(CATALOG, self.app.context(caller, notices, cancelled), name, arguments)
        if not outcome.is_error:
            self.app.note_places()
        self.app.uses.write_soon()
        if self._after_call:
            self._after_call(self.app)
        return outcome

    def close(self) -> None:
        """Closes the stores that were opened."""
        self.app.close()


def open_session(launch: Launch, after_call: Callable[[App], None] | None = None) -> Session:
    """A session by the settings in force; the store is opened by the first call that needs it.

    `after_call` is called when a call's outcome is known; it must return at once. Raises InvalidSettings, and
    UnknownStore for a launch at a store that is not declared.
    """
    settings = load_settings()
    logging.basicConfig(level=settings.log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    return Session(launch, App.open(settings, store=launch.store), after_call)
