"""A model from a folder is read as its files say, and what they leave open or get wrong is named."""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from m3_memory.config import Settings
from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.embedder import EmbedderState
from m3_memory.inference.folder import open_folder
from m3_memory.inference.local import LocalModel
from m3_memory.inference.source import open_embedder
from tests.onnx_models import (
    INPUTS,
    PIECES,
    UNIGRAM,
    Model,
    table,
    unigram_json,
    wordpiece_json,
    write_json,
    write_model,
)

TEXT = "the cat sleeps."
PIECES_OF_TEXT = ("[CLS]", "the", "cat", "sleep", "##s", ".", "[SEP]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model")


@pytest.fixture
def opened(folder: Path, home: Path) -> Callable[..., LocalModel]:
    """Opens the folder as the product does."""

    def open_it(**prefixes: str) -> LocalModel:
        return open_folder(settings_for(folder, home, **prefixes))

    return open_it


def settings_for(folder: Path, home: Path, **more: Any) -> Settings:
    return Settings(home, embedder="folder", embedder_folder=str(folder), **more)


def refusal(folder: Path, home: Path) -> str:
    source = open_embedder(settings_for(folder, home))
    assert source.get(60) is None
    assert source.state is EmbedderState.FAILED
    return source.reason


def values(vector: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(vector) // 2}e", vector))


def looked_up(*pieces: str, weights: Any = None) -> Any:
    rows = [PIECES.index(piece) for piece in pieces]
    return (table() if weights is None else weights)[rows]


def near(vector: bytes, expected: Any) -> bool:
    return values(vector) == pytest.approx(list(expected / np.linalg.norm(expected)), abs=2e-3)


def test_the_vectors_of_the_tokens_are_averaged(opened: Callable[..., LocalModel]) -> None:
    model = opened()
    assert near(model.embed([TEXT])[0], looked_up(*PIECES_OF_TEXT).mean(axis=0))
    assert near(model.embed_query("Tea"), looked_up("[CLS]", "tea", "[SEP]").mean(axis=0))
    assert model.fingerprint.dimension == 6


def test_where_the_folder_says_so_the_first_token_stands_for_all(
    folder: Path, opened: Callable[..., LocalModel]
) -> None:
    averaged = opened().fingerprint
    write_json(folder / "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    model = opened()
    assert near(model.embed([TEXT])[0], looked_up("[CLS]")[0])
    assert model.fingerprint != averaged


def test_steps_are_found_where_the_folder_lists_them(
    folder: Path, home: Path, opened: Callable[..., LocalModel]
) -> None:
    steps = [("", "Transformer"), ("pool", "Pooling"), ("norm", "Normalize")]
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in steps]
    write_json(folder / "modules.json", listed)
    write_json(folder / "pool/config.json", {"pooling_mode": "cls"})
    assert near(opened().embed([TEXT])[0], looked_up("[CLS]")[0])
    write_json(folder / "modules.json", [*listed, {"path": "2_Dense", "type": "x.Dense"}])
    assert "Dense" in refusal(folder, home)


def test_a_model_that_pools_by_itself_is_taken_at_its_word(
    folder: Path, opened: Callable[..., LocalModel]
) -> None:
    write_model(folder, Model(output="sentence_embedding", pooled=True))
    write_json(folder / "1_Pooling/config.json", {"pooling_mode_max_tokens": True})
    assert near(opened().embed([TEXT])[0], looked_up(*PIECES_OF_TEXT).sum(axis=0))


@pytest.mark.parametrize("inputs", [INPUTS, INPUTS[:2], INPUTS[:1], (*INPUTS, "position_ids")])
@pytest.mark.parametrize("integers", [TensorProto.INT64, TensorProto.INT32])
def test_a_model_is_given_the_inputs_it_has(
    folder: Path, opened: Callable[..., LocalModel], inputs: tuple[str, ...], integers: int
) -> None:
    write_model(folder, Model(inputs=inputs, integers=integers))
    assert near(opened().embed([TEXT])[0], looked_up(*PIECES_OF_TEXT).mean(axis=0))


def test_what_the_model_wants_to_read_first_is_in_the_folder_or_the_settings(
    folder: Path, opened: Callable[..., LocalModel]
) -> None:
    bare = opened()
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "four ", "passage": "a "}})
    own = opened()
    assert own.embed_query("tea") == bare.embed_query("four tea")
    assert own.embed(["tea"]) == bare.embed(["a tea"])
    told = opened(embedder_query_prefix="the ")
    assert told.embed_query("tea") == bare.embed_query("the tea")
    assert own.fingerprint == told.fingerprint != bare.fingerprint


