"""all-MiniLM-L6-v2, quantised to int8, run by onnxruntime on the processor.

The files beside this one are made by `dev/build_minilm.py`. The start of a server never imports this module.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.embedder import Fingerprint
from m3_memory.inference.windows import windows
from m3_memory.inference.wordpiece import Word, WordPiece

FOLDER = Path(__file__).parent
OVERLAP_PIECES = 48
TEXT_RULES = "wordpiece-uncased windows-254-48"

_FATAL = 4  # onnxruntime's least talkative level
_REINSTALL = "reinstall m3-memory"


class Session(Protocol):
    """All that is used of onnxruntime's session."""

    def run(self, output_names: Sequence[str], input_feed: Mapping[str, NDArray[np.int32]]) -> list[Any]: ...


class MiniLm:
    """An `Embedder` of 384 dimensions that reads 254 word pieces at a time.

    Texts are run one by one: a vector depends on its text alone, never on what was embedded with it, and
    memory stays small. On a processor that costs next to nothing (decision record 0020). Runs take turns.
    """

    def __init__(
        self, session: Session, tokenizer: WordPiece, fingerprint: Fingerprint, max_tokens: int
    ) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._fingerprint = fingerprint
        self._capacity = max_tokens - 2  # the opening and the closing piece
        self._turn = Lock()

    @classmethod
    def load(cls, folder: Path = FOLDER, threads: int = 2) -> MiniLm:
        """Reads the model in `folder`, once its digests are checked, to run on at most `threads` threads.

        Raises EmbedderUnavailable: a file is missing or damaged, or onnxruntime cannot be had here.
        """
        manifest = _manifest(folder)
        for name, digest in manifest["sha256"].items():
            _check(folder / name, digest)
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        fingerprint = Fingerprint(
            manifest["name"], manifest["sha256"]["model.onnx"], manifest["dimension"], TEXT_RULES
        )
        session = _session(folder / "model.onnx", threads)
        return cls(session, WordPiece(vocabulary), fingerprint, manifest["max_tokens"])

    @property
    def fingerprint(self) -> Fingerprint:
        return self._fingerprint

    def windows(self, text: str) -> list[str]:
        return windows(text, self._tokenizer.words(text), self._capacity, OVERLAP_PIECES)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """As promised by `Embedder`; a text of several windows gets the mean of their vectors."""
        return [self._whole(text) for text in texts]

    def _whole(self, text: str) -> bytes:
        words = self._tokenizer.words(text)
        parts = windows(text, words, self._capacity, OVERLAP_PIECES)
        if len(parts) == 1:
            return self._run(words).tobytes()
        total = np.sum([self._run(self._tokenizer.words(part)) for part in parts], axis=0, dtype=np.float32)
        return (total / np.linalg.norm(total)).astype("<f2").tobytes()

    def _run(self, words: Sequence[Word]) -> NDArray[np.float16]:
        pieces = [piece for word in words for piece in word.pieces]
        tokens = np.array([[self._tokenizer.opening, *pieces, self._tokenizer.closing]], np.int32)
        with self._turn:
            vectors = cast("list[NDArray[np.float16]]", self._session.run(["vector"], {"tokens": tokens}))
        return vectors[0][0].astype("<f2", copy=False)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        return cast("dict[str, Any]", json.loads((folder / "manifest.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise EmbedderUnavailable(f"the model's manifest in {folder} cannot be read", _REINSTALL) from error


def _check(file: Path, digest: str) -> None:
    try:
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(f"the model file {file} cannot be read", _REINSTALL) from error
    if found != digest:
        raise EmbedderUnavailable(f"the model file {file} does not match its digest", _REINSTALL)


def _session(model: Path, threads: int) -> Session:
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise EmbedderUnavailable("onnxruntime has no wheel here; searching by words only") from error
    except ImportError as error:
        raise EmbedderUnavailable(
            f"onnxruntime does not run here ({error}); searching by words only"
        ) from error
    onnxruntime.disable_telemetry_events()
    onnxruntime.set_default_logger_severity(_FATAL)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = max(1, min(threads, os.cpu_count() or 1))
    options.inter_op_num_threads = 1
    # The graph is written in fused operators: there is nothing to optimise, and loading is quicker so.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
