"""Whatever prints in the server's process, its standard output holds messages and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import m3_memory
from m3_memory.config import Settings
from tests.faults.products import Server

# Runs in the server before anything else, and makes noise whenever the database is opened.
_NOISE = """
import ctypes, os, warnings
import apsw

def noise(connection):
    libc = ctypes.CDLL(None)
    libc.puts(b"noise of a native library")
    libc.fflush(None)
    os.system("echo noise of a child process")
    os.write(1, b"noise at descriptor 1\\n")
    print("noise of a print", flush=True)
    warnings.warn("noise of a warning", DeprecationWarning)

apsw.connection_hooks.append(noise)
"""


@pytest.fixture
def without_model(tmp_path: Path) -> Path:
    """A folder with the package as it is, but for the model's weights."""
    folder = tmp_path / "installed"
    package = Path(m3_memory.__file__).parent
    weights = shutil.ignore_patterns("*.onnx", "__pycache__")
    shutil.copytree(package, folder / "m3_memory", ignore=weights, copy_function=os.symlink)
    (folder / "sitecustomize.py").write_text(_NOISE, encoding="utf-8")
    return folder


@pytest.mark.case("B54")
def test_noise_and_a_missing_model_stay_out_of_the_protocol(
    tmp_path: Path, without_model: Path, home: Path
) -> None:
    """Every line that the server sends is checked where it is read."""
    talkative = {"PYTHONPATH": str(without_model), "PYTHONWARNINGS": "always", "M3_LOG_LEVEL": "debug"}
    log = tmp_path / "log"
    settings = Settings(home=home, embedder="minilm")
    with log.open("wb") as stderr, Server(settings, env=talkative, stderr=stderr) as server:
        written = server.answered("memory_write", content="The harbour opens at six", type="fact")
        assert written["vector"] == "pending"
        found = server.answered("memory_search", query="harbour")
        assert [hit["id"] for hit in found["hits"]] == [written["id"]]
        assert found["degraded"]
        assert server.end() == []
    said = log.read_text(encoding="utf-8")
    for source in ("a native library", "a child process", "a print", "a warning"):
        assert f"noise of {source}" in said
    assert "noise at descriptor 1" in said
