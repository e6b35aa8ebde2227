"""Stores to measure on: made-up coding memories, with the model's vectors or with synthetic ones."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.wire import PROJECT
from m3_memory.app import App
from m3_memory.config import Settings
from m3_memory.context import Context
from m3_memory.domains.memories.model import Draft, WriteRequest
from m3_memory.domains.memories.service import write
from m3_memory.domains.memories.service.writes import add_all, operation, prepare_all
from m3_memory.inference.embedder import Embedder
from m3_memory.inference.source import LazyEmbedder
from m3_memory.kernel.fingerprint import Fingerprint
from m3_memory.launch import Launch

Model = Literal["minilm", "hashing", "off"]

BATCH = 500
PER_CENTRE = 40

_SYLLABLES = "ba co de fi gu ha je ki lo mu na pe qui ro sa te vo wi xa ze".split()
_ADJECTIVES = "nightly stale shared nested remote signed cached broken public hidden atomic partial".split()
_NOUNS = "index queue ledger session token cursor schema tenant bucket replica webhook migration".split()
_TEMPLATES = (
    ("fact", "The {name} service listens on port {number}.", "which port does {name} listen on"),
    ("decision", "We chose {other} over {name} for the {adjective} {noun}.", "why not {name} for the {noun}"),
    (
        "procedure",
        "Before you rebuild the {adjective} {noun} of {name}, drain {other}.",
        "how to rebuild the {noun} of {name}",
    ),
    (
        "observation",
        "{name} loses its {adjective} {noun} after {number} requests.",
        "when does {name} lose the {noun}",
    ),
    ("config", "{name}.{noun}.limit is {number} in production.", "limit of the {noun} in {name}"),
    (
        "preference",
        "Keep the {adjective} {noun} of {name} under {number} lines.",
        "how long may the {noun} of {name} be",
    ),
    (
        "reference",
        "Error {number} in {name} means a {adjective} {noun}.",
        "what does error {number} of {name} mean",
    ),
    (
        "task",
        "Replace the {adjective} {noun} that {name} shares with {other}.",
        "what does {name} share with {other}",
    ),
)


def sentences(seed: int) -> Iterator[tuple[str, str, str]]:
    """Endless (type, statement, question), no statement twice, the same for the same seed."""
    chance = random.Random(seed)
    names = ["".join(chance.choices(_SYLLABLES, k=3)) for _ in range(800)]
    seen: set[str] = set()
    while True:
        kind, statement, question = chance.choice(_TEMPLATES)
        slots = {
            "name": chance.choice(names),
            "other": chance.choice(names),
            "adjective": chance.choice(_ADJECTIVES),
            "noun": chance.choice(_NOUNS),
            "number": chance.randint(1000, 99999),
        }
        said = statement.format(**slots)
        if said not in seen:
            seen.add(said)
            yield kind, said, question.format(**slots)


class Clustered:
    """Vectors of a model's space without the model: unit vectors around random centres, 40 to a centre."""

    def __init__(self, fingerprint: Fingerprint, expected: int, seed: int) -> None:
        self.fingerprint = fingerprint
        self._random = np.random.default_rng(seed)
        self._centres = self._random.standard_normal((max(1, expected // PER_CENTRE), fingerprint.dimension))

    def windows(self, text: str) -> list[str]:
        return [text]

    def embed(self, texts: Sequence[str], seconds: float = math.inf) -> list[bytes]:
        chosen = self._centres[self._random.integers(len(self._centres), size=len(texts))]
        vectors = chosen + 0.6 * self._random.standard_normal(chosen.shape)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return [vector.astype("<f2").tobytes() for vector in vectors]

    def embed_query(self, text: str, seconds: float = math.inf) -> bytes:
        return self.embed([text])[0]


@contextmanager
def opened(home: Path, model: Model) -> Generator[App]:
    """The product over one home, its model loaded."""
    app = App.open(Settings(home=home, embedder=model))
    app.embedder.get(60)
    try:
        yield app
    finally:
        app.close()


def fill(home: Path, model: Model, count: int, *, synthetic: bool, said: Callable[[int], None]) -> None:
    """Adds `count` memories to a store; with synthetic vectors in large transactions, else as calls do.

    `said` is told now and then how many there are.
    """
    source = sentences(seed=0)
    with opened(home, model) as app:
        ctx = _context(app)
        loaded = app.embedder.get()
        if synthetic and loaded is not None:
            ctx = replace(ctx, embedder=_source(Clustered(loaded.fingerprint, count, seed=1)))
        for start in range(0, count, BATCH):
            requests = [_request(next(source)) for _ in range(min(BATCH, count - start))]
            if synthetic:
                _add(ctx, requests)
            else:
                for request in requests:
                    write(ctx, request)
            said(start + len(requests))


def _add(ctx: Context, requests: Sequence[WriteRequest]) -> None:
    drafts = [draft for draft in prepare_all(ctx, requests) if isinstance(draft, Draft)]
    with ctx.write() as writer:
        add_all(operation(ctx, writer), [(draft, "") for draft in drafts])


def _source(embedder: Embedder) -> LazyEmbedder:
    source = LazyEmbedder(lambda: embedder)
    source.get(10)
    return source


def _context(app: App) -> Context:
    caller, _ = app.caller_for(Launch(agent="benchmark", project=PROJECT))
    return replace(app.context(caller), deadline=float("inf"))


def _request(sentence: tuple[str, str, str]) -> WriteRequest:
    return WriteRequest(sentence[1], sentence[0])
