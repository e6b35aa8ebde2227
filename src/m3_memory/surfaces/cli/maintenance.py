"""The commands about the store itself: migrate, back up, examine, work off what waits."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m3_memory.app import App
from m3_memory.config import STORE_NAME, load_settings, show_settings
from m3_memory.storage.backup import back_up

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from m3_memory.context import Context
    from m3_memory.launch import Launch

BACKUPS = "backups"
_FIRST_MIGRATION = "core"
_NEW = "this store was made just now; if it should hold memories, see m3 config for where it is looked for"


def migrate() -> dict[str, Any]:
    """Opens the store, which brings it up to this version.

    Answers {store, migrated: [name], backup}; `backup` is the copy made before, if there was a store to copy.
    """
    with closing(App.open(load_settings())) as app:
        store = app.database
        found = {"store": store.dialect.describe(), "migrated": list(store.migrated)}
        return found | ({"backup": str(store.backup_path)} if store.backup_path else {})


def backup(folder: str) -> dict[str, Any]:
    """Copies the whole store to a new file in the folder named, else in `backups` of the home folder.

    Answers {backup, bytes}.
    """
    with closing(App.open(load_settings())) as app:
        chosen = Path(folder).expanduser().absolute() if folder else app.settings.home / BACKUPS
        path = back_up(app.database, chosen)
        return {"backup": str(path), "bytes": path.stat().st_size}


def examine(launch: Launch, doctor: Callable[[Context], Mapping[str, Any]]) -> Mapping[str, Any]:
    """What the doctor finds, in the context of the command line's own caller; and where it looked.

    Answers what the doctor answers and {store, project}; `project` is empty in no project.
    """
    with closing(App.open(load_settings())) as app:
        caller, notices = app.caller_for(launch)
        is_new = _FIRST_MIGRATION in app.database.migrated
        found = doctor(app.context(caller, notices))
        notes = [*found["notes"], *([_NEW] if is_new else [])]
        return {"store": _store(), "project": caller.project, **found, "notes": notes}


def work(run_once: Callable[[App], Mapping[str, Any]]) -> Mapping[str, Any]:
    """One round of what waits in the queue."""
    with closing(App.open(load_settings())) as app:
        return run_once(app)


def _store() -> str:
    """The store as people see it: a path, or the server's address without its password."""
    shown = {row.name: str(row.value) for row in show_settings()}
    return shown["database_url"] or str(Path(shown["home"]) / STORE_NAME)
