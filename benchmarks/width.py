"""What a wide store costs as a whole: listed, exported, reindexed, examined; and eight who write at once.

    python -m benchmarks.width [--json] [--rows 60000] [--writes 200] [--embedder minilm|hashing|off]

Every pass is checked to have met every row. Progress goes to standard error; benchmarks/README.md tells how
each figure is made. Seconds are wall time, megabytes the largest resident set of the process that did it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import m3_memory
from benchmarks.fill import Model, fill, sentences
from benchmarks.run import machine, milliseconds, percentile, say, spread
from benchmarks.wire import PROJECT, Server, server_environment

# A child's ru_maxrss counts what its parent held when it was forked; VmHWM begins anew.
_COMMAND = """
import sys
from pathlib import Path
from m3_memory.__main__ import main
code = main()
fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(fields["VmHWM"].split()[0], file=sys.stderr)
sys.exit(code)
"""
WRITERS = 8
PAGE = 500
ASKED = {"query": "which port does the service listen on", "k": 10}
COMMAND_EVERY = 20
"""One write in so many goes through the command line, a process of its own."""

# What we aim at: a figure's name in the report, and the most it may be.
AIMS: tuple[tuple[str, str, float], ...] = (
    ("status", "seconds", 1.0),
    ("export", "megabytes", 100.0),
    ("reindex", "megabytes", 100.0),
    ("doctor", "megabytes", 250.0),
    ("list", "grown_megabytes", 50.0),
    ("write_together", "p99_ms", 1_000.0),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="What a wide store costs as a whole.")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--rows", type=int, default=60_000, help="memories in the store")
    parser.add_argument("--writes", type=int, default=200, help="writes of each of eight processes")
    parser.add_argument("--embedder", default="minilm", choices=get_args(Model))
    asked = parser.parse_args()
    report = measured(asked.rows, asked.writes, asked.embedder)
    report["aims"] = [
        {
            "figure": f"{part}.{name}",
            "measured": report[part][name],
            "at_most": most,
            "held": report[part][name] <= most,
        }
        for part, name, most in AIMS
    ]
    print(json.dumps(report, indent=1) if asked.json else as_text(report))


def measured(rows: int, writes: int, embedder: Model) -> dict[str, Any]:
    """Every figure; a pass that missed a row raises RuntimeError."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        fill(
            home,
            embedder,
            rows,
            synthetic=embedder != "off",
            said=lambda done: say(f"{done} of {rows} written"),
        )
        environment = server_environment(home, M3_EMBEDDER=embedder)
        target = home / "all.jsonl"
        report: dict[str, Any] = {
            "command": f"python -m benchmarks.width {' '.join(sys.argv[1:])}".strip(),
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "product": {"version": m3_memory.__version__, "embedder": embedder},
            "rows": rows,
            "status": command(environment, ["status"], rows, lambda told: told["memories"]["current"]),
            "list": measure_listing(environment, rows),
            "export": command(environment, ["export", str(target)], rows, lambda told: told["memories"]),
            "reindex": command(environment, ["reindex"], rows, lambda told: told["versions"]),
            "doctor": command(environment, ["doctor"], rows, lambda told: told["counts"]["memories"]),
            "backup": command(environment, ["backup"], None, lambda told: told["bytes"]),
            "write_together": measure_writers(environment, writes),
        }
        return report


def command(
    environment: Mapping[str, str], words: Sequence[str], rows: int | None, met: Callable[[Any], int]
) -> dict[str, float]:
    """Seconds and megabytes of one command, which must have met so many rows. Linux only."""
    say(" ".join(words[:1]))
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, "--project", PROJECT, "--json", *words],
        env=dict(environment),
        cwd=environment["M3_HOME"],
        capture_output=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    if done.returncode or (rows is not None and met(json.loads(done.stdout)) != rows):
        raise RuntimeError(f"{words}: {done.stdout.decode()}{done.stderr.decode()}")
    kilobytes = int(done.stderr.split()[-1])
    return {"seconds": round(seconds, 2), "megabytes": round(kilobytes / 1024, 1)}


