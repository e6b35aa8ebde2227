"""Each import contract of the gate notices the import it forbids."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FORBIDDEN = [
    ("direction", "kernel/caller.py", "import m3_memory.storage.database"),
    ("direction", "stray.py", ""),
    ("app", "app.py", "import m3_memory.toolbox"),
    ("slice", "domains/memories/model.py", "import m3_memory.domains.memories.service"),
    ("slice", "domains/memories/stray.py", ""),
    ("slices", "domains/memories/service.py", "import m3_memory.domains.retrieval.service"),
    ("doors", "domains/retrieval/service.py", "import m3_memory.domains.memories.queries"),
    ("surfaces", "surfaces/worker/__init__.py", "import m3_memory.surfaces.mcp"),
    ("kernel", "kernel/limits.py", "import socket"),
    ("drivers", "domains/memories/queries.py", "import psycopg"),
    ("one_sqlite", "storage/sqlite.py", "import sqlite3"),
    ("statements", "domains/memories/service.py", "import m3_memory.storage.sql"),
    ("validation", "domains/memories/tools.py", "import msgspec"),
    ("arrays", "catalog/schema.py", "import numpy"),
    ("models", "domains/retrieval/service.py", "import onnxruntime"),
    ("start", "surfaces/mcp/stdio.py", "def late():\n    import numpy"),
]


def _lint(folder: Path, contract: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache", "--no-logo", "--contract", contract],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the source and its contracts."""
    folder = tmp_path / "project"
    ignored = shutil.ignore_patterns("*.onnx", "__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=ignored)
    shutil.copytree(ROOT / "dev", folder / "dev", ignore=ignored)
    shutil.copy(ROOT / ".importlinter", folder)
    return folder


@pytest.mark.parametrize(("contract", "file", "line"), FORBIDDEN)
def test_a_forbidden_import_breaks_its_contract(project: Path, contract: str, file: str, line: str) -> None:
    path = project / "src" / "m3_memory" / file
    with path.open("a", encoding="utf-8") as module:
        module.write(f"\n{line}\n")
    checked = _lint(project, contract)
    assert "Contracts: 0 kept, 1 broken." in checked.stdout
    module = f"m3_memory.{file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
    assert f"- {module}" in checked.stdout.replace("-   ", "- ")
