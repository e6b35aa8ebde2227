"""A call gets the model if it is there in time, and otherwise a reason; never an exception."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from m3_memory.config import Settings
from m3_memory.errors import EmbedderUnavailable
from m3_memory.inference.embedder import Embedder, EmbedderState
from m3_memory.inference.hashing import HashingEmbedder
from m3_memory.inference.minilm.model import FOLDER, MiniLm
from m3_memory.inference.source import LazyEmbedder, open_embedder

LONG_SECONDS = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the model's files that a test may damage."""
    return Path(shutil.copytree(FOLDER, tmp_path / "model"))


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_nothing_is_loaded_before_a_vector_is_asked_for() -> None:
    source = LazyEmbedder(HashingEmbedder)
    assert (source.state, source.reason) == (EmbedderState.IDLE, "")


def test_a_call_that_waits_gets_the_model() -> None:
    source = LazyEmbedder(HashingEmbedder)
    assert isinstance(source.get(LONG_SECONDS), HashingEmbedder)
    assert (source.state, source.reason) == (EmbedderState.READY, "")


def test_a_call_that_does_not_wait_goes_on_and_a_later_one_finds_the_model() -> None:
    release = Event()

    def load() -> Embedder:
        assert release.wait(LONG_SECONDS)
        return HashingEmbedder()

    source = LazyEmbedder(load)
    assert source.get(0) is None
    assert source.get(-1) is None
    assert source.state is EmbedderState.LOADING
    release.set()
    model = source.get(float("inf"))
    assert model is not None
    assert source.get(0) is model


def test_many_calls_at_once_load_one_model() -> None:
    loaded: list[Embedder] = []

    def load() -> Embedder:
        loaded.append(HashingEmbedder())
        return loaded[-1]

    source = LazyEmbedder(load)
    with ThreadPoolExecutor(16) as pool:
        models = list(pool.map(source.get, [LONG_SECONDS] * 64))
    assert len(loaded) == 1
    assert all(model is loaded[0] for model in models)


def test_a_failed_load_is_remembered_with_its_reason_and_not_tried_again() -> None:
    tries: list[int] = []

    def load() -> Embedder:
        tries.append(1)
        raise ValueError("no such thing")

    source = LazyEmbedder(load)
    assert source.get(LONG_SECONDS) is None
    assert source.get(LONG_SECONDS) is None
    assert source.state is EmbedderState.FAILED
    assert source.reason == "the model could not be loaded: ValueError: no such thing"
    assert tries == [1]


def test_a_load_that_failed_is_tried_again_once_its_pause_is_over() -> None:
    now = [0.0]
    outcomes: list[Exception | Embedder] = [OSError("not yet"), HashingEmbedder()]

    def load() -> Embedder:
        match outcomes.pop(0):
            case Exception() as error:
                raise error
            case model:
                return model

    source = LazyEmbedder(load, 15.0, lambda: now[0])
    assert source.get(LONG_SECONDS) is None
    now[0] = 14.9
    assert source.get(LONG_SECONDS) is None
    assert "not yet" in source.reason
    now[0] = 15.0
    assert source.get(LONG_SECONDS) is not None
    assert (source.state, source.reason) == (EmbedderState.READY, "")


def test_a_model_that_was_lost_is_not_given_out_until_it_was_loaded_again() -> None:
    now = [0.0]
    source = LazyEmbedder(HashingEmbedder, 15.0, lambda: now[0])
    first = source.get(LONG_SECONDS)
    source.lose(EmbedderUnavailable("the server is gone", "start it"))
    assert source.get(LONG_SECONDS) is None
    assert (source.state, source.reason) == (EmbedderState.FAILED, "the server is gone; start it")
    now[0] = 15.0
    again = source.get(LONG_SECONDS)
    assert again is not None
    assert again is not first


def flip_a_byte(folder: Path) -> None:
    with (folder / "model.onnx").open("r+b") as file:
        file.seek(5_000_000)
        byte = file.read(1)[0]
        file.seek(5_000_000)
        file.write(bytes([byte ^ 1]))


def cut_the_vocabulary(folder: Path) -> None:
    (folder / "vocab.txt").write_bytes((folder / "vocab.txt").read_bytes()[:-1])


def lose_the_model(folder: Path) -> None:
    (folder / "model.onnx").unlink()


def spoil_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{", encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (flip_a_byte, "model.onnx does not match its digest"),
        (cut_the_vocabulary, "vocab.txt does not match its digest"),
        (lose_the_model, "model.onnx"),
        (spoil_the_manifest, "can't be read"),
    ],
)
def test_a_damaged_model_is_not_loaded_and_says_what_to_do(
    folder: Path, damage: Callable[[Path], None], reason: str
) -> None:
    assert LazyEmbedder(lambda: MiniLm.load(folder)).get(LONG_SECONDS) is not None
    damage(folder)
    source = LazyEmbedder(lambda: MiniLm.load(folder))
    assert source.get(LONG_SECONDS) is None
    assert source.state is EmbedderState.FAILED
    assert reason in source.reason
    assert str(folder) in source.reason
    assert source.reason.endswith("; reinstall m3-memory")


def test_without_onnxruntime_the_reason_says_that_search_goes_by_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    source = open_embedder(Settings(Path("unused")))
    assert source.get(LONG_SECONDS) is None
    assert source.reason == "onnxruntime has no wheel here; searching by words only"


def test_the_settings_name_the_model() -> None:
    home = Path("unused")
    assert isinstance(open_embedder(Settings(home, embedder="minilm")).get(LONG_SECONDS), MiniLm)
    assert isinstance(open_embedder(Settings(home, embedder="hashing")).get(LONG_SECONDS), HashingEmbedder)
    off = open_embedder(Settings(home, embedder="off"))
    assert off.get() is None
    assert (off.state, off.reason) == (EmbedderState.OFF, "switched off by the settings")


def test_opening_imports_no_numpy_and_loading_prints_nothing() -> None:
    done = python(
        "import sys\n"
        "from m3_memory.inference.source import open_embedder\n"
        "from m3_memory.config import load_settings\n"
        "source = open_embedder(load_settings())\n"
        "assert not {'numpy', 'onnxruntime'} & set(sys.modules), 'imported early'\n"
        f"assert source.get({LONG_SECONDS}).embed(['hello'])\n"
        "assert {'numpy', 'onnxruntime'} <= set(sys.modules)\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_process_that_ends_while_the_model_loads_ends_cleanly() -> None:
    done = python(
        "from m3_memory.inference.source import open_embedder\n"
        "from m3_memory.config import load_settings\n"
        "assert open_embedder(load_settings()).get(0.0) is None\n"
        "print('ended')\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
