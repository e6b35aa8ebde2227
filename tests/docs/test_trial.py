"""`./try` answers every question of its world right, in any world."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.pages import ROOT


def trial(seed: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dev.trial", "--seed", str(seed)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_trial_finds_everything_right_in_another_world() -> None:
    """Seed 7, the one that the README speaks of."""
    done = trial(7)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WRONG" not in done.stdout
    assert "99 of 99 right" in done.stdout


def test_another_seed_tells_of_another_world() -> None:
    """Names and values differ, not only the order."""
    from dev.trial.world import World

    first, second = ({each.content for each in World(seed).statements} for seed in (0, 7))
    assert len(first) >= 150
    assert len(first & second) < len(first) / 4
