"""Holds the shipped int8 model against the upstream weights in full precision, and times it.

    python dev/compare_minilm.py

Prints the cosines between both over varied texts (at least 0.98, and 0.99 in the mean, else exit 1), then the
time to load, to embed a question, and the texts of about a hundred tokens embedded in a second.
"""

from __future__ import annotations

import sys
import tempfile
import time
from math import erf, sqrt
from pathlib import Path
from statistics import median

import numpy as np
from build_minilm import (
    DIMENSION,
    HEADS,
    LAYER_NORM_EPSILON,
    LAYERS,
    Floats,
    Weights,
    fetch,
    read_safetensors,
)

from m3_memory.inference.minilm.model import FOLDER, MiniLm
from m3_memory.inference.wordpiece import WordPiece

LEAST_COSINE = 0.98
LEAST_MEAN_COSINE = 0.99
QUESTIONS = (
    "how do we cut a release",
    "which port does the staging database listen on",
    "why did the nightly build fail last Tuesday",
    "who owns the billing service",
    "what is the retry limit of the job queue",
    "where are the API keys kept",
    "does the parser accept trailing commas",
    "when does the certificate expire",
)
STATEMENTS = (
    "We release from main every Thursday: tag vX.Y.Z, wait for CI, then publish the wheel by hand.",
    "The staging database moved from port 5432 to 6543 on 2026-03-02 because of the pooler.",
    "Nightly build failed: ERR_MODULE_NOT_FOUND for @acme/parser, fixed by pinning node to 22.4.1.",
    "Billing belongs to Ana's team now; Raj keeps the invoices cron until June.",
    "def retry(job: Job, limit: int = 5) -> None:\n    for attempt in range(limit):\n        job.run()",
    "SELECT id, created_at FROM orders WHERE state = 'open' ORDER BY created_at DESC LIMIT 20;",
    "Keys live in the vault under kv/prod/api; never in .env files.",
    '{"trailingComma": "all", "printWidth": 100, "semi": false}',
    "The TLS certificate of api.example.org expires on 2027-01-15; renewal is automatic through ACME.",
    "User prefers tabs over spaces and short commit messages in the imperative.",
    "alice: did you try turning the feature flag off?\nbob: yes, still 500s on /v1/checkout",
    "Traceback (most recent call last): KeyError: 'tenant_id' in middleware/auth.py line 88",
    "git rebase --onto main feature~3 feature",
    "kubectl -n payments rollout undo deployment/ledger --to-revision=42",
    "Der Server steht in Frankfurt, die Sicherung läuft um drei Uhr nachts.",
    "La réunion d'équipe est déplacée au jeudi à quinze heures.",
    "数据库迁移之前必须先备份。",
    "サーバーの再起動は毎週日曜日に行われます。",
    "Резервные копии хранятся тридцать дней.",
    "🙂 shipped! the dashboard loads in 0.8 s now 🚀",
    "snake_case_identifier camelCaseIdentifier HTTPServerError kebab-case-name dotted.path.name",
    "v1.2.3 -> v1.3.0-rc.1+build.5",
    "ok",
    "?",
    "C:\\Users\\dev\\AppData\\Local\\m3\\store.db is locked by another process",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c1506b3b2f1",
    "The cat sat on the mat. The dog lay on the rug. Neither of them cared about the deploy.",
    "Never force-push to release branches. Always squash. Ask before deleting remote tags.",
    "http://localhost:8080/health?verbose=1#section-2",
    "Memory usage peaked at 1.8 GiB with 12 workers, dropping to 640 MiB with 4 workers and jemalloc.",
    "I'm allergic to peanuts, and my sister's wedding is on the 4th of July.",
    " ".join(f"Step {n}: check item {n} of the list, then sign it off." for n in range(1, 17)),
)


def reference(weights: Weights, tokens: list[int]) -> Floats:
    """The unit vector of one text, in full precision, by the formulas of the BERT paper."""

    def linear(value: Floats, name: str) -> Floats:
        return value @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(value: Floats, name: str) -> Floats:
        centred = value - value.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + np.float32(LAYER_NORM_EPSILON))
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    prefix = "embeddings."
    value = weights[f"{prefix}word_embeddings.weight"][tokens]
    value = value + weights[f"{prefix}position_embeddings.weight"][: len(tokens)]
    value = norm(value + weights[f"{prefix}token_type_embeddings.weight"][0], f"{prefix}LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        query, key, content = (
            linear(value, f"{prefix}attention.self.{part}").reshape(len(tokens), HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(sqrt(DIMENSION / HEADS))
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        mixed = (shares @ content).transpose(1, 0, 2).reshape(len(tokens), DIMENSION)
        value = norm(
            value + linear(mixed, f"{prefix}attention.output.dense"), f"{prefix}attention.output.LayerNorm"
        )
        inner = gelu(linear(value, f"{prefix}intermediate.dense"))
        value = norm(value + linear(inner, f"{prefix}output.dense"), f"{prefix}output.LayerNorm")
    mean = value.mean(0)
    return mean / np.linalg.norm(mean)


def gelu(value: Floats) -> Floats:
    return value * (1 + np.vectorize(erf, otypes=[np.float32])(value / np.float32(sqrt(2)))) / 2


def cosines(model: MiniLm) -> list[tuple[float, str]]:
    vocabulary = (FOLDER / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    tokenizer = WordPiece(vocabulary)
    with tempfile.TemporaryDirectory() as scratch:
        fetch(Path(scratch))
        weights = read_safetensors(Path(scratch) / "model.safetensors")
    found: list[tuple[float, str]] = []
    for text in QUESTIONS + STATEMENTS:
        pieces = [piece for word in tokenizer.words(text) for piece in word.pieces]
        exact = reference(weights, [*tokenizer.opening, *pieces, *tokenizer.closing])
        vector = np.frombuffer(model.embed([text])[0], "<f2").astype(np.float32)
        found.append((float(exact @ vector / np.linalg.norm(vector)), text))
    return sorted(found)


def main() -> int:
    start = time.perf_counter()
    model = MiniLm.load()
    model.embed(["first"])
    print(f"load and first vector: {1e3 * (time.perf_counter() - start):.0f} ms (numpy was there already)")
    found = cosines(model)
    values = [value for value, _ in found]
    print(f"cosine to full precision, {len(values)} texts: least {values[0]:.4f}, mean {np.mean(values):.4f}")
    for value, text in found[:5]:
        print(f"  {value:.4f} {text[:80]!r}")
    print(f"a question: {1e3 * median(seconds(model, text) for text in QUESTIONS * 20):.2f} ms (median)")
    text = " ".join(STATEMENTS[:5])
    rate = 1 / median(seconds(model, text) for _ in range(50))
    print(f"texts of {len(text.split())} words: {rate:.0f} a second")
    return 0 if values[0] >= LEAST_COSINE and np.mean(values) >= LEAST_MEAN_COSINE else 1


def seconds(model: MiniLm, text: str) -> float:
    start = time.perf_counter()
    model.embed([text])
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
