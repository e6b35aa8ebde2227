"""Working off what waits in the queue: once on demand, or beside a server whose model is loaded anyway."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from m3_memory.domains.memories.model import EMBED_JOB
from m3_memory.errors import M3Error
from m3_memory.inference.embedder import EmbedderState
from m3_memory.kernel.caller import Caller
from m3_memory.storage import queue
from m3_memory.toolbox import JOBS

if TYPE_CHECKING:
    from collections.abc import Generator

    from m3_memory.app import App
    from m3_memory.storage.database import Database

LOCK = "worker"
AGENT = "worker"
NEEDS_MODEL = frozenset({EMBED_JOB})
"""Kinds of jobs that wait as long as there is no model, rather than fail."""

_LOAD_SECONDS = 30.0
_PAUSE_SECONDS = 2.0


def run_once(app: App, lease_seconds: float = queue.LEASE_SECONDS) -> dict[str, Any]:
    """Does every job that is due: {done, failed, waiting, running, dead}, and `because` where some wait.

    The work is everybody's, what waits, runs and is dead are counted of the settings' user alone. One process
    at a time: while another works, nothing is done here. A job that takes long keeps its lease. Raises
    StoreReadOnly where the lock can't be made, and the other Unavailable errors of the store.
    """
    done = failed = 0
    model = app.embedder.get(_LOAD_SECONDS) is not None
    kinds = [kind for kind in JOBS if model or kind not in NEEDS_MODEL]
    with app.database.exclusive(LOCK) as alone:
        worker = f"{socket.gethostname()}:{os.getpid()}"
        while alone and (claimed := queue.claim(app.database, worker, kinds, lease_seconds)):
            if _worked(app, claimed, lease_seconds):
                done += 1
            else:
                failed += 1
    with app.database.read(app.settings.user_id) as reader:
        left = queue.counts(reader)
    found: dict[str, Any] = {"done": done, "failed": failed} | left
    if not alone:
        return found | {"because": "another process works off the queue"}
    if left["waiting"] and not model:
        return found | {"because": f"no model: {app.embedder.reason}"}
    if left["running"]:
        return found | {
            "because": "a worker that ended in the middle holds its jobs until their lease is over"
        }
    return found


class BackgroundWork:
    """Works off the queue in one thread of a server, after calls, while the model is loaded."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._not_before_seconds = 0.0

    def after_call(self, app: App) -> None:
        """Starts a round unless one runs or ran just now; returns at once."""
        if app.embedder.state is not EmbedderState.READY or app.clock.monotonic() < self._not_before_seconds:
            return
        if self._busy.acquire(blocking=False):
            threading.Thread(target=self._round, args=(app,), name="m3-worker", daemon=True).start()

    def _round(self, app: App) -> None:
        try:
            run_once(app)
        except Exception:
            return  # the store is not to be had now, or a row of it is damaged; the next call tries again
        finally:
            self._not_before_seconds = app.clock.monotonic() + _PAUSE_SECONDS
            self._busy.release()


def _worked(app: App, claimed: queue.Claim, lease_seconds: float) -> bool:
    """Runs one job with the rights of whom it acts for; false if it failed and waits for another attempt."""
    caller = Caller(claimed.user_id, AGENT, AGENT, surface=AGENT, grants=frozenset({"produce"}))
    try:
        with _kept(app.database, claimed, lease_seconds):
            store = JOBS[claimed.kind](app.context(caller), claimed.payload)
        with app.database.write(claimed.user_id) as writer:
            if queue.finish(writer, claimed):
                store(writer)
    except Exception as error:
        queue.fail(app.database, claimed, f"{type(error).__name__}: {error}")
        return False
    return True


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
