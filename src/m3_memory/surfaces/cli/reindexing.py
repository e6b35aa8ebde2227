"""`m3 reindex`: what searches are answered from, derived anew from the memories themselves."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from m3_memory.storage.reindex import reindex
from m3_memory.surfaces.cli.opening import opened
from m3_memory.surfaces.cli.output import print_text

if TYPE_CHECKING:
    from argparse import Namespace

    from m3_memory.declared_stores import DeclaredStore
    from m3_memory.launch import Launch
    from m3_memory.storage.reindex import Progress

_STEPS_BETWEEN_LINES = 50


def run(launch: Launch, given: Namespace, _doors: object) -> dict[str, Any]:
    """Derives words, totals and vector files anew, from the version after the item named on.

    Answers {versions, last_item, vector_files_removed}. How far it came goes to standard error; a run that
    was stopped goes on with `--after` the last item named there.
    """
    with opened(launch) as (app, _):
        done, item = 0, given.after
        for step, progress in enumerate(reindex(app.database, item), 1):
            done, item = progress.done, progress.item
            if step % _STEPS_BETWEEN_LINES == 0:
                _tell(progress)
        removed = _remove_vector_files(app.stores.declared[app.store])
    return {"versions": done, "last_item": item, "vector_files_removed": removed}


def _tell(progress: Progress) -> None:
    print_text(
        f"{progress.done:,} of {progress.total:,} versions; to go on from here: --after {progress.item}",
        sys.stderr,
    )
    sys.stderr.flush()


def _remove_vector_files(store: DeclaredStore) -> int:
    """Removes the vector cache of a SQLite store: the next search builds it from the rows."""
    removed = 0
    if store.is_file:
        path = Path(store.location)
        for cached in path.parent.glob(f"{path.name}.vectors-*"):
            with suppress(OSError):
                cached.unlink()
                removed += 1
    return removed
