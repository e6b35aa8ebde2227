"""The other side: who it says it is, and the one thing we ask it for."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from m3_memory.surfaces.mcp.values import Json, Object, Outcome

ROOTS_SECONDS = 2.0


class Questions:
    """Requests of our own. A worker waits for the answer while the reader goes on reading."""

    def __init__(self, send: Callable[[Object], None]) -> None:
        self._send = send
        self._waiting: dict[Json, SimpleQueue[Json]] = {}
        self._asked = 0
        self._lock = threading.Lock()

    def ask(self, method: str, timeout_seconds: float, params: Object | None = None) -> Json:
        """The result, or None on an error or on silence."""
        answer: SimpleQueue[Json] = SimpleQueue()
        with self._lock:
            self._asked += 1
            question = f"m3-{self._asked}"
            self._waiting[question] = answer
        message: Object = {"jsonrpc": "2.0", "id": question, "method": method}
        if params is not None:
            message["params"] = params
        self._send(message)
        try:
            return answer.get(timeout=timeout_seconds)
        except Empty:
            return None
        finally:
            self._waiting.pop(question, None)

    def answered(self, message: Object) -> None:
        """Takes a response; one nobody waits for is ignored."""
        question = message.get("id")
        if isinstance(question, str) and (answer := self._waiting.get(question)):
            answer.put(message.get("result"))

    def abandon(self) -> None:
        """No more answers will come."""
        for answer in list(self._waiting.values()):
            answer.put(None)


class KnownClient:
    """A client as it introduced itself."""

    def __init__(self, info: Json, roots: Callable[[], tuple[str, ...]] = tuple) -> None:
        known = info if isinstance(info, dict) else {}
        self.name = _text(known.get("name"))
        self.version = _text(known.get("version"))
        self._roots = roots

    @property
    def roots(self) -> tuple[str, ...]:
        """See `values.Client`."""
        return self._roots()


class Connection:
    """What one `initialize` agreed on, and what followed from it."""

    def __init__(self, revision: int, info: Json, capabilities: Json, questions: Questions) -> None:
        self.revision = revision
        self.client = KnownClient(info, self._known_roots)
        self.is_ready = False
        self.loaded: frozenset[str] = frozenset()
        self._capabilities = capabilities
        self._all_questions = questions
        self._prompting = threading.Lock()
        offers_roots = isinstance(capabilities, dict) and isinstance(capabilities.get("roots"), dict)
        self._questions = questions if offers_roots else None
        self._roots: tuple[str, ...] | None = None
        self._lock = threading.Lock()

    def forget_roots(self) -> None:
        """The client's roots changed; the next read asks again."""
        self._roots = None

    def elicited(self, arguments: Object, outcome: Outcome) -> str:
        """What whoever sits at the client decides about what the outcome contradicts; "" for nothing.

        One prompt at a time: who would have to wait for another's answer is not asked.
        """
        from m3_memory.surfaces.mcp import elicitation

        if not (self.is_ready and elicitation.offers_forms(self._capabilities, self.revision)):
            return ""
        form = elicitation.question(arguments, outcome, self.revision)
        if form is None or not self._prompting.acquire(blocking=False):
            return ""
        try:
            found = self._all_questions.ask("elicitation/create", elicitation.WAIT_SECONDS, form)
            return elicitation.decision(found)
        finally:
            self._prompting.release()

    def _known_roots(self) -> tuple[str, ...]:
        if not (self._questions and self.is_ready):
            return ()
        with self._lock:
            roots = self._roots
            if roots is None:
                roots = self._roots = _root_uris(self._questions.ask("roots/list", ROOTS_SECONDS))
            return roots


def _root_uris(result: Json) -> tuple[str, ...]:
    roots = result.get("roots") if isinstance(result, dict) else None
    entries = roots if isinstance(roots, list) else []
    uris = (_text(entry.get("uri")) for entry in entries if isinstance(entry, dict))
    return tuple(filter(None, uris))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
