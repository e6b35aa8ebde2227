# What this project uses of onnxruntime (1.20 or newer), which ships no type information.
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from numpy.typing import NDArray

class GraphOptimizationLevel(Enum):
    ORT_DISABLE_ALL = 0

class SessionOptions:
    log_severity_level: int
    intra_op_num_threads: int
    inter_op_num_threads: int
    graph_optimization_level: GraphOptimizationLevel
    def add_session_config_entry(self, key: str, value: str) -> None: ...

class InferenceSession:
    def __init__(
        self, path_or_bytes: str | bytes, sess_options: SessionOptions, *, providers: Sequence[str]
    ) -> None: ...
    def run(self, output_names: Sequence[str], input_feed: Mapping[str, NDArray[Any]]) -> list[Any]: ...

def disable_telemetry_events() -> None: ...
def set_default_logger_severity(severity: int) -> None: ...
