"""A model from a folder that the user names: an ONNX export of a sentence encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from m3_memory.config import Settings
from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.embedder import Prefixes
from m3_memory.inference.local import LocalModel, Tokenizer
from m3_memory.inference.model_files import ModelFiles, Pooling
from m3_memory.inference.runtime import open_session
from m3_memory.inference.windowed import Floats, mean
from m3_memory.setting import expanded

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, NodeArg

MARGIN_TOKENS = 8
"""Left free: some tokenizers make a piece or two more of a text that begins where another was cut."""

NAME = "folder"
_POOLED = ("sentence_embedding", "sentence_embeddings")
_TOKENS = ("last_hidden_state", "token_embeddings")
_TYPES: dict[str, type[np.signedinteger[Any]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_EXPORT = "export the model for feature extraction"

# What each input that a text encoder may have is fed with, by the numbers of the pieces.
_INPUTS: dict[str, Callable[[NDArray[np.int64]], NDArray[np.int64]]] = {
    "input_ids": lambda tokens: tokens,
    "attention_mask": np.ones_like,
    "token_type_ids": np.zeros_like,
    "position_ids": lambda tokens: np.arange(tokens.size, dtype=np.int64)[None],
}


def open_folder(settings: Settings) -> LocalModel:
    """The model in the folder of the settings, whose prefixes, where empty, are the model's own.

    Raises EmbedderUnavailable, which names the file that is missing or not understood.
    """
    files = ModelFiles(expanded(settings.embedder_folder))
    file = files.model()
    session = open_session(file, is_ours=False)
    output, is_pooled = _output(session.get_outputs(), file)
    pooling = None if is_pooled else files.pooling()
    tokenizer = files.tokenizer()
    run = _runner(session, _inputs(session.get_inputs(), file), output, pooling)
    capacity = files.max_tokens() - len(tokenizer.opening) - len(tokenizer.closing) - MARGIN_TOKENS
    _try(run, tokenizer, capacity, file)
    own = files.prefixes()
    query, document = settings.embedder_query_prefix, settings.embedder_document_prefix
    model = LocalModel(run, tokenizer, capacity, Prefixes(query or own.query, document or own.document))
    model.fingerprint = model.probed(NAME, pooling or "pooled")
    return model


def _output(ports: Sequence[NodeArg], model: Path) -> tuple[str, bool]:
    """The output that holds the vector of the text, or those of its tokens, and whether it is the former."""
    names = {port.name: len(port.shape) for port in ports}
    if list(names.values()) == [2]:
        return ports[0].name, True
    for name, axes in (*((name, 2) for name in _POOLED), *((name, 3) for name in (*_TOKENS, *names))):
        if names.get(name) == axes:
            return name, axes == 2
    raise EmbedderUnavailable(f"{model} has no output that holds vectors of a text or its tokens", _EXPORT)


def _inputs(ports: Sequence[NodeArg], model: Path) -> dict[str, type[np.signedinteger[Any]]]:
    """The type of each input. Raises EmbedderUnavailable for a model that wants more than a text."""
    unknown = [port.name for port in ports if port.name not in _INPUTS or port.type not in _TYPES]
    if unknown or not ports:
        raise EmbedderUnavailable(f"{model} wants the input {', '.join(unknown) or 'of no text'}", _EXPORT)
    return {port.name: _TYPES[port.type] for port in ports}


def _runner(
    session: InferenceSession,
    inputs: dict[str, type[np.signedinteger[Any]]],
    output: str,
    pooling: Pooling | None,
) -> Callable[[Sequence[int]], Floats]:
    def run(numbers: Sequence[int]) -> Floats:
        tokens = np.array([numbers], np.int64)
        given = {name: _INPUTS[name](tokens).astype(kind) for name, kind in inputs.items()}
        found: Floats = session.run([output], given)[0][0].astype(np.float32)
        match pooling:
            case None:
                return found
            case Pooling.CLS:
                return found[0]
            case Pooling.MEAN:
                return found.mean(axis=0)

    return run


def _try(run: Callable[[Sequence[int]], Floats], tokenizer: Tokenizer, capacity: int, model: Path) -> None:
    """Raises EmbedderUnavailable for a model that can't read as much as it should be able to."""
    if capacity < 16:
        raise EmbedderUnavailable(f"{model} reads too little text at once", "choose another model")
    piece = tokenizer.words("a")[0].pieces[0]
    for count in (1, capacity + MARGIN_TOKENS):
        mean([run([*tokenizer.opening, *([piece] * count), *tokenizer.closing])])
