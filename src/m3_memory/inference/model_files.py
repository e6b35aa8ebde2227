"""What a folder says of the model in it: which file it is, how to read text for it, how to pool its answer.

The layout is that of sentence-transformers and of the ONNX exports that follow it. Nothing in the folder is
run as code, and a file that says something else than expected is refused by its name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import cast

from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.embedder import Prefixes
from m3_memory.inference.local import Tokenizer
from m3_memory.inference.package_tokenizer import PackageTokenizer
from m3_memory.inference.wordpiece import LONGEST_WORD, WordPiece

MAX_TOKENS = 512
"""More are not read at once, whatever a model can: a window is then a passage, and memory stays small."""

_MODELS = ("model.onnx", "onnx/model.onnx")
_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})
_MOST_BYTES = 64_000_000
_AGAIN = "download all files of the model again"
_OFFSET_FAMILIES = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Models whose first position has the number after the padding's."""

_WORDPIECE: Mapping[str, Mapping[str, object]] = {
    "model": {
        "type": "WordPiece",
        "continuing_subword_prefix": "##",
        "unk_token": "[UNK]",
        "max_input_chars_per_word": LONGEST_WORD,
    },
    "normalizer": {"type": "BertNormalizer", "handle_chinese_chars": True, "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}
"""What a tokenizer.json says of itself that our own tokenizer reads alike."""

Values = Mapping[str, object]


class Pooling(StrEnum):
    MEAN = "mean"
    CLS = "cls"


class ModelFiles:
    """The files of a model in a folder. Every method raises EmbedderUnavailable, naming what is wrong."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def model(self) -> Path:
        """The ONNX file: the one with the usual name, or the only one."""
        if not self._folder.is_dir():
            raise EmbedderUnavailable(f"there is no folder {self._folder}", "correct embedder_folder")
        usual = [self._folder / name for name in _MODELS if (self._folder / name).is_file()]
        found = usual[:1] or [*self._folder.glob("*.onnx"), *self._folder.glob("onnx/*.onnx")]
        if len(found) == 1:
            return found[0]
        raise EmbedderUnavailable(
            f"{self._folder} has {len(found)} ONNX files and no model.onnx",
            "name the folder of an ONNX export, or call the file model.onnx",
        )

    def tokenizer(self) -> Tokenizer:
        """Ours where it is that of BERT's models without case, the package's otherwise."""
        file = self._folder / "tokenizer.json"
        found = _object(file)
        parts = {name: _part(found, name) for name in _WORDPIECE}
        is_ours = all(rules.items() <= parts[name].items() for name, rules in _WORDPIECE.items())
        if not is_ours or parts["normalizer"].get("strip_accents") is False:
            return PackageTokenizer(file)
        numbered = cast("dict[str, int]", _part(parts["model"], "vocab"))
        pieces = sorted(numbered, key=numbered.__getitem__)
        try:
            if [numbered[piece] for piece in pieces] != list(range(len(pieces))):
                raise ValueError("the pieces are not numbered in turn")
            return WordPiece(pieces)
        except ValueError as error:
            raise EmbedderUnavailable(f"{file}: {error}", _AGAIN) from error

    def max_tokens(self) -> int:
        """How many tokens the model reads, special ones too; MAX_TOKENS at most."""
        config = self._values("config.json")
        offset = 2 if config.get("model_type") in _OFFSET_FAMILIES else 0
        known = [
            number
            for number in (
                _number(config.get("max_position_embeddings")) - offset,
                _number(self._values("sentence_bert_config.json").get("max_seq_length")),
                _number(self._values("tokenizer_config.json").get("model_max_length")),
            )
            if number > 0
        ]
        if not known:
            raise EmbedderUnavailable(f"{self._folder} does not say how much text its model reads", _AGAIN)
        return min(MAX_TOKENS, *known)

    def pooling(self) -> Pooling:
        """How the vectors of the tokens become one."""
        file = self._folder / "modules.json"
        steps = cast("list[Values]", _json(file) if file.is_file() else [])
        kinds = {str(step["type"]).rpartition(".")[2]: str(step.get("path", "")) for step in steps}
        if unknown := kinds.keys() - _MODULES:
            raise EmbedderUnavailable(
                f"the model in {self._folder} goes on after pooling ({', '.join(sorted(unknown))})",
                "export it with its last layers in the ONNX file",
            )
        config = self._values(f"{kinds.get('Pooling', '1_Pooling')}/config.json")
        asked = [name for name, value in config.items() if name.startswith("pooling_mode_") and value is True]
        match asked or [str(config.get("pooling_mode", "mean"))]:
            case ["pooling_mode_mean_tokens" | "mean"]:
                return Pooling.MEAN
            case ["pooling_mode_cls_token" | "cls"]:
                return Pooling.CLS
            case other:
                raise EmbedderUnavailable(
                    f"the model in {self._folder} is pooled by {', '.join(other)}",
                    "choose one pooled by mean or cls",
                )

    def prefixes(self) -> Prefixes:
        """What the model wants to read before questions and texts, as far as the folder says it."""
        prompts = _part(self._values("config_sentence_transformers.json"), "prompts")
        query, document, passage = (prompts.get(name) or "" for name in ("query", "document", "passage"))
        return Prefixes(str(query), str(document or passage))

    def _values(self, name: str) -> Values:
        """The object in a JSON file; an empty one if there is no such file."""
        file = self._folder / name
        return _object(file) if file.is_file() else {}


def _part(values: Values, name: str) -> Values:
    found = values.get(name)
    return cast("Values", found) if isinstance(found, dict) else {}


def _number(value: object) -> int:
    """A count of tokens; 0 for what is none, such as the huge number that stands for "no limit"."""
    return value if isinstance(value, int) and 8 <= value <= 1_000_000 else 0


def _object(file: Path) -> Values:
    found = _json(file)
    if not isinstance(found, dict):
        raise EmbedderUnavailable(f"{file} holds no JSON object", _AGAIN)
    return cast("Values", found)


def _json(file: Path) -> object:
    try:
        return json.loads(_text(file))
    except (ValueError, RecursionError) as error:
        raise EmbedderUnavailable(f"{file} is not valid JSON", _AGAIN) from error


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise EmbedderUnavailable(f"{file} is larger than {_MOST_BYTES:,} bytes", "choose another model")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EmbedderUnavailable(f"{file} can't be read: {error}", "make it readable") from error
