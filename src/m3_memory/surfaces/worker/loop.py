"""Working off what waits in the queue: once on demand, or beside a server whose model is loaded anyway."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from m3_memory.declared_stores import MAIN
from m3_memory.domains.lifecycle.model import MaintenanceRequest
from m3_memory.domains.lifecycle.service.maintenance import maintain
from m3_memory.domains.memories.model import EMBED_JOB
from m3_memory.errors import EmbedderUnavailable, M3Error
from m3_memory.inference.embedder import EmbedderState
from m3_memory.kernel.caller import Caller
from m3_memory.storage import queue
from m3_memory.storage.scheduled_backup import RETRY_SECONDS, back_up_when_due, schedule_of
from m3_memory.toolbox import JOBS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from m3_memory.app import App
    from m3_memory.storage.database import Database

LOCK = "worker"
TIDYING = "maintenance"
AGENT = "worker"
NEEDS_MODEL = frozenset({EMBED_JOB})
"""Kinds of jobs that wait as long as there is no model, rather than fail."""

_LOAD_SECONDS = 30.0


def run_once(app: App, lease_seconds: float = queue.LEASE_SECONDS, store: str = "") -> dict[str, Any]:
    """Does every job that is due: {done, failed, waiting, running, dead}, and `because` where some wait.

    In the store of that name; in the app's own if none is given.

    The work is everybody's, what waits, runs and is dead are counted of the settings' user alone. One process
    at a time: while another works, nothing is done here. A job that takes long keeps its lease. Raises
    StoreReadOnly where the lock can't be made, and the other Unavailable errors of the store.
    """
    found: dict[str, Any] = {"done": 0, "failed": 0}
    app.embedder.get(_LOAD_SECONDS)
    name = store or app.store
    database = app.stores.database(name)
    with database.exclusive(LOCK) as alone:
        worker = f"{socket.gethostname()}:{os.getpid()}"
        while alone and (claimed := queue.claim(database, worker, _kinds(app), lease_seconds)):
            if came := _worked(app, name, claimed, lease_seconds):
                found[came] += 1
    with database.read(app.settings.user_id) as reader:
        left = queue.counts(reader)
    found |= left
    if not alone:
        return found | {"because": "another process works off the queue"}
    if left["waiting"] and not _has_model(app):
        return found | {"because": f"no model: {app.embedder.reason}"}
    if left["running"]:
        return found | {
            "because": "a worker that ended in the middle holds its jobs until their lease is over"
        }
    return found


def _has_model(app: App) -> bool:
    return app.embedder.state is EmbedderState.READY


def _kinds(app: App) -> list[str]:
    """The kinds of jobs that can be done now; a model on a server may go away in the middle."""
    return [kind for kind in JOBS if kind not in NEEDS_MODEL or _has_model(app)]


def work_once(app: App) -> dict[str, Any]:
    """Does the jobs that are due, as `run_once`, and makes a backup if one is due, told as `backup`.

    Those of the other stores that are there and may be written are done too, and told as `stores`: by name,
    each as `run_once` tells, or {error, message} of one that can't be reached. Raises as `run_once`; what
    stands in the way of the backup is told as `backup_failed`.
    """
    found = run_once(app) | _tidied(app, app.store)
    others = {name: _tried_once(app, name) for name in _writable(app) if name != app.store}
    found |= {"stores": others} if others else {}
    try:
        made = back_up_when_due(app.stores.database(MAIN), schedule_of(app.settings))
    except M3Error as error:
        return found | {"backup_failed": f"{error.message}; {error.hint}"}
    return found | ({"backup": str(made)} if made else {})


def _writable(app: App) -> list[str]:
    """The stores that are there, as far as that can be told without opening them, and may be written."""
    return [
        store.name
        for store in app.stores.declared.values()
        if not store.read_only and (not store.is_file or Path(store.location).exists())
    ]


def _tidied(app: App, store: str) -> dict[str, Any]:
    """What maintenance found to do in a store, as `maintenance`; nothing where it found nothing.

    One process at a time: while another is at it, nothing is done here.
    """
    caller = Caller(app.settings.user_id, AGENT, AGENT, surface=AGENT)
    with app.stores.database(store).exclusive(TIDYING) as alone:
        if not alone:
            return {}
        done = maintain(app.context(caller).at(store), MaintenanceRequest(whole=True))
    told = {name: count for name, count in vars(done).items() if count and name in done.COUNTED}
    return {"maintenance": told} if told else {}


def _tried_once(app: App, store: str) -> dict[str, Any]:
    try:
        return run_once(app, store=store) | _tidied(app, store)
    except M3Error as error:
        return {"error": error.code, "message": error.message}


def _work_in_open_stores(app: App) -> None:
    for name in set(app.stores.opened) & set(_writable(app)):
        with suppress(M3Error):
            run_once(app, store=name)


def _tidy_open_stores(app: App) -> None:
    for name in set(app.stores.opened) & set(_writable(app)):
        with suppress(M3Error):
            _tidied(app, name)


class _Chore(NamedTuple):
    """Something a server does beside its calls, and how long it leaves it alone, after that and at first."""

    run: Callable[[App], object]
    pause_seconds: float
    needs_model: bool = False
    first_after_seconds: float = 0.0


def _back_up(app: App) -> None:
    if MAIN in app.stores.opened:  # a backup is no reason to open, or make, a store
        back_up_when_due(app.stores.opened[MAIN], schedule_of(app.settings), RETRY_SECONDS)


_CHORES = (
    _Chore(_work_in_open_stores, 2.0, needs_model=True),
    _Chore(_back_up, 600.0),
    _Chore(_tidy_open_stores, 3600.0, first_after_seconds=300.0),
)


class BackgroundWork:
    """What a server does in a thread of its own, after calls: jobs while the model is loaded, and backups."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._not_before_seconds: dict[_Chore, float] = {}

    def after_call(self, app: App) -> None:
        """Starts on whatever was not done just now, unless that still runs; returns at once."""
        ready, now = _has_model(app), app.clock.monotonic()
        chores = [
            chore
            for chore in _CHORES
            if now >= self._not_before_seconds.setdefault(chore, now + chore.first_after_seconds)
            and (ready or not chore.needs_model)
        ]
        if chores and self._busy.acquire(blocking=False):
            threading.Thread(target=self._round, args=(app, chores), name="m3-worker", daemon=True).start()

    def _round(self, app: App, chores: Sequence[_Chore]) -> None:
        try:
            for chore in chores:
                self._tried(app, chore)
        finally:
            self._busy.release()

    def _tried(self, app: App, chore: _Chore) -> None:
        try:
            chore.run(app)
        except Exception:
            return  # the store is not to be had now, or a row of it is damaged; the next call tries again
        finally:
            self._not_before_seconds[chore] = app.clock.monotonic() + chore.pause_seconds


