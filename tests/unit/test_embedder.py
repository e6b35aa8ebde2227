"""Every model keeps the promises of `Embedder`; the default one knows meaning, offline."""

from __future__ import annotations

import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import sqrt
from zlib import crc32

import pytest

from m3_memory.inference.embedder import Embedder
from m3_memory.inference.hashing import HashingEmbedder
from m3_memory.inference.minilm.model import MiniLm

TEXTS = (
    "",
    "?",
    "how do we cut a release",
    "数据库迁移需要备份",
    "naïve café 🙂\n\tdef f(x): return x",
    "\ud800 lone surrogate",
    "word " * 2000,
    "\x00",
)


@pytest.fixture(scope="session")
def minilm() -> MiniLm:
    return MiniLm.load()


@pytest.fixture(params=["minilm", "hashing"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return request.getfixturevalue("minilm") if request.param == "minilm" else HashingEmbedder()


def values(vector: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(vector) // 2}e", vector))


def cosine(first: bytes, second: bytes) -> float:
    return sum(a * b for a, b in zip(values(first), values(second), strict=True))


def test_every_text_has_one_finite_unit_vector(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert [len(vector) for vector in vectors] == [2 * embedder.fingerprint.dimension] * len(TEXTS)
    for vector in vectors:
        assert sqrt(sum(value * value for value in values(vector))) == pytest.approx(1, abs=2e-3)


def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]) == []


def test_a_vector_does_not_depend_on_the_texts_beside_it(embedder: Embedder) -> None:
    assert embedder.embed(TEXTS) == [embedder.embed([text])[0] for text in TEXTS]


def test_a_vector_does_not_depend_on_the_thread_that_asks(embedder: Embedder) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(embedder.embed, [TEXTS[:5]] * 12))
    assert answers == [embedder.embed(TEXTS[:5])] * 12


def test_a_short_text_is_its_own_window(embedder: Embedder) -> None:
    assert [embedder.windows(text) for text in TEXTS[:5]] == [[text] for text in TEXTS[:5]]


def test_a_long_text_is_covered_by_overlapping_windows(embedder: Embedder) -> None:
    words = [f"item{number}" for number in range(3000)]
    parts = [part.split() for part in embedder.windows(" ".join(words))]
    assert len(parts) > 5
    assert parts[0][0] == words[0]
    assert parts[-1][-1] == words[-1]
    for part, following in pairwise(parts):
        shared = len(part) - part.index(following[0])
        assert 0 < shared < len(part) / 2
        assert part[-shared:] == following[:shared]


def test_the_end_of_a_long_text_still_counts(embedder: Embedder) -> None:
    filler = "the weather was mild and nothing much happened " * 100
    plain, told, question = embedder.embed(
        [filler, filler + "the vault password rotates monthly " * 20, "vault password"]
    )
    assert cosine(told, question) > cosine(plain, question) + 0.02


def test_hashed_vectors_are_the_same_in_every_process() -> None:
    program = (
        "from m3_memory.inference.hashing import HashingEmbedder\n"
        "print(HashingEmbedder().embed(['How do we cut'])[0].hex())"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == HashingEmbedder().embed(["How do we cut"])[0].hex()
    places = {crc32(word) % 256 for word in (b"how", b"do", b"we", b"cut")}
    found = values(HashingEmbedder().embed(["How do we cut"])[0])
    assert {place for place, value in enumerate(found) if value} == places


def test_hashed_texts_with_common_words_are_near() -> None:
    first, second, other = HashingEmbedder().embed(
        ["deploy on Friday evening", "we deploy on friday", "the cat sat there"]
    )
    assert cosine(first, second) > 0.5 > cosine(first, other)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how do we publish a new version", 0),
        ("which database port is used before production", 1),
        ("who is responsible for invoices", 2),
        ("why did last night's tests break", 3),
        ("editor indentation preference", 4),
    ],
)
def test_the_default_model_finds_the_answer_that_shares_no_words(
    minilm: MiniLm, question: str, answer: int
) -> None:
    memories = (
        "Cutting releases: tag main on Thursday, wait for CI, then upload the wheel.",
        "Staging's Postgres listens on 6543.",
        "Billing belongs to Ana's team.",
        "The nightly build failed because of a missing node module.",
        "User likes tabs, not spaces.",
    )
    asked, *vectors = minilm.embed([question, *memories])
    scores = [cosine(asked, vector) for vector in vectors]
    assert scores.index(max(scores)) == answer
    assert scores[answer] > sorted(scores)[-2] + 0.02


# The first values for these texts by the original weights in full precision (dev/compare_minilm.py).
@pytest.mark.parametrize(
    ("text", "first_values"),
    [
        (
            "how do we cut a release",
            [0.026, 0.066, 0.056, -0.011, -0.001, 0.017, 0.013, -0.019, 0.015, 0.095],
        ),
        (
            "The staging database moved to port 6543.",
            [0.028, -0.016, -0.069, -0.047, 0.023, -0.043, -0.082, -0.09, -0.09, 0.039],
        ),
        (
            "def retry(job, limit=5): job.run()",
            [-0.087, -0.018, 0.02, 0.037, -0.03, -0.081, -0.021, -0.085, -0.047, -0.025],
        ),
    ],
)
def test_the_default_model_agrees_with_its_original(
    minilm: MiniLm, text: str, first_values: list[float]
) -> None:
    assert values(minilm.embed([text])[0])[:10] == pytest.approx(first_values, abs=0.015)


def test_the_default_model_names_its_space_by_the_digest_of_its_weights(minilm: MiniLm) -> None:
    fingerprint = minilm.fingerprint
    assert (fingerprint.dimension, len(fingerprint.weights_digest)) == (384, 64)
    assert fingerprint != HashingEmbedder().fingerprint
