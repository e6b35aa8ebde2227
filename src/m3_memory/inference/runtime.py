"""onnxruntime, as this product starts it: quietly, on the processor, without telemetry."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from m3_memory.errors import EmbedderUnavailable

THREADS = min(4, os.cpu_count() or 1)
_FATAL = 4  # its least talkative level
_CONFINES_WEIGHTS = (1, 24)


class Port(Protocol):
    """One input or output of a graph. `type` is such as `tensor(int64)`; an open size is no number."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def shape(self) -> Sequence[int | str | None]: ...


class Session(Protocol):
    """All that is used of onnxruntime's session. Safe to run from several threads at once."""

    def run(self, output_names: Sequence[str], input_feed: Mapping[str, NDArray[Any]]) -> list[Any]: ...

    def get_inputs(self) -> Sequence[Port]: ...

    def get_outputs(self) -> Sequence[Port]: ...


def open_session(model: Path, *, is_ours: bool) -> Session:
    """A session whose runs share a few threads. A model that is not ours is optimised first.

    Raises EmbedderUnavailable where onnxruntime can't be had, and onnxruntime's own errors for a file that is
    no model it can run, or that takes weights from outside of its folder.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise EmbedderUnavailable("onnxruntime has no wheel here; searching by words only") from error
    except ImportError as error:
        raise EmbedderUnavailable(
            f"onnxruntime does not run here ({error}); searching by words only"
        ) from error
    version = onnxruntime.__version__
    if not is_ours and tuple(map(int, version.split(".")[:2])) < _CONFINES_WEIGHTS:
        raise EmbedderUnavailable(
            f"onnxruntime {version} would read weights from outside of the model's folder", "update it"
        )
    onnxruntime.disable_telemetry_events()
    onnxruntime.set_default_logger_severity(_FATAL)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_DISABLE_ALL if is_ours else levels.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
