"""Where calls get the model: none, or one that is loaded in the background when first asked for.

Nothing is imported here that a start of the server has to wait for.
"""

from __future__ import annotations

import atexit
import math
import time
from collections.abc import Callable
from threading import TIMEOUT_MAX, Event, Lock, Thread

from m3_memory.config import Settings
from m3_memory.errors import M3Error
from m3_memory.inference.embedder import Embedder, EmbedderSource, EmbedderState

EXIT_WAIT_SECONDS = 5.0
ENDPOINT_RETRY_SECONDS = 15.0
"""An endpoint that failed is left alone for so long: no call waits for what was not there a moment ago."""


class NoEmbedder:
    """There is no model, and this is why."""

    state = EmbedderState.OFF

    def __init__(self, reason: str = "switched off by the settings") -> None:
        self.reason = reason

    def get(self, wait_seconds: float = 1.5) -> Embedder | None:
        del wait_seconds
        return None


class LazyEmbedder:
    """Runs `load` in a thread of its own when the model is first asked for. Nothing here raises.

    A load that fails, or a model that is lost later, is not tried again before `retry_seconds` are over, by
    default never: meanwhile `state` says failed and `reason` why.
    """

    def __init__(
        self,
        load: Callable[[], Embedder],
        retry_seconds: float = math.inf,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._retry_seconds = retry_seconds
        self._monotonic = monotonic
        self._retry_at = math.inf
        self._lock = Lock()
        self._finished = Event()
        self.state = EmbedderState.IDLE
        self.reason = ""
        self._embedder: Embedder | None = None

    def get(self, wait_seconds: float = 1.5) -> Embedder | None:
        with self._lock:
            again = self.state is EmbedderState.FAILED and self._monotonic() >= self._retry_at
            if again or self.state is EmbedderState.IDLE:
                self.state, self.reason, self._finished = EmbedderState.LOADING, "", Event()
                self._start()
            finished = self._finished
        finished.wait(min(max(wait_seconds, 0.0), TIMEOUT_MAX))
        return self._embedder

    def lose(self, error: Exception) -> None:
        """Says that the model, there until now, can't be used any more, and why."""
        with self._lock:
            if self.state is EmbedderState.READY:
                self._fail(error)

    def _start(self) -> None:
        thread = Thread(target=self._run, name="m3-embedder", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or the process is ending
            self._fail(error)
        else:
            # The interpreter's end, if it meets a thread inside native code, can abort the process. One that
            # waits for an endpoint runs none.
            if math.isinf(self._retry_seconds):
                atexit.register(thread.join, EXIT_WAIT_SECONDS)

    def _run(self) -> None:
        try:
            self._embedder = self._load()
        except Exception as error:  # loading is an edge: whatever is wrong, search goes on by words
            self._fail(error)
        else:
            self.state = EmbedderState.READY
            self._finished.set()

    def _fail(self, error: Exception) -> None:
        self._embedder = None
        self.reason = _sentence(error)
        self._retry_at = self._monotonic() + self._retry_seconds
        self.state = EmbedderState.FAILED
        self._finished.set()


def _sentence(error: Exception) -> str:
    if isinstance(error, M3Error):
        return "; ".join(part for part in (error.message, error.hint) if part)
    return f"the model could not be loaded: {type(error).__name__}: {error}"


def open_embedder(settings: Settings) -> EmbedderSource:
    """The source that the settings name. Loads nothing yet."""
    if settings.embedder == "off":
        return NoEmbedder()
    retry_seconds = ENDPOINT_RETRY_SECONDS if settings.embedder == "endpoint" else math.inf
    source = LazyEmbedder(lambda: _load(settings, source.lose), retry_seconds)
    return source


def _load(settings: Settings, lost: Callable[[Exception], None]) -> Embedder:
    match settings.embedder:
        case "endpoint":
            from m3_memory.inference.endpoint import Endpoint

            return Endpoint(settings, lost)
        case "folder":
            from m3_memory.inference.folder import open_folder

            return open_folder(settings)
        case "hashing":
            from m3_memory.inference.hashing import HashingEmbedder

            return HashingEmbedder()
        case _:
            from m3_memory.inference.minilm.model import MiniLm

            return MiniLm.load()
