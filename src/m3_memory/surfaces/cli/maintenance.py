"""The commands about the store itself: migrate, back up, examine, work off what waits."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m3_memory.app import App
from m3_memory.config import load_settings
from m3_memory.declared_stores import MAIN
from m3_memory.domains.agents.service import operators
from m3_memory.domains.system.service import accept_head
from m3_memory.storage.backup import back_up, backups_in
from m3_memory.surfaces.cli.signing_in import as_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3_memory.context import Context
    from m3_memory.launch import Launch

_FIRST_MIGRATION = "core"
_NEW = "this store was made just now; if it should hold memories, see m3 config for where it is looked for"


def migrate(launch: Launch) -> dict[str, Any]:
    """Opens the store, which brings it up to this version.

    Answers {store, migrated: [name], backup}, or a `note` in place of the backup if there was nothing to do;
    `backup` is the copy made before, if there was a store to copy.
    """
    with closing(App.open(load_settings(), store=launch.store)) as app:
        store = app.database
        found: dict[str, Any] = {"store": store.dialect.describe(), "migrated": list(store.migrated)}
        found |= {} if store.migrated else {"note": "the store is of this version; nothing was to be done"}
        return found | ({"backup": str(store.backup_path)} if store.backup_path else {})


def list_backups(folder: str, store: str = "") -> dict[str, Any]:
    """The copies in that folder, the newest first; no store is opened.

    Answers {folder, backups: [{path, made_at, scheduled, bytes}]}.
    """
    chosen = _chosen(folder, store)
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


def backup(folder: str, store: str = "") -> dict[str, Any]:
    """Copies the whole store to a new file in the folder named, else in `backups` of the home folder.

    Copies of a named store have a folder of its name in there.

    Answers {backup, bytes}.
    """
    with closing(App.open(load_settings(), store=store)) as app:
        path = back_up(app.database, _chosen(folder, store))
        return {"backup": str(path), "bytes": path.stat().st_size}


def examine(launch: Launch, doctor: Callable[[Context], Mapping[str, Any]]) -> Mapping[str, Any]:
    """What the doctor finds, in the context of the command line's own caller; and where it looked.

    Answers what the doctor answers and {store, project}; `project` is empty in no project.
    """
    with closing(App.open(load_settings(), store=launch.store)) as app:
        caller, notices = app.caller_for(launch)
        is_new = _FIRST_MIGRATION in app.database.migrated
        found = doctor(app.context(caller, notices))
        notes = [*found["notes"], *([_NEW] if is_new else [])]
        return {
            "store": app.settings.all_stores[app.store].shown,
            "project": caller.project,
            **found,
            "notes": notes,
        }


def accept(launch: Launch) -> Mapping[str, Any]:
    """Takes the history of a store that was put back for the right one; the operator's to say if one is set.

    Answers {accepted, lost, event}.
    """
    with closing(App.open(load_settings(), store=launch.store)) as app:
        caller, notices = app.caller_for(launch)
        if operators.status(app.context(caller)).is_set:
            caller = as_operator(app, caller)
        found = asdict(accept_head(app.context(caller, notices)))
        return {name: value for name, value in found.items() if value is not None}


def work(launch: Launch, run_once: Callable[[App], Mapping[str, Any]]) -> Mapping[str, Any]:
    """One round of what waits in the queue."""
    with closing(App.open(load_settings(), store=launch.store)) as app:
        return run_once(app)


def _chosen(folder: str, store: str) -> Path:
    if folder:
        return Path(folder).expanduser().absolute()
    backups = load_settings().backup_folder
    return backups / store if store not in ("", MAIN) else backups
