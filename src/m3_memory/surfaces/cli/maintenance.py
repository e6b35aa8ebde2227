"""The commands about the store itself: migrate, back up, examine, work off what waits."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m3_memory.config import load_settings
from m3_memory.domains.agents.service import operators
from m3_memory.domains.system.service import accept_head
from m3_memory.storage.backup import back_up, backups_in
from m3_memory.surfaces.cli.opening import opened
from m3_memory.surfaces.cli.signing_in import as_operator

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Doors

_FIRST_MIGRATION = "core"
_NEW = "this store was made just now; if it should hold memories, see m3 config for where it is looked for"


def migrate(launch: Launch, _given: object, _doors: object) -> dict[str, Any]:
    """Opens the store, which brings it up to this version.

    Answers {store, migrated: [name], backup}, or a `note` in place of the backup if there was nothing to do;
    `backup` is the copy made before, if there was a store to copy.
    """
    with opened(launch) as (app, _):
        store = app.database
        found: dict[str, Any] = {"store": store.dialect.describe(), "migrated": list(store.migrated)}
        found |= {} if store.migrated else {"note": "the store is of this version; nothing was to be done"}
        return found | ({"backup": str(store.backup_path)} if store.backup_path else {})


def _backups(chosen: Path) -> dict[str, Any]:
    found = [
        {
            "path": str(backup.path),
            "made_at": backup.made_at,
            "scheduled": backup.is_scheduled,
            "bytes": backup.path.stat().st_size,
        }
        for backup in backups_in(chosen)
    ]
    return {"folder": str(chosen), "backups": found}


def backup(launch: Launch, given: Namespace, _doors: object) -> dict[str, Any]:
    """Copies the whole store to a new file in the folder named, else in `backups` of the home folder.

    Copies of a named store have a folder of its name in there. Answers {backup, bytes}; or, asked to list,
    {folder, backups: [{path, made_at, scheduled, bytes}]}, the newest first, and no store is opened.
    """
    named = Path(given.folder).expanduser().absolute() if given.folder else None
    folder = named or load_settings().backups_of(launch.store)
    if given.list:
        return _backups(folder)
    with opened(launch) as (app, _):
        path = back_up(app.database, folder)
        return {"backup": str(path), "bytes": path.stat().st_size}


def doctor(launch: Launch, given: Namespace, doors: Doors) -> Mapping[str, Any]:
    """What the doctor finds, in the context of the command line's own caller; and where it looked.

    Answers what the doctor answers and {store, project}; `project` is empty in no project.
    """
    if given.accept_head:
        return accept(launch)
    with opened(launch) as (app, ctx):
        is_new = _FIRST_MIGRATION in app.database.migrated
        found = doors.examine(ctx)
        notes = [*found["notes"], *([_NEW] if is_new else [])]
        return {
            "store": app.settings.all_stores[app.store].shown,
            "project": ctx.started_as.project,
            **found,
            "notes": notes,
        }


def accept(launch: Launch) -> Mapping[str, Any]:
    """Takes the history of a store that was put back for the right one; the operator's to say if one is set.

    Answers {accepted, lost, event}.
    """
    with opened(launch) as (app, ctx):
        is_set = operators.status(ctx).is_set
        caller = as_operator(app, ctx.started_as) if is_set else ctx.started_as
        found = asdict(accept_head(replace(ctx, started_as=caller)))
        return {name: value for name, value in found.items() if value is not None}


def work(launch: Launch, _given: object, doors: Doors) -> Mapping[str, Any]:
    """One round of what waits in the queue."""
    with opened(launch) as (app, _):
        return doors.work_once(app)
