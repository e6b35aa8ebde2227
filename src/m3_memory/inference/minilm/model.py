"""all-MiniLM-L6-v2, quantised to int8, run by onnxruntime on the processor.

The files beside this one are made by `dev/build_minilm.py`. The start of a server never imports this module.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.local import LocalModel
from m3_memory.inference.runtime import open_session
from m3_memory.inference.windowed import Floats
from m3_memory.inference.wordpiece import WordPiece
from m3_memory.kernel.fingerprint import Fingerprint

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

FOLDER = Path(__file__).parent
TEXT_RULES = "wordpiece-uncased windows-254-48"

_REINSTALL = "reinstall m3-memory"


class MiniLm(LocalModel):
    """An `Embedder` of 384 dimensions that reads 254 word pieces at a time."""

    @classmethod
    def load(cls, folder: Path = FOLDER) -> MiniLm:
        """Reads the model in `folder`, once its digests are checked.

        Raises EmbedderUnavailable: a file is missing or damaged, or onnxruntime cannot be had here.
        """
        manifest = _checked(folder)
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        session = open_session(folder / "model.onnx", is_ours=True)
        capacity = manifest["max_tokens"] - 2  # the opening and the closing piece
        model = cls(_runner(session), WordPiece(vocabulary), capacity)
        digest = manifest["sha256"]["model.onnx"]
        model.fingerprint = Fingerprint(manifest["name"], digest, manifest["dimension"], TEXT_RULES)
        return model


def _runner(session: InferenceSession) -> Callable[[Sequence[int]], Floats]:
    def run(tokens: Sequence[int]) -> Floats:
        given = np.array([tokens], np.int32)
        vectors = cast("list[NDArray[np.float16]]", session.run(["vector"], {"tokens": given}))
        return vectors[0][0].astype(np.float32)

    return run


def _checked(folder: Path) -> dict[str, Any]:
    """The manifest, once the files are those that it names."""
    try:
        manifest = cast("dict[str, Any]", json.loads((folder / "manifest.json").read_text(encoding="utf-8")))
        for name, digest in manifest["sha256"].items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
                raise EmbedderUnavailable(f"{folder / name} does not match its digest", _REINSTALL)
    except (OSError, ValueError) as error:
        raise EmbedderUnavailable(f"the model in {folder} can't be read: {error}", _REINSTALL) from error
    return manifest
