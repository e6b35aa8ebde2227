"""What all models have in common that read a text in windows, wherever they run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import sha256
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.embedder import Prefixes
from m3_memory.inference.windows import windows
from m3_memory.inference.wordpiece import Word
from m3_memory.kernel.fingerprint import Fingerprint, probe_digest

MOST_VALUES = 16_000
"""Of a vector: no store on PostgreSQL keeps a longer one, and every write would fail for it."""

_PROBED_VALUES = 256
_PROBES = (
    "The meeting about the release moved from Tuesday to Friday morning.",
    "def area(width: float, height: float) -> float: return width * height",
    "A bright orange cat slept on the warm kitchen floor all afternoon.",
    "Error 503: the upstream server did not answer within thirty seconds.",
)

Floats: TypeAlias = NDArray[np.float32]


class Windowed(ABC):
    """An `Embedder` whose windows hold at most `capacity` word pieces and share at most `overlap`.

    A text of several windows gets the mean of their vectors. Who derives from it says what the words of a
    text are, makes the vectors, and sets the fingerprint. Raises EmbedderUnavailable for prefixes that leave
    too little room.
    """

    fingerprint: Fingerprint

    def __init__(self, capacity: int, overlap: int, prefixes: Prefixes) -> None:
        self._prefixes = prefixes
        longest = max(sum(len(word.pieces) for word in self.words(prefix)) for prefix in prefixes)
        if longest > capacity // 2:
            raise EmbedderUnavailable("what the model is to read before a text is too long", "shorten it")
        self._capacity = capacity - longest
        self._overlap = overlap

    @abstractmethod
    def words(self, text: str) -> list[Word]: ...

    @abstractmethod
    def vectors(self, texts: Sequence[str], seconds: float) -> list[Floats]:
        """One vector of any length but none for each text, which fits the model whole."""
        ...

    def windows(self, text: str) -> list[str]:
        return windows(text, self.words(text), self._capacity, self._overlap)

    def embed(self, texts: Sequence[str], seconds: float = math.inf) -> list[bytes]:
        return self._whole(texts, self._prefixes.document, seconds)

    def embed_query(self, text: str, seconds: float = math.inf) -> bytes:
        return self._whole([text], self._prefixes.query, seconds)[0]

    def _whole(self, texts: Sequence[str], prefix: str, seconds: float) -> list[bytes]:
        parts = [self.windows(text) for text in texts]
        found = iter(self.vectors([prefix + part for each in parts for part in each], seconds))
        return [mean(list(islice(found, len(each)))).astype("<f2").tobytes() for each in parts]

    def probed(self, name: str, rules: str) -> Fingerprint:
        """The fingerprint of a model that has none: it is told by what it makes of fixed texts.

        Raises EmbedderUnavailable for vectors that are too long to be kept.
        """
        found = self.vectors(_PROBES, math.inf)
        if len(found[0]) > MOST_VALUES:
            raise EmbedderUnavailable(
                f"the model's vectors have {len(found[0]):,} values; the limit is {MOST_VALUES:,}",
                "choose another model",
            )
        digest = probe_digest([float(value) for vector in found for value in vector[:_PROBED_VALUES]])
        rules += f" windows-{self._capacity}-{self._overlap}"
        if prefix := self._prefixes.document:
            rules += f" prefix-{sha256(prefix.encode()).hexdigest()[:16]}"
        return Fingerprint(name, digest, len(found[0]), rules)


def mean(vectors: Sequence[Floats]) -> Floats:
    """The mean of the directions of some vectors, at length one. Raises EmbedderUnavailable."""
    total: Floats = np.stack([_unit(vector) for vector in vectors]).sum(axis=0)
    return _unit(total)


def _unit(vector: Floats) -> Floats:
    length = np.linalg.norm(vector)
    if vector.ndim != 1 or not 0 < length < math.inf:
        raise EmbedderUnavailable("the model makes no usable vector of a text", "choose another model")
    return vector / np.float32(length)
