"""What the product costs: start, writes, searches, memory, disk, installation; over MCP, as agents see it.

    python -m benchmarks.run [--json] [--sizes 1000,10000,100000] [--embedder minilm|hashing|off] [--install]

Progress goes to standard error. benchmarks/README.md tells how each figure is made. Seconds are wall time.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import m3_memory
from benchmarks.fill import Model, fill, opened, sentences
from benchmarks.installing import bytes_below, measure_installation
from benchmarks.rows import counting
from benchmarks.wire import PROJECT, Server, server_environment
from m3_memory.domains.retrieval.model import SearchRequest
from m3_memory.domains.retrieval.service import search
from m3_memory.launch import Launch

HITS = 10
WARM_UPS = 10
ROWS_SAMPLE = 20

# What we aim at on two quiet cores: a figure's path in the report, and the most it may be.
AIMS = (
    (("start", "compiled", "p50"), 150.0),
    (("sizes", "1000", "write_ms", "p50"), 8.0),
    (("sizes", "10000", "search_ms", "p50"), 6.0),
    (("sizes", "100000", "search_ms", "p50"), 35.0),
    (("sizes", "1000", "idle_megabytes", "resident"), 30.0),
    (("sizes", "100000", "used_megabytes", "resident"), 180.0),
    (("installation", "megabytes"), 250.0),
)


@dataclass(frozen=True)
class Plan:
    """What to measure, and how often."""

    sizes: tuple[int, ...]
    synthetic_above: int
    embedder: Model
    starts: int
    searches: int
    writes: int
    install: bool


def main() -> None:
    parser = argparse.ArgumentParser(description="What the product costs, over MCP.")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories in the store, smallest first")
    parser.add_argument("--synthetic-above", type=int, default=10_000, metavar="N", help="see README.md")
    parser.add_argument("--embedder", default="minilm", choices=get_args(Model))
    parser.add_argument("--starts", type=int, default=20, help="spawns of each kind")
    parser.add_argument("--searches", type=int, default=200, help="timed searches at each size")
    parser.add_argument("--writes", type=int, default=200, help="timed writes at each size")
    parser.add_argument("--install", action="store_true", help="also install into an empty environment")
    asked = parser.parse_args()
    sizes = tuple(int(size) for size in asked.sizes.split(","))
    plan = Plan(
        sizes,
        asked.synthetic_above,
        asked.embedder,
        asked.starts,
        asked.searches,
        asked.writes,
        asked.install,
    )
    report = measured(plan)
    report["aims"] = compared(report)
    print(json.dumps(report, indent=1) if asked.json else as_text(report))


def measured(plan: Plan) -> dict[str, Any]:
    """Every figure of the plan."""
    report: dict[str, Any] = {
        "command": f"python -m benchmarks.run {' '.join(sys.argv[1:])}".strip(),
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "product": {"version": m3_memory.__version__, "embedder": plan.embedder},
    }
    if plan.install:
        say("installing")
        report["installation"] = measure_installation()
    say("starting")
    report["start"] = measure_starts(plan.starts)
    report["sizes"] = {str(size): measure_size(size, plan) for size in plan.sizes}
    return report


def machine() -> dict[str, Any]:
    """What the figures were made on, and how busy it was."""
    model = platform.processor()
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        lines = listed.read_text().splitlines()
        model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), model)
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "processor": model,
        "cores": os.cpu_count(),
        "load_before": [round(load, 2) for load in os.getloadavg()],
    }


def measure_starts(count: int) -> dict[str, Any]:
    """Spawn to answered `tools/list`, compiled and not, and a Python that does nothing, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        environments = {kind: _copy(Path(folder) / kind, compiled=kind == "compiled") for kind in _KINDS}
        seconds: dict[str, list[float]] = {kind: [] for kind in ("bare_python", *_KINDS)}
        for _ in range(count):
            seconds["bare_python"].append(_bare(environments["compiled"]))
            for kind in _KINDS:
                with Server(environments[kind]) as server:
                    seconds[kind].append(server.start_seconds)
    bare = statistics.median(seconds["bare_python"])
    return {
        kind: spread(taken) | {"times_bare_python": round(statistics.median(taken) / bare, 2)}
        for kind, taken in seconds.items()
    }


_KINDS = ("compiled", "uncompiled")


