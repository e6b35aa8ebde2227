"""What it takes to install the product: time, and bytes on disk, in an empty environment."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1024 * 1024


def measure_installation() -> dict[str, Any]:
    """Builds the wheel of this tree and installs it, downloads included, beside nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        wheels, environment = Path(folder) / "wheels", Path(folder) / "environment"
        _pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(wheels), str(ROOT))
        wheel = next(wheels.glob("*.whl"))
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        python = str(environment / "bin" / "python")
        before = bytes_below(environment)
        started = time.perf_counter()
        _pip(python, "install", "--no-cache-dir", str(wheel))
        seconds = time.perf_counter() - started
        listed = json.loads(_pip(python, "list", "--format=json"))
        packages = {
            each["name"]: each["version"] for each in listed if each["name"] not in ("pip", "setuptools")
        }
        return {
            "seconds": round(seconds, 1),
            "megabytes": round((bytes_below(environment) - before) / MEGABYTE, 1),
            "wheel_megabytes": round(wheel.stat().st_size / MEGABYTE, 1),
            "packages": packages,
        }


def bytes_below(folder: Path) -> int:
    """What the files below a folder take up."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _pip(python: str, *arguments: str) -> str:
    command = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