def measure_listing(environment: Mapping[str, str], rows: int) -> dict[str, float]:
    """All pages of `memory_list` over MCP, and by how much the server grew for them."""
    say("list")
    with Server(environment) as server:
        server.call("memory_list", {"limit": 1})
        before = server.memory_megabytes()["resident"]
        started = time.perf_counter()
        ids: set[str] = set()
        asked: dict[str, Any] = {"limit": PAGE}
        while True:
            page, _ = server.call("memory_list", asked)
            ids.update(row["id"] for row in page["memories"])
            if "cursor" not in page:
                break
            asked = {"limit": PAGE, "cursor": page["cursor"]}
        seconds = time.perf_counter() - started
        if len(ids) != rows:
            raise RuntimeError(f"listed {len(ids)} of {rows}")
        grown = server.memory_megabytes()["resident"] - before
    return {"seconds": round(seconds, 2), "grown_megabytes": round(grown, 1)}


def measure_writers(environment: Mapping[str, str], writes: int) -> dict[str, Any]:
    """Eight servers that write at once while a ninth searches and the worker runs; commands write in between.

    Every write must be created. Times are of writes over MCP, from the request to the answer.
    """
    say("writing together")
    fresh = list(islice(sentences(seed=5), WRITERS * writes))
    over = threading.Event()
    with ExitStack() as stack, ThreadPoolExecutor(WRITERS + 2) as pool:
        servers = [stack.enter_context(Server(environment)) for _ in range(WRITERS)]
        for server in servers:
            server.call("memory_search", ASKED)  # opens the store and loads the model
        reading = pool.submit(_search_on, stack.enter_context(Server(environment)), over)
        working = pool.submit(_work_on, environment, over)
        shares = [fresh[number::WRITERS] for number in range(WRITERS)]
        try:
            seconds = [
                taken for of in pool.map(_write, servers, shares, [environment] * WRITERS) for taken in of
            ]
        finally:
            over.set()
        searches, rounds = reading.result(), working.result()
    figures = spread(seconds)
    return {
        "writes": len(fresh),
        "p50_ms": figures["p50"],
        "p99_ms": milliseconds(percentile(seconds, 99)),
        "slowest_ms": milliseconds(max(seconds)),
        "searches_meanwhile": searches,
        "worker_rounds_meanwhile": rounds,
    }


def _write(
    server: Server, share: Sequence[tuple[str, str, str]], environment: Mapping[str, str]
) -> list[float]:
    seconds: list[float] = []
    for number, (kind, statement, _) in enumerate(share):
        content = f"Together: {statement}"
        if number % COMMAND_EVERY == COMMAND_EVERY - 1:
            command(environment, ["memory", "write", content, "--type", kind], 1, _created)
            continue
        answer, taken = server.call("memory_write", {"content": content, "type": kind})
        if _created(answer) != 1:
            raise RuntimeError(f"a write was not stored: {answer}")
        seconds.append(taken)
    return seconds


def _created(answer: Mapping[str, Any]) -> int:
    return int(answer["status"] == "created")


def _search_on(server: Server, over: threading.Event) -> int:
    count = 0
    while not over.is_set():
        server.call("memory_search", ASKED)
        count += 1
    return count


def _work_on(environment: Mapping[str, str], over: threading.Event) -> int:
    count = 0
    while not over.is_set():
        command(environment, ["worker", "--once"], 0, lambda told: told["failed"])
        count += 1
    return count


def as_text(report: Mapping[str, Any]) -> str:
    """The report for a person: each part on a line, then the aims."""
    lines = [f"{name}: {json.dumps(value)}" for name, value in report.items() if name != "aims"]
    for aim in report["aims"]:
        verdict = "held" if aim["held"] else "MISSED"
        lines.append(f"{verdict:6} {aim['figure']}: {aim['measured']}, at most {aim['at_most']:g}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