def _copy(folder: Path, *, compiled: bool) -> dict[str, str]:
    """A copy of the package with or without its bytecode, and the environment that runs it."""
    source = Path(m3_memory.__file__).parent
    shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    if compiled:
        compileall.compile_dir(folder, quiet=1)
    return server_environment(folder, PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")


def _bare(environment: Mapping[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env=dict(environment), check=True)
    return time.perf_counter() - started


def measure_size(size: int, plan: Plan) -> dict[str, Any]:
    """Fills a store and asks it: by one server over MCP, and in this process for the rows read."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        synthetic = size > plan.synthetic_above and plan.embedder != "off"
        started = time.perf_counter()
        fill(
            home, plan.embedder, size, synthetic=synthetic, said=lambda done: say(f"{done} of {size} written")
        )
        report: dict[str, Any] = {
            "vectors": "synthetic" if synthetic else plan.embedder,
            "fill_seconds": round(time.perf_counter() - started, 1),
        }
        picked = random.Random(2).sample(list(islice(sentences(0), size)), min(size, plan.searches))
        with Server(server_environment(home, M3_EMBEDDER=plan.embedder)) as server:
            report["idle_megabytes"] = server.memory_megabytes()
            report |= measure_searches(server, picked)
            report["used_megabytes"] = server.memory_megabytes()
            report["write_ms"] = measure_writes(server, plan)
        report["rows_read_a_search"] = rows_read(home, plan.embedder, [question for _, _, question in picked])
        report |= disk(home, size + plan.writes)
        return report


def measure_searches(server: Server, picked: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Times of hybrid searches, and how often the statement asked about was among the hits."""
    say("searching")
    _, first = server.call("memory_search", {"query": picked[0][2], "k": HITS})
    for _, _, question in picked[:WARM_UPS]:
        server.call("memory_search", {"query": question, "k": HITS})
    seconds: list[float] = []
    found = hits = 0
    for _, statement, question in picked:
        answer, taken = server.call("memory_search", {"query": question, "k": HITS})
        seconds.append(taken)
        hits += len(answer["hits"])
        found += any(hit["content"] == statement for hit in answer["hits"])
    return {
        "first_search_ms": milliseconds(first),
        "search_ms": spread(seconds),
        "hits_a_search": round(hits / len(picked), 1),
        "found_share": round(found / len(picked), 3),
    }


def measure_writes(server: Server, plan: Plan) -> dict[str, float]:
    """Times of single writes of new statements, each answered with its vector."""
    say("writing")
    fresh = list(islice(sentences(seed=3), WARM_UPS + plan.writes))
    seconds: list[float] = []
    for kind, statement, _ in fresh:
        answer, taken = server.call("memory_write", {"content": f"Since today: {statement}", "type": kind})
        seconds.append(taken)
        if plan.embedder != "off" and answer["vector"] != "ready":
            raise RuntimeError(f"a write came without its vector: {answer}")
    return spread(seconds[WARM_UPS:])


def rows_read(home: Path, embedder: Model, questions: Sequence[str]) -> float:
    """Rows that one search reads from the database, in the mean; scanned vectors are no rows."""
    with opened(home, embedder) as app:
        caller, _ = app.caller_for(Launch(agent="benchmark", project=PROJECT))
        search(app.context(caller), SearchRequest(questions[0], HITS))
        asked = questions[:ROWS_SAMPLE]
        store = counting(app)
        for question in asked:
            search(replace(app.context(caller), database=store), SearchRequest(question, HITS))
        return round(store.rows_read / len(asked), 1)


def disk(home: Path, memories: int) -> dict[str, Any]:
    """What the store takes up on disk for each memory, once it is closed."""
    vectors = sum(path.stat().st_size for path in home.glob("*.vectors-*"))
    whole = bytes_below(home)
    return {
        "bytes_a_memory": {
            "all": round(whole / memories),
            "database": round((whole - vectors) / memories),
            "vector_cache": round(vectors / memories),
        }
    }


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile, in milliseconds."""
    return {"p50": milliseconds(statistics.median(seconds)), "p95": milliseconds(percentile(seconds, 95))}


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def milliseconds(seconds: float) -> float:
    return round(1000 * seconds, 2)


def compared(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each aim whose figure was measured."""
    found: list[dict[str, Any]] = []
    for path, most in AIMS:
        figure = _at(report, path)
        if figure is not None:
            held = figure <= most
            found.append({"figure": ".".join(path), "measured": figure, "at_most": most, "held": held})
    return found


def _at(report: Mapping[str, Any], path: Sequence[str]) -> float | None:
    *steps, last = path
    for step in steps:
        report = report.get(step, {})
    return report.get(last)


def as_text(report: Mapping[str, Any]) -> str:
    """The report for a person: each part on a line, then the aims."""
    lines = [
        f"{name}: {json.dumps(value)}" for name, value in report.items() if name not in ("sizes", "aims")
    ]
    lines += [f"{size} memories: {json.dumps(figures)}" for size, figures in report["sizes"].items()]
    for aim in report["aims"]:
        verdict = "held" if aim["held"] else "MISSED"
        lines.append(f"{verdict:6} {aim['figure']}: {aim['measured']}, at most {aim['at_most']:g}")
    return "\n".join(lines)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
