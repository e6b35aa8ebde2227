"""Holds files and functions to their size: 400 lines a source file, 500 a test file, 60 a function of src.

    python dev/size.py      prints the largest, and everything over its limit; exits with 1 if there is any

Generated files (a folder `generated`) and data tables (`*_data.py`) are apart.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE_LINES = {"src": 400, "dev": 400, "benchmarks": 400, "tests": 500}
FUNCTION_LINES = 60
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """A file or a function, its length in lines, and the most it may have."""

    name: str
    lines: int
    limit: int


def files() -> Iterator[tuple[str, Path]]:
    """Every Python file that is held to a limit, with the top folder it is in."""
    for top in FILE_LINES:
        for path in sorted((ROOT / top).rglob("*.py")):
            if (
                "node_modules" not in path.parts
                and "generated" not in path.parts
                and not path.stem.endswith("_data")
            ):
                yield top, path


def functions(path: Path) -> Iterator[Measured]:
    """Every function of a file, nested ones included, from its first decorator to its last line."""
    name = path.relative_to(ROOT)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            last = node.end_lineno or node.lineno
            yield Measured(f"{name}:{first} {node.name}", last - first + 1, FUNCTION_LINES)


def main() -> int:
    """Prints the largest and what is too large; returns 1 if anything is."""
    found_files: list[Measured] = []
    found_functions: list[Measured] = []
    for top, path in files():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        found_files.append(Measured(str(path.relative_to(ROOT)), lines, FILE_LINES[top]))
        if top == "src":
            found_functions += functions(path)
    for kind, found in (("file", found_files), ("function", found_functions)):
        for each in sorted(found, key=lambda measured: -measured.lines)[:SHOWN]:
            print(f"{each.lines:4} lines  {kind}  {each.name}")
    over = [each for each in (*found_files, *found_functions) if each.lines > each.limit]
    for each in over:
        print(f"TOO LONG: {each.name} has {each.lines} lines, at most {each.limit}")
    source_lines = sum(each.lines for each in found_files if each.name.startswith("src"))
    print(f"{source_lines} lines of source")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
