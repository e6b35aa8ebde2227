"""Two digests of weights stand for one model if they are equal, or nearly the same probe."""

from __future__ import annotations

import random

from m3_memory.kernel.fingerprint import nearest_digest, probe_digest

RANDOM = random.Random(3)
VALUES = [RANDOM.gauss(0, 1) for _ in range(1024)]
PROBED = probe_digest(VALUES)


def noisy(amount: float, seed: int = 1) -> str:
    chance = random.Random(seed)
    return probe_digest([value + chance.gauss(0, amount) for value in VALUES])


def test_a_digest_is_found_as_it_stands() -> None:
    assert nearest_digest("abc", ["xyz", "abc"]) == "abc"
    assert nearest_digest(PROBED, [noisy(0.01), PROBED]) == PROBED


def test_a_probe_is_found_by_one_that_rounds_differently() -> None:
    assert noisy(0.02) != PROBED
    assert nearest_digest(noisy(0.02), ["abc", PROBED]) == PROBED


def test_the_nearest_of_several_probes_is_taken() -> None:
    near, far = noisy(0.01), noisy(0.05, seed=2)
    assert nearest_digest(PROBED, [far, near]) == near


def test_another_model_is_another_whatever_the_store_knows() -> None:
    other = probe_digest([RANDOM.gauss(0, 1) for _ in range(1024)])
    tuned = noisy(0.5)
    shorter = probe_digest(VALUES[:1000])
    for digest in (other, tuned, shorter, "abc", ""):
        assert nearest_digest(digest, [PROBED, "xyz"]) is None
        assert nearest_digest(PROBED, [digest, "xyz"]) is None
    assert nearest_digest(PROBED, []) is None
