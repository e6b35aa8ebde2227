"""The commands about projects: which there are, and which names are one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from m3_memory.catalog.answers import plain
from m3_memory.config import host_environment
from m3_memory.domains.agents.service import projects
from m3_memory.errors import InvalidArgument
from m3_memory.place import find_place
from m3_memory.surfaces.cli.opening import opened

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from m3_memory.domains.agents.model import Naming
    from m3_memory.launch import Launch

_CHANGES: dict[str, tuple[int, Callable[..., Naming]]] = {
    "link": (1, projects.link),
    "unlink": (1, projects.unlink),
    "merge": (2, projects.merge),
}


def run(launch: Launch, given: Namespace, _doors: object) -> dict[str, Any]:
    """`list` answers {projects: [{name, memories, aliases, folders, last_write_at, current}]}: of the project
    stood in, or of all, which is the operator's, and an agent's with the grant widen.

    `link NAME`, `unlink NAME` and `merge FROM INTO` ask for the operator's passphrase, and answer {name,
    aliases, changed} of the project as it is then.
    """
    wanted, change = _CHANGES.get(given.verb, (0, None))
    if len(given.names) != wanted:
        count = ("no name", "one name", "two names")[wanted]
        raise InvalidArgument(
            f"m3 project {given.verb} takes {count}", "link NAME, unlink NAME, merge FROM INTO"
        )
    with opened(launch, signed_in=bool(change or given.all)) as (_, ctx):
        if change is None:
            found = projects.list_projects(ctx)
        else:  # a name as the list shows it, a folder, or the address of a remote, as `--project` takes it
            host = host_environment()
            meant = [projects.known_name(ctx, name, find_place(name, host).project) for name in given.names]
            found = change(ctx, *meant)
    return cast("dict[str, Any]", plain(found))
