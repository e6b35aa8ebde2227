"""`./try`: the main job of the product, end to end, on a store in a temporary folder.

Exits with 1 if anything answered is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from dev.trial.play import Play
from dev.trial.screen import Screen
from m3_memory.surfaces.cli import output


def main() -> int:
    parser = argparse.ArgumentParser(prog="./try", description="Try m3 Memory through a real MCP client.")
    parser.add_argument(
        "--seed", type=int, default=0, help="another number makes another world: names, values, dates"
    )
    seed = parser.parse_args().seed
    output.prepare()
    screen = Screen()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="m3-try-") as folder:
        screen.title("m3 Memory, a trial", f"seed {seed}, store in {folder}, no network, no key")
        asyncio.run(Play(Path(folder), seed, screen).run())
    screen.title(
        f"{screen.checks - screen.wrong} of {screen.checks} right", f"{time.perf_counter() - started:.1f} s"
    )
    return 1 if screen.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
