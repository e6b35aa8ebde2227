"""Writes everything that is derived from catalog, settings and errors, or says what is out of date.

    python -m m3_memory.generate [--check]

Written: `src/m3_memory/generated/catalog.json`, the pages of `docs/reference` (tools, settings, errors), and
one snapshot of each tool's list entry in `tests/snapshots/tools`. `--check` writes nothing and exits 1 if any
of it is out of date.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from m3_memory import __version__
from m3_memory.catalog.pages import errors_page, settings_page
from m3_memory.catalog.reference import catalog_file, reference_page
from m3_memory.catalog.registry import Catalog
from m3_memory.catalog.tool import list_entry
from m3_memory.toolbox import CATALOG, INSTRUCTIONS

SNAPSHOTS = "tests/snapshots/tools"

_ROOT = Path(__file__).resolve().parents[2]
_MAX_DIFF_LINES = 20


def main(arguments: Sequence[str] | None = None, root: Path = _ROOT) -> int:
    """Runs the command in a source tree; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m m3_memory.generate", description="Write the derived files."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    checking = parser.parse_args(arguments).check
    files = rendered(CATALOG)
    if checking:
        found = differences(root, files)
        sys.stdout.write("".join(f"{line}\n" for line in found))
        return 1 if found else 0
    write(root, files)
    return 0


def rendered(catalog: Catalog) -> dict[str, str]:
    """The text of every derived file, by its path in the source tree."""
    files = {
        "src/m3_memory/generated/catalog.json": _json(catalog_file(catalog, __version__, INSTRUCTIONS)),
        "docs/reference/tools.md": reference_page(catalog),
        "docs/reference/settings.md": settings_page(),
        "docs/reference/errors.md": errors_page(),
    }
    return files | {f"{SNAPSHOTS}/{tool.name}.json": _json(list_entry(tool)) for tool in catalog.tools}


def write(root: Path, files: Mapping[str, str]) -> None:
    """Writes the files, and removes the snapshots of tools that are gone."""
    for path in _orphans(root, files):
        (root / path).unlink()
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="\n")


def differences(root: Path, files: Mapping[str, str]) -> list[str]:
    """What is out of date, file by file, with the first lines of each difference; empty if all is fresh."""
    found = [f"{path}: its tool is gone" for path in _orphans(root, files)]
    for path, text in files.items():
        present = (root / path).read_text(encoding="utf-8") if (root / path).exists() else ""
        if present != text:
            lines = difflib.unified_diff(
                present.splitlines(), text.splitlines(), "present", "generated", "", "", 1, ""
            )
            found += [
                f"{path}: out of date; run python -m m3_memory.generate",
                *list(lines)[:_MAX_DIFF_LINES],
            ]
    return found


def _orphans(root: Path, files: Mapping[str, str]) -> list[str]:
    present = sorted((root / SNAPSHOTS).glob("*.json"))
    return [f"{SNAPSHOTS}/{path.name}" for path in present if f"{SNAPSHOTS}/{path.name}" not in files]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
