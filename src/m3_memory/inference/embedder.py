"""What an embedding model promises, and how a call gets hold of one that may still be loading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Names an embedding space: vectors of different fingerprints are never compared."""

    name: str
    weights_digest: str
    dimension: int
    text_rules: str


class Embedder(Protocol):
    """A loaded model. Safe to call from several threads."""

    @property
    def fingerprint(self) -> Fingerprint: ...

    def windows(self, text: str) -> list[str]:
        """The text as overlapping pieces that each fit the model whole; at least one."""
        ...

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One unit-length vector per text: `dimension` little-endian float16 values."""
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
