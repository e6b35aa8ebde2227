"""The commands that are no tools: about the installation, the store, the hosts and the person.

Each takes its own words, asks a module of its own, which is loaded only then, and prints the answer.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from m3_memory.config import FILE_NAME, load_settings, show_settings
from m3_memory.errors import StoreDamaged
from m3_memory.surfaces.cli import output
from m3_memory.surfaces.cli.command import Command, answer
from m3_memory.surfaces.cli.commands import Parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.launch import Launch
    from m3_memory.surfaces.cli.command import Doors


def _config(launch: Launch, words: Sequence[str], _doors: Doors) -> int:
    Parser("m3 config", ADMINISTRATION["config"].summary).parse_args(words)
    rows = show_settings()
    if launch.json or not sys.stdout.isatty():
        output.print_json({"settings": [row._asdict() for row in rows]})
    else:
        output.print_table(("setting", "value", "from"), [row[:3] for row in rows])
        output.print_text(f"\nSet them in {load_settings().home / FILE_NAME}")
    return 0


def _migrate(launch: Launch, words: Sequence[str], _doors: Doors) -> int:
    Parser("m3 migrate", ADMINISTRATION["migrate"].summary).parse_args(words)
    from m3_memory.surfaces.cli.maintenance import migrate

    answer(launch, migrate())
    return 0


def _backup(launch: Launch, words: Sequence[str], _doors: Doors) -> int:
    parser = Parser("m3 backup", ADMINISTRATION["backup"].summary)
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default="", help="backups in the home folder")
    given = parser.parse_args(words)
    from m3_memory.surfaces.cli.maintenance import backup

    answer(launch, backup(given.folder))
    return 0


def _doctor(launch: Launch, words: Sequence[str], doors: Doors) -> int:
    Parser("m3 doctor", ADMINISTRATION["doctor"].summary).parse_args(words)
    from m3_memory.surfaces.cli.maintenance import examine

    found = examine(launch, doors.examine)
    answer(launch, found)
    return 0 if found["ok"] else StoreDamaged.exit_code


def _worker(launch: Launch, words: Sequence[str], doors: Doors) -> int:
    parser = Parser("m3 worker", ADMINISTRATION["worker"].summary)
    parser.add_argument("--once", action="store_true", required=True, help="end when nothing waits any more")
    parser.parse_args(words)
    from m3_memory.surfaces.cli.maintenance import work

    answer(launch, work(doors.work_once))
    return 0


ADMINISTRATION = {
    "config": Command("config", "show every setting, its value and where that came from", _config),
    "doctor": Command("doctor", "examine the store: rows, index, vectors and history must agree", _doctor),
    "backup": Command("backup [FOLDER]", "copy the whole store to a new file, named by the time", _backup),
    "migrate": Command("migrate", "bring the store up to this version, after a backup", _migrate),
    "worker": Command("worker --once", "do what waits in the queue, such as late vectors", _worker),
}