def test_a_text_of_any_length_is_embedded_whole(opened: Callable[..., LocalModel]) -> None:
    model = opened()
    long = "tea " * 200 + "cat " * 100
    assert len(model.windows(long)) > 10
    assert model.embed([long])[0] != model.embed(["tea " * 300])[0]
    assert model.windows("tea") == ["tea"]


def test_the_space_is_named_by_weights_and_rules_and_not_by_the_place(
    folder: Path, home: Path, opened: Callable[..., LocalModel], tmp_path: Path
) -> None:
    before = opened().fingerprint
    moved = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    assert open_folder(settings_for(moved, home)).fingerprint == before
    write_model(folder, Model(weights=table(seed=2)))
    assert opened().fingerprint.weights_digest != before.weights_digest


def test_a_text_of_which_the_model_makes_nothing_gets_no_vector(
    folder: Path, opened: Callable[..., LocalModel]
) -> None:
    weights = table()
    weights[PIECES.index("cat")] = np.nan
    write_model(folder, Model(weights=weights))
    model = opened()
    assert model.embed(["tea is at four"])
    with pytest.raises(EmbedderUnavailable, match="no usable vector"):
        model.embed(["tea is at four", "the cat"])


def test_a_prefix_that_leaves_no_room_for_text_is_refused(folder: Path, home: Path) -> None:
    source = open_embedder(settings_for(folder, home, embedder_query_prefix="tea " * 20))
    assert source.get(60) is None
    assert "too long" in source.reason


def test_weights_beside_the_model_are_read_and_count(folder: Path, opened: Callable[..., LocalModel]) -> None:
    table().tofile(folder / "model.onnx_data")
    write_model(folder, Model(external="model.onnx_data"))
    model = opened()
    assert near(model.embed([TEXT])[0], looked_up(*PIECES_OF_TEXT).mean(axis=0))
    other = table(seed=2)
    other.tofile(folder / "model.onnx_data")
    again = opened()
    assert near(again.embed([TEXT])[0], looked_up(*PIECES_OF_TEXT, weights=other).mean(axis=0))
    assert again.fingerprint.weights_digest != model.fingerprint.weights_digest


