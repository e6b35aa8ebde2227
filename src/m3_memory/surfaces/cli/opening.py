"""The store of a command, and the context of who gave it."""

from __future__ import annotations

import math
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.app import App
from m3_memory.config import load_settings
from m3_memory.surfaces.cli.signing_in import as_operator

if TYPE_CHECKING:
    from collections.abc import Generator

    from m3_memory.context import Context
    from m3_memory.launch import Launch


@contextmanager
def opened(
    launch: Launch, *, signed_in: bool = False, as_it_is: bool = False
) -> Generator[tuple[App, Context]]:
    """The store, and a context of the command line's caller that takes as long as it takes.

    `signed_in` asks for the operator's passphrase and makes the caller that. Raises NeedsOperator.
    """
    with closing(App.open(load_settings(), store=launch.store, as_it_is=as_it_is)) as app:
        caller, notices = app.caller_for(launch)
        ctx = app.context(as_operator(app, caller) if signed_in else caller, notices)
        yield app, replace(ctx, deadline=math.inf)
