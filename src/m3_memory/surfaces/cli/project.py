"""The commands about projects: which there are, and which names are one."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

from m3_memory.app import App
from m3_memory.catalog.answers import plain
from m3_memory.config import host_environment, load_settings
from m3_memory.domains.agents.service import projects
from m3_memory.errors import InvalidArgument
from m3_memory.place import find_place
from m3_memory.surfaces.cli.signing_in import as_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from m3_memory.domains.agents.model import Naming
    from m3_memory.launch import Launch

_CHANGES: dict[str, tuple[int, Callable[..., Naming]]] = {
    "link": (1, projects.link),
    "unlink": (1, projects.unlink),
    "merge": (2, projects.merge),
}


def run(launch: Launch, verb: str, names: Sequence[str], *, everything: bool = False) -> dict[str, Any]:
    """`list` answers {projects: [{name, memories, aliases, folders, last_write_at, current}]}: of the project
    stood in, or of `everything`, which is the operator's, and an agent's with the grant widen.

    `link NAME`, `unlink NAME` and `merge FROM INTO` ask for the operator's passphrase, and answer {name,
    aliases, changed} of the project as it is then.
    """
    wanted, change = _CHANGES.get(verb, (0, None))
    if len(names) != wanted:
        count = ("no name", "one name", "two names")[wanted]
        raise InvalidArgument(f"m3 project {verb} takes {count}", "link NAME, unlink NAME, merge FROM INTO")
    with closing(App.open(load_settings(), store=launch.store)) as app:
        caller, _ = app.caller_for(launch)
        ctx = app.context(as_operator(app, caller) if change or everything else caller)
        if change is None:
            found = projects.list_projects(ctx)
        else:  # a name as the list shows it, a folder, or the address of a remote, as `--project` takes it
            host = host_environment()
            meant = [projects.known_name(ctx, name, find_place(name, host).project) for name in names]
            found = change(ctx, *meant)
    return cast("dict[str, Any]", plain(found))
