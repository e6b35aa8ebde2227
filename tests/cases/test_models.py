"""Without a sound model, without a network, without extensions: words work, and what is missing is said."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import m3_memory
from tests.surfaces.command_line import CommandLine, command_line
from tests.surfaces.doors import M3, Mcp, facts
from tests.surfaces.mcp_wire import Wire

FACT = "The car is parked behind the bakery"
ASKED = "location of our automobile"
"""A question without a word of the fact."""


def startup(folder: Path, code: str) -> dict[str, str]:
    """An environment in which every Python process runs this code before anything else."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(textwrap.dedent(code), encoding="utf-8")
    return {"PYTHONPATH": str(folder)}


def damaged_installation(folder: Path) -> dict[str, str]:
    """An environment whose m3_memory is a copy of ours with the first megabyte of the model."""
    source = Path(m3_memory.__file__).parent
    shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__", "model.onnx"))
    model = Path("inference", "minilm", "model.onnx")
    with (source / model).open("rb") as whole:
        (folder / source.name / model).write_bytes(whole.read(1_000_000))
    return {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def server(m3: CommandLine) -> Wire:
    return Wire(command=M3, cwd=m3.folder, env=m3.environment)


def said(answer: dict[str, Any]) -> str:
    return " ".join(answer["degraded"])


def test_a_damaged_model_is_named_and_words_go_on(tmp_path: Path) -> None:
    """B78 Write, search, worker and doctor say which file is damaged and what to do; nothing fails."""
    m3 = command_line(tmp_path, M3_EMBEDDER="minilm", **damaged_installation(tmp_path / "copy"))
    with server(m3) as wire:
        door = Mcp(wire)
        made = facts(door, "memory_write", content=FACT, type="fact")
        assert made["vector"] == "pending"
        assert any("findable by words now" in warning for warning in made["warnings"])
        for mode in ("hybrid", "vector"):
            answer = facts(door, "memory_search", query="parked bakery", search_mode=mode)
            assert [hit["id"] for hit in answer["hits"]] == [made["id"]]
            assert "model.onnx" in said(answer)
            assert "reinstall" in said(answer)
    worked = m3.run("worker", "--once").answer
    assert (worked["waiting"], worked["failed"]) == (1, 0)
    assert "model.onnx" in worked["because"]
    doctor = m3.run("doctor").answer
    assert doctor["ok"]
    assert doctor["embedder"].startswith("failed")
    assert "model.onnx" in doctor["embedder"]
    sound = replace(m3, environment={k: v for k, v in m3.environment.items() if not k.startswith("PYTHON")})
    assert sound.run("worker", "--once").answer["done"] == 1
    (hit,) = sound.run("memory", "search", ASKED, "--search-mode", "vector").answer["hits"]
    assert hit["content"] == FACT


def test_the_first_run_needs_no_network(tmp_path: Path) -> None:
    """B78 A process that may open no connection writes with a vector and finds by meaning."""
    offline = startup(
        tmp_path / "offline",
        """
        import sys

        def refuse(event, arguments):
            if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request"):
                raise OSError(f"there is no network: {event}")

        sys.addaudithook(refuse)
        """,
    )
    m3 = command_line(tmp_path, M3_EMBEDDER="minilm", **offline)
    with server(m3) as wire:
        door = Mcp(wire)
        facts(door, "memory_search", query="anything")  # starts the loading
        facts(door, "memory_write", content=FACT, type="fact")
    m3.run("worker", "--once")
    answer = m3.run("memory", "search", ASKED, "--search-mode", "vector").answer
    assert [hit["content"] for hit in answer["hits"]] == [FACT]
    assert m3.run("doctor").answer["embedder"] == "ready"
    probe = replace(m3, command=(M3[0], "-c", "import socket; socket.create_connection(('192.0.2.1', 9))"))
    assert "there is no network" in probe.run().err


def test_no_extension_of_sqlite_is_needed(tmp_path: Path) -> None:
    """B79 A Python without its own SQLite, and an apsw that loads no extension: both searches work."""
    bare = startup(
        tmp_path / "bare",
        """
        import sys

        sys.modules["sqlite3"] = sys.modules["_sqlite3"] = sys.modules["sqlite_vec"] = None
        import apsw

        apsw.connection_hooks.append(
            lambda connection: connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
        )
        """,
    )
    m3 = command_line(tmp_path, M3_EMBEDDER="hashing", **bare)
    made = m3.run("memory", "write", FACT, "--type", "fact").answer
    assert made["vector"] == "ready"
    for mode in ("keyword", "vector", "hybrid"):
        answer = m3.run("memory", "search", "parked bakery", "--search-mode", mode).answer
        assert [hit["id"] for hit in answer["hits"]] == [made["id"]]
    doctor = m3.run("doctor").answer
    assert (doctor["ok"], doctor["faults"], doctor["embedder"]) == (True, [], "ready")
    probe = replace(m3, command=(M3[0], "-c", "import sqlite3"))
    assert "ModuleNotFoundError" in probe.run().err


def test_without_onnxruntime_search_goes_by_words_and_says_so(tmp_path: Path) -> None:
    """B78 An installation without its wheel."""
    bare = startup(tmp_path / "bare", "import sys\nsys.modules['onnxruntime'] = None\n")
    m3 = command_line(tmp_path, M3_EMBEDDER="minilm", **bare)
    m3.run("memory", "write", FACT, "--type", "fact")
    answer = m3.run("memory", "search", "parked bakery").answer
    assert [hit["content"] for hit in answer["hits"]] == [FACT]
    assert "onnxruntime" in said(answer)
    assert "onnxruntime" in m3.run("doctor").answer["embedder"]
