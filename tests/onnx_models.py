"""Tiny sentence encoders in folders, as exports of real ones look."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

PIECES = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("tea", "is", "at", "four", "the", "cat", "sleep", "##s", "Tea", "a", "."),
)
DIMENSION = 6
POSITIONS = 40
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def table(seed: int = 1, pieces: int = len(PIECES)) -> NDArray[np.float32]:
    """One vector a piece."""
    return np.random.default_rng(seed).standard_normal((pieces, DIMENSION)).astype(np.float32)


@dataclass
class Model:
    """What to put into the file: it looks each piece up, and adds nothing for its place but fails beyond."""

    inputs: Sequence[str] = INPUTS
    output: str = "last_hidden_state"
    pooled: bool = False
    weights: NDArray[np.float32] = field(default_factory=table)
    integers: int = TensorProto.INT64
    external: str = ""

    def build(self) -> ModelProto:
        weights = numpy_helper.from_array(self.weights, "weights")
        if self.external:
            weights.ClearField("raw_data")
            weights.data_location = TensorProto.EXTERNAL
            weights.external_data.add(key="location", value=self.external)
        constants = [
            weights,
            numpy_helper.from_array(np.zeros((1, POSITIONS, DIMENSION), np.float32), "places"),
            *(numpy_helper.from_array(np.array([n], np.int64), f"n{n}") for n in (0, 1, 2)),
        ]
        found = "summed" if self.pooled else self.output
        nodes = [
            helper.make_node("Gather", ["weights", self.inputs[0]], ["looked_up"]),
            helper.make_node("Shape", [self.inputs[0]], ["length"], start=1, end=2),
            helper.make_node("Slice", ["places", "n0", "length", "n1"], ["used"]),
            helper.make_node("Add", ["looked_up", "used"], [found]),
        ]
        if self.pooled:
            nodes.append(helper.make_node("ReduceSum", [found, "n1"], [self.output], keepdims=0))
        shape = [1, DIMENSION] if self.pooled else [1, "length", DIMENSION]
        graph = helper.make_graph(
            nodes,
            "tiny",
            [helper.make_tensor_value_info(name, self.integers, [1, "length"]) for name in self.inputs],
            [helper.make_tensor_value_info(self.output, TensorProto.FLOAT, shape)],
            constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_json(file: Path, value: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value), encoding="utf-8")


def write_model(folder: Path, model: Model | None = None, name: str = "model.onnx") -> Path:
    """A whole folder: model, vocabulary and configuration."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((model or Model()).build().SerializeToString())
    write_json(folder / "tokenizer.json", wordpiece_json())
    write_json(folder / "config.json", {"model_type": "bert", "max_position_embeddings": POSITIONS})
    return folder


def wordpiece_json(pieces: Sequence[str] = PIECES) -> dict[str, Any]:
    """A tokenizer.json as BERT's models without case have it."""
    return {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(pieces)},
        },
    }


UNIGRAM = (
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁tea",
    "▁is",
    "▁at",
    "▁four",
    "▁the",
    "▁cat",
    "s",
    "<",
    ">",
    "/",
)


def unigram_json() -> dict[str, Any]:
    """A tokenizer.json as models that read many languages have it."""
    special = [
        {
            "id": UNIGRAM.index(piece),
            "content": piece,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for piece in ("<s>", "</s>")
    ]
    start, text, end = (
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}},
    )
    named = {
        piece: {"id": piece, "ids": [UNIGRAM.index(piece)], "tokens": [piece]} for piece in ("<s>", "</s>")
    }
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 16},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 1,
            "pad_type_id": 0,
            "pad_token": "<pad>",
        },
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [start, text, end],
            "pair": [start, text, end],
            "special_tokens": named,
        },
        "decoder": None,
        "model": {
            "type": "Unigram",
            "unk_id": UNIGRAM.index("<unk>"),
            "vocab": [[piece, -99.0 if piece in named else -1.0] for piece in UNIGRAM],
            "byte_fallback": False,
        },
    }