def test_weights_outside_of_the_folder_are_not_read(
    folder: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret.bin"
    table().tofile(secret)
    (folder / "link.bin").symlink_to(secret)
    (folder / "deep").mkdir()
    for name in ("../secret.bin", str(secret), "link.bin", "deep/../../secret.bin"):
        write_model(folder, Model(external=name))
        assert "External data path validation failed" in refusal(folder, home)
    write_model(folder, Model(external="nothing.bin"))
    assert "nothing.bin" in refusal(folder, home)
    monkeypatch.setattr("onnxruntime.__version__", "1.23.2")
    assert "onnxruntime 1.23.2 would read weights from outside" in refusal(folder, home)


def test_a_model_may_lie_where_exports_put_it(
    folder: Path, home: Path, opened: Callable[..., LocalModel]
) -> None:
    (folder / "model.onnx").rename(folder / "model_int8.onnx")
    expected = opened().embed([TEXT])
    write_model(folder, name="onnx/model_int8.onnx")
    assert "2 ONNX files" in refusal(folder, home)
    write_model(folder, name="onnx/model.onnx")
    assert opened().embed([TEXT]) == expected


@pytest.fixture
def many_languages(folder: Path) -> Path:
    """A folder whose tokenizer is not ours."""
    write_model(folder, Model(weights=table(pieces=len(UNIGRAM))))
    write_json(folder / "tokenizer.json", unigram_json())
    return folder


def unigrams(*pieces: str) -> Any:
    return table(pieces=len(UNIGRAM))[[UNIGRAM.index(piece) for piece in pieces]]


def test_other_tokenizers_are_read_by_the_package(
    many_languages: Path, opened: Callable[..., LocalModel]
) -> None:
    model = opened()
    expected = unigrams("<s>", "▁the", "▁cat", "s", "</s>").mean(axis=0)
    assert near(model.embed(["the cats"])[0], expected)
    assert model.windows("the cats") == ["the cats"]


def test_a_special_piece_that_stands_in_a_text_is_read_as_text(
    many_languages: Path, opened: Callable[..., LocalModel]
) -> None:
    expected = unigrams("<s>", "▁", "<", "/", "s", ">", "</s>").mean(axis=0)
    assert near(opened().embed(["</s>"])[0], expected)


def test_every_word_of_a_long_text_is_in_some_window_of_the_package(
    many_languages: Path, opened: Callable[..., LocalModel]
) -> None:
    model = opened()
    words = [("tea", "cats", "four", "the")[number % 4] for number in range(300)]
    windows = model.windows(" ".join(words))
    assert len(windows) > 10
    assert {word for window in windows for word in window.split()} == set(words)
    assert "".join(windows).count("tea") >= 75
    assert windows[-1].endswith(words[-1])
    assert model.embed(windows)
    unbroken = "x" * 3000
    assert sum(map(len, model.windows(unbroken))) >= 3000
    assert len(model.embed([unbroken])) == 1


def no_positions(folder: Path) -> None:
    write_json(folder / "config.json", {"model_type": "bert"})


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (shutil.rmtree, "no folder"),
    (lambda folder: (folder / "model.onnx").unlink(), "no model.onnx"),
    (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json can't be read"),
    (lambda folder: (folder / "config.json").unlink(), "how much text"),
    (no_positions, "how much text"),
    (lambda folder: (folder / "config.json").write_text("{"), "not valid JSON"),
    (lambda folder: (folder / "config.json").write_text("[]"), "no JSON object"),
    (lambda folder: (folder / "config.json").write_text("[" * 50_000), "not valid JSON"),
    (lambda folder: write_json(folder / "tokenizer.json", wordpiece_json(("a", "b"))), "[UNK]"),
    (lambda folder: write_json(folder / "tokenizer.json", wordpiece_json(("[UNK]", "[UNK]"))), "in turn"),
    (lambda folder: (folder / "tokenizer.json").write_bytes(b"\xff\xfe"), "can't be read"),
    (lambda folder: (folder / "model.onnx").write_bytes(b"hello world"), "model.onnx"),
    (lambda folder: (folder / "model.onnx").write_bytes(b""), "model.onnx"),
    (
        lambda folder: write_json(folder / "1_Pooling/config.json", {"pooling_mode_lasttoken": True}),
        "pooling_mode_lasttoken",
    ),
    (lambda folder: write_model(folder, Model(inputs=("input_ids", "pixels"))), "pixels"),
    (lambda folder: write_model(folder, Model(weights=table() * np.float32("nan"))), "no usable vector"),
    (lambda folder: write_model(folder, Model(weights=table() * 0)), "no usable vector"),
    (
        lambda folder: write_json(folder / "tokenizer.json", {"model": {"type": "Unigram"}}),
        "needs the package tokenizers",
    ),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
def test_what_is_missing_or_not_understood_is_named(
    folder: Path,
    home: Path,
    opened: Callable[..., LocalModel],
    damage: Callable[[Path], object],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert opened()
    damage(folder)
    assert said in refusal(folder, home)


def test_the_settings_name_the_folder(folder: Path, home: Path) -> None:
    source = open_embedder(Settings(home, embedder="folder", embedder_folder=str(folder)))
    model = source.get(60)
    assert model is not None
    assert near(model.embed([TEXT])[0], looked_up(*PIECES_OF_TEXT).mean(axis=0))
    gone = open_embedder(Settings(home, embedder="folder", embedder_folder=str(folder / "gone")))
    assert gone.get(60) is None
    assert (gone.state, "no folder" in gone.reason) == (EmbedderState.FAILED, True)
