"""onnxruntime, as this product starts it: quietly, on the processor, without telemetry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from m3_memory.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

THREADS = min(4, os.cpu_count() or 1)
_FATAL = 4  # its least talkative level
_CONFINES_WEIGHTS = (1, 24)


def open_session(model: Path, *, is_ours: bool) -> InferenceSession:
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
