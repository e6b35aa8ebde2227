"""Runs every check that needs no test, and says for each whether it holds.

    python dev/gate.py

Exits with 1 if any fails; the output of those that fail is shown.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHOWN_LINES = 60
BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Check:
    """One command that must succeed."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a check: its exit code, everything it printed, how long it took."""

    check: Check
    code: int
    output: str
    seconds: float


# The slowest first: two run at a time.
CHECKS = (
    Check("types", (str(BIN / "basedpyright"), "--level", "error")),
    Check("format", (str(BIN / "ruff"), "format", "--check", ".")),
    Check("lint", (str(BIN / "ruff"), "check", ".")),
    Check("imports", (str(BIN / "lint-imports"), "--no-cache", "--no-logo")),
    Check("size", (sys.executable, "dev/size.py")),
    Check("generated files", (sys.executable, "-m", "m3_memory.generate", "--check")),
)


def run(check: Check) -> Outcome:
    """Runs one check from the project's root."""
    started = time.monotonic()
    done = subprocess.run(
        check.command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return Outcome(check, done.returncode, done.stdout.decode(errors="replace"), time.monotonic() - started)


def show(outcome: Outcome) -> None:
    """Prints what a failed check said, to a reasonable length, and how to see the rest."""
    command = " ".join(outcome.check.command)
    lines = outcome.output.rstrip().splitlines()
    print(f"\n--- {outcome.check.name}: {command}")
    print("\n".join(lines[:SHOWN_LINES]))
    if len(lines) > SHOWN_LINES:
        print(f"… and {len(lines) - SHOWN_LINES} lines more; run the command above to see them")


def main() -> int:
    """Runs all checks; returns 1 if any failed."""
    failed: list[Outcome] = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for outcome in pool.map(run, CHECKS):
            print(
                f"{'FAILED' if outcome.code else 'ok':6}  {outcome.check.name}  ({outcome.seconds:.1f} s)",
                flush=True,
            )
            if outcome.code:
                failed.append(outcome)
    for outcome in failed:
        show(outcome)
    print(f"\ngate: {len(CHECKS) - len(failed)} of {len(CHECKS)} hold\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
