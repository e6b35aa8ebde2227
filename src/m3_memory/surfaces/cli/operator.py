"""The commands about the operator's passphrase: set it, change it, tell whether one is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from m3_memory.domains.agents.service import operators
from m3_memory.errors import InvalidArgument
from m3_memory.surfaces.cli.opening import opened
from m3_memory.surfaces.cli.signing_in import ask_unseen, sign_in

if TYPE_CHECKING:
    from argparse import Namespace

    from m3_memory.app import App
    from m3_memory.context import Context
    from m3_memory.domains.agents.model import OperatorStatus
    from m3_memory.launch import Launch


def run(launch: Launch, given: Namespace, _doors: object) -> dict[str, Any]:
    """What `m3 operator` was told."""
    return told(launch, given.verb)


def told(launch: Launch, verb: str) -> dict[str, Any]:
    """One of init, change, status. Answers {is_set, set_at, last_event, removed}."""
    with opened(launch) as (app, ctx):
        found = _done(app, ctx, verb)._asdict()
    return {name: value for name, value in found.items() if value is not None}


def _done(app: App, ctx: Context, verb: str) -> OperatorStatus:
    found = operators.status(ctx)
    match verb:
        case "init" if found.is_set:
            raise InvalidArgument(operators.IS_SET, "m3 operator change changes it")
        case "init":
            return operators.set_passphrase(ctx, _ask_twice())
        case "change":
            proof = sign_in(app, ctx.started_as)
            return operators.change_passphrase(app.context(ctx.started_as.as_operator()), proof, _ask_twice())
        case _:
            return found


def _ask_twice() -> str:
    """A new passphrase; checked before the second asking, so that nobody types a bad one twice."""
    typed = ask_unseen("New passphrase for the operator: ")
    operators.check_passphrase(typed)
    if ask_unseen("The same once more: ") != typed:
        raise InvalidArgument("the two passphrases differ; nothing was set", "start again")
    return typed
