"""A process that reads a store, then tries to write it, and says as JSON how both went.

Run by `visit`, without root's right to ignore file permissions.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from m3_memory.errors import M3Error
from m3_memory.kernel.clock import ManualClock
from m3_memory.storage import open_database
from tests.rights import without_root_rights
from tests.storage.rows import remember, remembered

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Visit:
    """The memories found, or the error; the code of what the write met, empty if it went through."""

    found: list[str] | str
    write: str


def visit(path: Path) -> Visit:
    """Reads and writes the store at this path as somebody who is bound by permissions."""
    command = without_root_rights([sys.executable, "-m", "tests.storage.visitor", str(path)])
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found, write = json.loads(ran.stdout)
    return Visit(found, write)


def _read(path: str) -> list[str] | str:
    try:
        database = open_database(path, ManualClock())
        with database.read("local") as reader:
            found = remembered(reader)
        database.close()
    except M3Error as error:
        return error.code
    return found


def _write(path: str) -> str:
    try:
        database = open_database(path, ManualClock())
        with database.write("local") as writer:
            remember(writer, "visitor's")
        database.close()
    except M3Error as error:
        return error.code
    return ""


if __name__ == "__main__":
    print(json.dumps([_read(sys.argv[1]), _write(sys.argv[1])]))
