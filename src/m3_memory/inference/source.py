"""Where calls get the model: none, or one that is loaded in the background when first asked for.

Nothing is imported here that a start of the server has to wait for.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from threading import TIMEOUT_MAX, Event, Lock, Thread

from m3_memory.errors import InvalidArgument, M3Error
from m3_memory.inference.embedder import Embedder, EmbedderSource, EmbedderState

NAMES = ("minilm", "hashing", "off")
EXIT_WAIT_SECONDS = 5.0


class NoEmbedder:
    """There is no model, and this is why."""

    state = EmbedderState.OFF

    def __init__(self, reason: str = "switched off by the settings") -> None:
        self.reason = reason

    def get(self, wait_seconds: float = 1.5) -> Embedder | None:
        del wait_seconds
        return None


class LazyEmbedder:
    """Runs `load` once, in a thread of its own, when the model is first asked for.

    A load that fails is not tried again: `state` says failed and `reason` why. Nothing here raises.
    """

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._lock = Lock()
        self._finished = Event()
        self._state = EmbedderState.IDLE
        self._reason = ""
        self._embedder: Embedder | None = None

    @property
    def state(self) -> EmbedderState:
        return self._state

    @property
    def reason(self) -> str:
        return self._reason

    def get(self, wait_seconds: float = 1.5) -> Embedder | None:
        with self._lock:
            if self._state is EmbedderState.IDLE:
                self._state = EmbedderState.LOADING
                self._start()
        self._finished.wait(min(max(wait_seconds, 0.0), TIMEOUT_MAX))
        return self._embedder

    def _start(self) -> None:
        thread = Thread(target=self._run, name="m3-embedder", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or the process is ending
            self._fail(error)
        else:
            # A daemon thread that the interpreter's end meets inside native code can abort the process.
            atexit.register(thread.join, EXIT_WAIT_SECONDS)

    def _run(self) -> None:
        try:
            self._embedder = self._load()
        except Exception as error:  # loading is an edge: whatever is wrong, search goes on by words
            self._fail(error)
        else:
            self._state = EmbedderState.READY
            self._finished.set()

    def _fail(self, error: Exception) -> None:
        self._reason = _sentence(error)
        self._state = EmbedderState.FAILED
        self._finished.set()


def _sentence(error: Exception) -> str:
    if isinstance(error, M3Error):
        return "; ".join(part for part in (error.message, error.hint) if part)
    return f"the model could not be loaded: {type(error).__name__}: {error}"


def open_embedder(name: str, threads: int = 2) -> EmbedderSource:
    """The source that the setting `name` names: `minilm`, `hashing` or `off`. Loads nothing yet.

    `threads` (1 or more) is the number of processor threads the model may use.
    """
    match name:
        case "minilm":
            return LazyEmbedder(lambda: _minilm(threads))
        case "hashing":
            return LazyEmbedder(_hashing)
        case "off":
            return NoEmbedder()
        case _:
            raise InvalidArgument(f"no embedder is named {name!r}", f"one of: {', '.join(NAMES)}")


def _minilm(threads: int) -> Embedder:
    from m3_memory.inference.minilm.model import MiniLm

    return MiniLm.load(threads=threads)


def _hashing() -> Embedder:
    from m3_memory.inference.hashing import HashingEmbedder

    return HashingEmbedder()
