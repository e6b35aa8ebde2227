"""What the MCP server and the command line share: from one launch to calls of tools."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from m3_memory.app import App
from m3_memory.catalog.answers import compact
from m3_memory.catalog.dispatch import Outcome, dispatch
from m3_memory.config import load_settings
from m3_memory.domains.correction.model import Decision
from m3_memory.domains.correction.service.reviews import elicited
from m3_memory.errors import M3Error
from m3_memory.toolbox import CATALOG

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3_memory.context import Context
    from m3_memory.kernel.caller import Caller
    from m3_memory.launch import Launch


class Client(Protocol):
    """Who is connected, as it calls itself. Reading `roots` may ask the client."""

    @property
    def name(self) -> str: ...
    @property
    def roots(self) -> tuple[str, ...]: ...


class Asked(Protocol):
    """What a call came to, as far as a person's answer about it needs that."""

    @property
    def structured(self) -> dict[str, Any] | None: ...
    @property
    def text(self) -> str: ...
    @property
    def is_error(self) -> bool: ...


_TOLD = {
    Decision.ACCEPT: "a person answered the prompt: this takes the older one's place",
    Decision.REJECT: "a person answered the prompt: both hold",
    Decision.WITHDRAW: "a person answered the prompt: the older one holds, and this was deleted",
}

_log = logging.getLogger(__name__)


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
        outcome = dispatch(CATALOG, self._context(client, cancelled), name, arguments)
        if not outcome.is_error:
            self.app.note_places()
        self.app.uses.write_soon()
        if self._after_call:
            self._after_call(self.app)
        return outcome

    def settle(
        self, outcome: Asked, decision: str, client: Client, cancelled: Callable[[], bool] = lambda: False
    ) -> Asked:
        """What a disputed write came to, once a person answered the host's own prompt about it.

        Where that is nobody's to decide any more the outcome stays as it was.
        """
        written = dict(outcome.structured or {})
        try:
            done = elicited(self._context(client, cancelled), written["review_id"], Decision(decision))
        except M3Error as error:
            _log.warning("what a person answered was not done: %s", error.message)
            return outcome
        superseded = decision == Decision.ACCEPT
        written["status"] = "superseding" if superseded else "created"
        written["superseded"] = done.changed if superseded else []
        written["warnings"] = [
            *written["warnings"],
            f"{_TOLD[Decision(decision)]} ({done.operation_id} undoes it)",
        ]
        return Outcome(written, compact(written))

    def _context(self, client: Client | None, cancelled: Callable[[], bool]) -> Context:
        name = client.name if client else ""
        caller, notices = self.app.caller_for(self._launch, name, lambda: client.roots if client else ())
        caller = self._prove(self.app, caller) if self._prove else caller
        return self.app.context(caller, notices, cancelled)

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
