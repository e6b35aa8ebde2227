"""The commands about the operator's passphrase: set it, change it, tell whether one is set."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from m3_memory.app import App
from m3_memory.config import load_settings
from m3_memory.domains.agents.service import operators
from m3_memory.errors import InvalidArgument
from m3_memory.surfaces.cli.signing_in import ask_unseen, sign_in

if TYPE_CHECKING:
    from m3_memory.domains.agents.model import OperatorStatus
    from m3_memory.kernel.caller import Caller
    from m3_memory.launch import Launch


def run(launch: Launch, verb: str) -> dict[str, Any]:
    """One of init, change, status. Answers {is_set, set_at, last_event, removed}."""
    with closing(App.open(load_settings(), store=launch.store)) as app:
        caller, _ = app.caller_for(launch)
        found = _done(app, caller, verb)._asdict()
    return {name: value for name, value in found.items() if value is not None}


def _done(app: App, caller: Caller, verb: str) -> OperatorStatus:
    found = operators.status(app.context(caller))
    match verb:
        case "init" if found.is_set:
            raise InvalidArgument(operators.IS_SET, "m3 operator change changes it")
        case "init":
            return operators.set_passphrase(app.context(caller), _ask_twice())
        case "change":
            proof = sign_in(app, caller)
            return operators.change_passphrase(app.context(caller.as_operator()), proof, _ask_twice())
        case _:
            return found


def _ask_twice() -> str:
    """A new passphrase; checked before the second asking, so that nobody types a bad one twice."""
    typed = ask_unseen("New passphrase for the operator: ")
    operators.check_passphrase(typed)
    if ask_unseen("The same once more: ") != typed:
        raise InvalidArgument("the two passphrases differ; nothing was set", "start again")
    return typed
