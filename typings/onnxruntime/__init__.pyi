# What this project uses of onnxruntime (1.20 or newer), which ships no type information.
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from numpy.typing import NDArray

__version__: str

class GraphOptimizationLevel(Enum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_ALL = 99

class NodeArg:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def shape(self) -> Sequence[int | str | None]: ...

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
    def get_inputs(self) -> Sequence[NodeArg]: ...
    def get_outputs(self) -> Sequence[NodeArg]: ...
    def run(self, output_names: Sequence[str], input_feed: Mapping[str, NDArray[Any]]) -> list[Any]: ...

def disable_telemetry_events() -> None: ...
def set_default_logger_severity(severity: int) -> None: ...
