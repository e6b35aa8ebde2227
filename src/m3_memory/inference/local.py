"""A model that runs in this process, whatever its tokenizer and its graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from m3_memory.inference.embedder import Prefixes
from m3_memory.inference.runtime import THREADS
from m3_memory.inference.windowed import Floats, Windowed
from m3_memory.inference.wordpiece import Word

OVERLAP_PIECES = 48


class Tokenizer(Protocol):
    """Text to words; `opening` and `closing` are what the model reads before and after them."""

    @property
    def opening(self) -> tuple[int, ...]: ...

    @property
    def closing(self) -> tuple[int, ...]: ...

    def words(self, text: str) -> list[Word]: ...


class LocalModel(Windowed):
    """An `Embedder`: windows are run one by one, several side by side.

    A vector depends on its text alone, never on what was embedded with it, and memory stays small. On a
    processor that costs nothing: there is no padding (decision record 0020).

    `run` makes a vector of the numbers of at most `capacity` pieces between opening and closing; it is called
    from several threads at once.
    """

    def __init__(
        self,
        run: Callable[[Sequence[int]], Floats],
        tokenizer: Tokenizer,
        capacity: int,
        prefixes: Prefixes = Prefixes(),
    ) -> None:
        self._run = run
        self._tokenizer = tokenizer
        self._pool = ThreadPoolExecutor(THREADS, "m3-embedder")
        super().__init__(capacity, OVERLAP_PIECES, prefixes)

    def words(self, text: str) -> list[Word]:
        return self._tokenizer.words(text)

    def vectors(self, texts: Sequence[str], seconds: float) -> list[Floats]:
        del seconds
        if len(texts) == 1:
            return [self._vector(texts[0])]
        return list(self._pool.map(self._vector, texts))

    def _vector(self, text: str) -> Floats:
        pieces = [piece for word in self.words(text) for piece in word.pieces]
        return self._run([*self._tokenizer.opening, *pieces, *self._tokenizer.closing])
