"""A model behind an OpenAI-compatible endpoint: Ollama, LM Studio, vLLM, llama.cpp, a provider's.

The server is asked for vectors and nothing else, and believed in nothing: order, number, length and values of
what it sends are checked.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from m3_memory.config import Settings
from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.embedder import Prefixes
from m3_memory.inference.http import Answer, NoAnswer, Passing, Server, TimeUp
from m3_memory.inference.windowed import Floats, Windowed, mean
from m3_memory.inference.wordpiece import Word

WINDOW_PIECES = 400
OVERLAP_PIECES = 60
BATCH_TEXTS = 32
LEAST_CHARACTERS = 64
"""Of a text that is halved because the server finds it too long; one no longer is refused instead."""

PAUSES_SECONDS = (0.25, 1.0)

_RUN = re.compile(r"[A-Za-z0-9]{1,60}|[^\sA-Za-z0-9]")
_TOO_LONG = re.compile(
    rb"context (?:length|size|window)|too (?:long|large|many tokens)|less than \d+ tokens", re.IGNORECASE
)
_READ_BYTES = 4096
_LENGTH_STATUSES = frozenset({400, 413, 422, 500})
_LASTING_STATUSES = {
    401: "asks for a key, or for another: set M3_EMBEDDER_API_KEY",
    403: "does not allow this",
    404: "knows no such address or model",
}
_HINT = "see that it runs and that embedder_url and embedder_model are right; m3 doctor tells more"
_WRONG = "answers otherwise than an embeddings endpoint does:"


class _TooLong(Exception):
    """The server says that a text is longer than the model reads."""


class _Refused(NoAnswer):
    """The server does not take this text; it may take another."""


class Endpoint(Windowed):
    """An `Embedder` that asks the server of the settings; making one raises EmbedderUnavailable.

    A text that the server finds too long gets the mean of its halves. Failures that may pass (no connection,
    429, 5xx) are tried again twice, within the time there is; a server that let its time pass, or asks for a
    pause, is not. When the server can't be used `lost` is told why, before EmbedderUnavailable is raised.
    """

    def __init__(
        self,
        settings: Settings,
        lost: Callable[[EmbedderUnavailable], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        prefixes = Prefixes(settings.embedder_query_prefix, settings.embedder_document_prefix)
        super().__init__(WINDOW_PIECES, OVERLAP_PIECES, prefixes)
        self._address = settings.embedder_address
        self._model = settings.embedder_model
        self._timeout_seconds = settings.timeout_seconds / 3
        self._lost = lost
        self._sleep = sleep
        self._dimension = 0
        self._pauses: tuple[float, ...] = ()  # who opens it tries again anyway
        try:
            self._server = Server(self._address, settings.embedder_api_key)
        except OSError as error:
            raise self._unavailable(f"is not to be found: {error}") from error
        self.fingerprint = self.probed(self._model, "characters")
        self._dimension = self.fingerprint.dimension
        self._pauses = PAUSES_SECONDS

    def words(self, text: str) -> list[Word]:
        """With more pieces than a tokenizer would make of them: nobody knows the model's own."""
        return [
            Word(match.start(), match.end(), (0,) * math.ceil((match.end() - match.start()) / 3))
            for match in _RUN.finditer(text)
        ]

    def vectors(self, texts: Sequence[str], seconds: float) -> list[Floats]:
        until = time.monotonic() + seconds
        batches = (texts[first : first + BATCH_TEXTS] for first in range(0, len(texts), BATCH_TEXTS))
        return [vector for batch in batches for vector in self._batch(batch, until)]

    def _batch(self, texts: Sequence[str], until: float) -> list[Floats]:
        try:
            return self._asked(texts, until)
        except _TooLong as error:
            if len(texts) > 1:
                return [vector for text in texts for vector in self._batch([text], until)]
            text, middle, shared = texts[0], len(texts[0]) // 2, len(texts[0]) // 16
            if len(text) <= LEAST_CHARACTERS:
                raise self._unavailable("finds a short text too long") from error
        halves = (text[: middle + shared], text[middle - shared :])
        return [mean([self._batch([half], until)[0] for half in halves])]

    def _asked(self, texts: Sequence[str], until: float) -> list[Floats]:
        """One vector a text, from one request or a few. Raises EmbedderUnavailable, _TooLong."""
        body = json.dumps({"model": self._model, "input": list(texts)}).encode()
        own = time.monotonic() + self._timeout_seconds
        for pause in (*self._pauses, math.inf):
            try:
                return self._read(_judged(self._server.post(body, min(own, until))), len(texts))
            except Passing as error:
                if time.monotonic() + pause >= min(own, until):
                    self._lose(error)
            except TimeUp as error:
                if until < own:  # it is the call that is in a hurry; the next one may not be
                    raise self._unavailable("does not answer in the time this call has") from error
                self._lose(error)
            except _Refused as error:
                raise self._unavailable(error) from error
            except NoAnswer as error:
                self._lose(error)
            self._sleep(pause)
        raise AssertionError("the last round returns or raises")

    def _read(self, body: bytes, count: int) -> list[Floats]:
        """The vectors in the order of the texts, at length one. Raises NoAnswer."""
        try:
            entries: list[dict[str, Any]] = json.loads(body)["data"]
            rows = {entry["index"]: entry["embedding"] for entry in entries}
            found = np.array([rows[place] for place in range(count)])
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise NoAnswer(f"{_WRONG} there is no list `data` with a vector for each text") from error
        if len(entries) != count:
            raise NoAnswer(f"{_WRONG} {len(entries)} vectors for {count} texts")
        if found.ndim != 2 or found.dtype.kind not in "iuf":
            raise NoAnswer(f"{_WRONG} a vector is no list of numbers")
        if found.shape[1] != (self._dimension or found.shape[1]):
            raise NoAnswer(f"{_WRONG} a vector has {found.shape[1]:,} values instead of {self._dimension:,}")
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or lengths.min() < 1e-9:
            raise NoAnswer(f"{_WRONG} a vector is zero, or not finite")
        return list((found / lengths).astype(np.float32))

    def _lose(self, problem: NoAnswer) -> NoReturn:
        error = self._unavailable(problem)
        self._lost(error)
        raise error from problem

    def _unavailable(self, problem: object) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"the endpoint {self._address.shown} {problem}", _HINT)


def _judged(answer: Answer) -> bytes:
    """The body of a good answer. Raises _TooLong, NoAnswer."""
    if answer.status == 200:
        return answer.body
    if answer.status in _LENGTH_STATUSES and _TOO_LONG.search(answer.body[:_READ_BYTES]):
        raise _TooLong
    if known := _LASTING_STATUSES.get(answer.status):
        raise NoAnswer(known)
    if 300 <= answer.status < 400:
        raise NoAnswer("sends elsewhere, which is not followed")
    if answer.status == 429 or answer.status >= 500:
        kind = NoAnswer if answer.asks_for_pause else Passing
        raise kind(f"answers with the status {answer.status}")
    raise _Refused(f"refuses the text with the status {answer.status}")
