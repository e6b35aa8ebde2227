"""What bulk writing costs: one-sentence memories of some twenty words, with vectors and without.

    python -m benchmarks.bulk [--json] [--count 100000] [--at-once 2500] [--kinds vectors,words,off]
        [--database-url postgresql://…]

Through the one call that every surface makes, in this process, at the default durability.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import m3_memory
from benchmarks.fill import Model, sentences
from benchmarks.run import machine, say
from benchmarks.wire import PROJECT
from m3_memory.app import App
from m3_memory.catalog.dispatch import dispatch
from m3_memory.config import Settings
from m3_memory.launch import Launch
from m3_memory.toolbox import CATALOG

_PLACES = "north south east west inner outer upper lower first second third fourth".split()
_HOURS = "dawn morning noon afternoon dusk evening midnight".split()


@dataclass(frozen=True)
class Kind:
    """One way to write: with which model, whether vectors are asked for, and the least it should reach."""

    model: Model
    embed: bool
    least_per_second: float


KINDS: Mapping[str, Kind] = {
    "vectors": Kind("minilm", embed=True, least_per_second=300),
    "words": Kind("minilm", embed=False, least_per_second=5000),
    "off": Kind("off", embed=True, least_per_second=5000),
}
"""With vectors; with the model there and `embed=false`; and without a model, vectors being left to jobs."""


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    count: int
    at_once: int
    database_url: str


def main() -> None:
    parser = argparse.ArgumentParser(description="What bulk writing costs.")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--count", type=int, default=100_000, help="memories to write")
    parser.add_argument("--at-once", type=int, default=2_500, help="memories of one call")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which ways to write")
    parser.add_argument("--database-url", default="", help="an empty PostgreSQL database, for one kind alone")
    asked = parser.parse_args()
    plan = Plan(asked.count, asked.at_once, asked.database_url)
    told = ["…" if word == plan.database_url else word for word in sys.argv[1:]]
    report: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.bulk", *told]),
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "product": {"version": m3_memory.__version__},
        "engine": "PostgreSQL" if plan.database_url else "SQLite",
    }
    for name in asked.kinds.split(","):
        report[name] = measured(name, KINDS[name], plan)
    print(json.dumps(report, indent=1) if asked.json else as_text(report))


def measured(name: str, kind: Kind, plan: Plan) -> dict[str, Any]:
    """Every figure of one way to write, on a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        app = App.open(Settings(home=Path(folder), embedder=kind.model, database_url=plan.database_url))
        app.embedder.get(60)
        items: list[dict[str, Any]] = [
            {"content": said, "type": type_, "embed": kind.embed}
            for type_, said in islice(long_sentences(), plan.count)
        ]
        first = written(app, items, plan.at_once, f"{name}: written")
        again = written(app, items[: plan.count // 10], plan.at_once, f"{name}: written again")
        app.close()
        on_disk = sum(path.stat().st_size for path in Path(folder).iterdir() if path.is_file())
    if (first["created"], again["duplicates"]) != (plan.count, plan.count // 10):
        raise RuntimeError(f"not every memory was written once: {first}, {again}")
    report = {
        "memories": plan.count,
        "at_once": plan.at_once,
        "words_a_memory": round(sum(len(str(item["content"]).split()) for item in items) / len(items), 1),
        **first,
        "again_per_second": again["per_second"],
    }
    if not plan.database_url:
        report["bytes_a_memory"] = round(on_disk / plan.count)
        report["least_per_second"] = kind.least_per_second
        report["held"] = first["per_second"] >= kind.least_per_second
    return report


def written(app: App, items: list[dict[str, Any]], at_once: int, label: str) -> dict[str, Any]:
    """Writes the items, so many a call, each call with a time limit as any other has."""
    caller, _ = app.caller_for(Launch(agent="benchmark", project=PROJECT))
    counts = {"created": 0, "duplicates": 0, "without_vector": 0}
    seconds: list[float] = []
    used = time.process_time()
    for start in range(0, len(items), at_once):
        given = {"items": items[start : start + at_once]}
        begun = time.perf_counter()
        outcome = dispatch(CATALOG, app.context(caller), "memory_write_bulk", given)
        seconds.append(time.perf_counter() - begun)
        if outcome.structured is None or outcome.structured["failed"]:
            raise RuntimeError(outcome.text[:1000])
        for name in ("created", "duplicates"):
            counts[name] += outcome.structured[name]
        results: list[dict[str, Any]] = outcome.structured["results"]
        counts["without_vector"] += sum(result["vector"] != "ready" for result in results)
        say(f"{label}: {start + len(results)} of {len(items)}")
    return {
        "seconds": round(sum(seconds), 1),
        "per_second": round(len(items) / sum(seconds)),
        "processor_seconds": round(time.process_time() - used, 1),
        "longest_call_seconds": round(max(seconds), 2),
        **counts,
    }


def long_sentences() -> Iterator[tuple[str, str]]:
    """Endless (type, statement of some twenty words), no statement twice."""
    chance = random.Random(7)
    for kind, said, _ in sentences(seed=0):
        where, when = chance.choice(_PLACES), chance.choice(_HOURS)
        rest = f"as the {where} team found out in the {when} of day {chance.randint(1, 300)}."
        yield kind, f"{said.removesuffix('.')}, {rest}"


def as_text(report: Mapping[str, Any]) -> str:
    """The report for a person: a line a part."""
    return "\n".join(f"{name}: {json.dumps(value)}" for name, value in report.items())


if __name__ == "__main__":
    main()