def _worked(app: App, store: str, claimed: queue.Claim, lease_seconds: float) -> str:
    """Runs one job with the rights of whom it acts for: `done`, or `failed` and waiting for another attempt.

    Empty where the model went away: the job then waits as it did, and no attempt counts.
    """
    caller = Caller(claimed.user_id, AGENT, AGENT, surface=AGENT, grants=frozenset({"produce"}))
    database = app.stores.database(store)
    try:
        with _kept(database, claimed, lease_seconds):
            storing = JOBS[claimed.kind](app.context(caller).at(store), claimed.payload)
        with database.write(claimed.user_id) as writer:
            if queue.finish(writer, claimed):
                storing(writer)
    except Exception as error:
        if isinstance(error, EmbedderUnavailable) and not _has_model(app):
            queue.put_back(database, claimed)
            return ""
        queue.fail(database, claimed, f"{type(error).__name__}: {error}")
        return "failed"
    return "done"


@contextmanager
def _kept(database: Database, claimed: queue.Claim, lease_seconds: float) -> Generator[None]:
    """Prolongs the claim's lease, three times while it lasts, for as long as the block runs."""
    done = threading.Event()

    def prolong() -> None:
        while not done.wait(lease_seconds / 3):
            with suppress(M3Error):  # the store is not to be had now; the lease holds for two more tries
                queue.heartbeat(database, claimed, lease_seconds)

    thread = threading.Thread(target=prolong, name="m3-worker-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
