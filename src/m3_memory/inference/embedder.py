"""What an embedding model promises, and how a call gets hold of one that may still be loading."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from m3_memory.kernel.fingerprint import Fingerprint


class Prefixes(NamedTuple):
    """What some models want to read before a question, and before a text that is to be found."""

    query: str = ""
    document: str = ""


class Embedder(Protocol):
    """A loaded model. Safe to call from several threads.

    A model on a server may not answer within `seconds`, or at all: `embed` and `embed_query` then raise
    EmbedderUnavailable. One that runs in this process takes the time it takes.
    """

    @property
    def fingerprint(self) -> Fingerprint: ...

    def windows(self, text: str) -> list[str]:
        """The text as overlapping pieces that each fit the model whole; at least one."""
        ...

    def embed(self, texts: Sequence[str], seconds: float = math.inf) -> list[bytes]:
        """One unit-length vector per text to be found: `dimension` little-endian float16 values."""
        ...

    def embed_query(self, text: str, seconds: float = math.inf) -> bytes:
        """The vector of a question, to be compared with those of texts."""
        ...


class EmbedderState(StrEnum):
    OFF = "off"  # switched off by the settings
    IDLE = "idle"  # nobody asked for a vector yet
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class EmbedderSource(Protocol):
    """Where a call asks for the model."""

    @property
    def state(self) -> EmbedderState: ...

    @property
    def reason(self) -> str:
        """Why there is no model (off, failed), in one sentence; empty otherwise."""
        ...

    def get(self, wait_seconds: float = 1.5) -> Embedder | None:
        """The model, loading it if need be; None if it is not there within the wait."""
        ...
