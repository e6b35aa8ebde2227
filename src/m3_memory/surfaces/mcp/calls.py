"""Tool calls in flight: a bounded pool of threads, and the session they share."""

from __future__ import annotations

import sys
import threading
from queue import SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from m3_memory.errors import M3Error
    from m3_memory.launch import Launch
    from m3_memory.surfaces.mcp.values import Object, OpenSession, RequestId, Session

WORKERS = 6
CLOSE_SECONDS = 0.3


class Call:
    """One accepted `tools/call`. `perform` runs it and returns the finished line."""

    def __init__(self, request_id: RequestId, perform: Callable[[Call], bytes]) -> None:
        self.id = request_id
        self.perform = perform
        self.cancelled = False

    def is_cancelled(self) -> bool:
        """Whether the client gave this call up."""
        return self.cancelled


class Pool:
    """Runs calls on at most six threads and queues the rest; threads start when first needed."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._queue: SimpleQueue[Call] = SimpleQueue()
        self._changed = threading.Condition()
        self._open: dict[RequestId, Call] = {}
        self._unfinished = 0
        self._threads = 0

    def submit(self, call: Call) -> bool:
        """Accepts a call; false while another one of the same id is in flight."""
        with self._changed:
            if call.id in self._open:
                return False
            self._open[call.id] = call
            self._unfinished += 1
            starts = self._threads < min(self._unfinished, WORKERS)
            self._threads += starts
        self._queue.put(call)
        if starts:
            threading.Thread(target=self._work, daemon=True).start()
        return True

    def cancel(self, request_id: RequestId | None) -> None:
        """Nothing more is sent for this call; one still queued never runs. Unknown ids are ignored."""
        with self._changed:
            if request_id is not None and (call := self._open.pop(request_id, None)):
                call.cancelled = True

    def drained(self, timeout_seconds: float) -> bool:
        """Waits for what was accepted; false when some of it is still running."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._unfinished, timeout_seconds)

    def _work(self) -> None:
        while True:
            call = self._queue.get()
            line = b"" if call.cancelled else call.perform(call)
            if self._settled(call):
                self._write(line)
            with self._changed:
                self._unfinished -= 1
                self._changed.notify_all()

    def _settled(self, call: Call) -> bool:
        with self._changed:
            return not call.cancelled and self._open.pop(call.id, None) is call


class SharedSession:
    """The product, opened by the first call that needs it; an opening that failed is tried again."""

    def __init__(self, launch: Launch, open_session: OpenSession) -> None:
        self._launch = launch
        self._open_session = open_session
        self._lock = threading.Lock()
        self._session: Session | None = None

    def get(self) -> Session:
        """The open session; what opening raises goes to the call that asked."""
        with self._lock:
            if self._session is None:
                self._session = self._open_session(self._launch)
            return self._session

    def close(self) -> None:
        """Closes it, without waiting for a native library that hangs."""
        if self._session:
            closing = threading.Thread(target=self._session.close, daemon=True)
            closing.start()
            closing.join(CLOSE_SECONDS)


class Failure:
    """The outcome of a call whose tool did not come to one."""

    structured: Object | None = None
    is_error = True

    def __init__(self, error: M3Error) -> None:
        import json

        found = {"code": error.code, "message": error.message, "hint": error.hint}
        self.text = json.dumps(found, ensure_ascii=False)

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """What an agent may know of an exception; the rest goes to standard error."""
        from m3_memory.errors import M3Error

        if isinstance(error, M3Error):
            return cls(error)
        report(error)
        return cls(M3Error("the call failed for a reason of our own", "the server's log has the details"))

    @classmethod
    def too_large(cls, size_bytes: int, limit_bytes: int) -> Failure:
        """What to tell of an answer that one message can't carry."""
        from m3_memory.errors import AnswerTooLarge

        return cls(
            AnswerTooLarge(
                f"the answer has {size_bytes:,} bytes; at most {limit_bytes:,} are sent",
                "ask for less: a smaller limit or k, a narrower filter, or one id at a time",
            )
        )


def report(error: BaseException) -> None:
    """Writes an unexpected exception to standard error."""
    import traceback

    traceback.print_exception(error, file=sys.stderr)
