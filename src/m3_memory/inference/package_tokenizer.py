"""Tokenizers that are not ours, such as SentencePiece's, through the optional package `tokenizers`."""

from __future__ import annotations

from pathlib import Path

from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.wordpiece import Word


class PackageTokenizer:
    """Reads a `tokenizer.json` of any kind. Special pieces that stand in a text are read as text, unless the
    vocabulary itself makes them of it.

    Raises EmbedderUnavailable where the package is missing, and its own errors for a file it can't read.
    """

    def __init__(self, file: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EmbedderUnavailable(
                f"the tokenizer of the model in {file.parent} needs the package tokenizers",
                "pip install 'm3-memory[tokenizers]' into the same environment",
            ) from error
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        bare = self._tokenizer.encode("a", add_special_tokens=False).ids
        around = self._tokenizer.encode("a").ids
        start = around.index(bare[0]) if bare and bare[0] in around else len(around)
        self.opening = tuple(around[:start])
        self.closing = tuple(around[start + len(bare) :])

    def words(self, text: str) -> list[Word]:
        """Each piece counts as a word; windows end between words where there is white space near."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [Word(*place, (piece,)) for piece, place in zip(found.ids, found.offsets, strict=True)]
