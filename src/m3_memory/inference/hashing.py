"""A model without weights: hashed words. For tests, and where equal words are meaning enough."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from zlib import crc32

from m3_memory.inference.windows import windows
from m3_memory.inference.wordpiece import Word
from m3_memory.kernel.fingerprint import Fingerprint

DIMENSION = 256
WINDOW_WORDS = 200
OVERLAP_WORDS = 40

_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Adds one signed unit for each word at a place that the word's CRC-32 names.

    The same text gives the same vector in every process and on every machine. Texts with common words
    are near each other; nothing else is.

    Source: K. Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (2009).
    """

    fingerprint = Fingerprint("hashing", "crc32", DIMENSION, "words-200-40")

    def windows(self, text: str) -> list[str]:
        words = [Word(match.start(), match.end(), (0,)) for match in _WORD.finditer(text)]
        return windows(text, words, WINDOW_WORDS, OVERLAP_WORDS)

    def embed(self, texts: Sequence[str], seconds: float = math.inf) -> list[bytes]:
        del seconds
        return [_vector(text) for text in texts]

    def embed_query(self, text: str, seconds: float = math.inf) -> bytes:
        del seconds
        return _vector(text)


def _vector(text: str) -> bytes:
    sums = [0] * DIMENSION
    for word in _WORD.findall(text.lower()):
        digest = crc32(word.encode("utf-8", "surrogatepass"))
        sums[digest % DIMENSION] += 1 if digest & 0x8000_0000 else -1
    if not any(sums):
        sums[0] = 1  # no words, or words that cancel: still a unit vector
    length = math.sqrt(sum(value * value for value in sums))
    return struct.pack(f"<{DIMENSION}e", *(value / length for value in sums))
