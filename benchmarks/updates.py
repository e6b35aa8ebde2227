"""What the store makes of a statement that follows another, on pairs of your own, through the public calls.

    python benchmarks/updates.py DIR [--pred FILE] [--json] [--commit HASH]

DIR holds `pairs.jsonl`: pair_id, label (update, distinct or duplicate), subtype, old and new (each date and
text), probe, probe_gold (old or new). Each pair is written in a project of its own, the old one first, each
with its date as `valid_from`; then the probe is asked. The same for the pairs of tests/unit/pairs. If
a folder `code_memory` lies next to DIR, 1,000 pairs of one project each are compared, texts alone. FILE
receives one line a pair: what happened, and which of the two is found first. The report holds figures, no
texts.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from m3_memory.app import App
from m3_memory.config import Settings
from m3_memory.kernel.contradiction import compare
from m3_memory.launch import Launch
from m3_memory.storage.neighbourhood import similar_within
from m3_memory.surfaces.session import Session

READERS = Path(__file__).parents[1] / "tests" / "unit" / "pairs"
RANDOM_PAIRS = 1_000
FLOORS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.92)
_LABELS = {"superseding": "update", "duplicate": "duplicate", "disputed": "proposed"}


class Text(NamedTuple):
    content: str
    title: str = ""


@dataclass(frozen=True)
class Pair:
    pair_id: str
    label: str
    subtype: str
    type: str
    old: Mapping[str, str]
    new: Mapping[str, str]
    probe: str
    gold: str


def main() -> None:
    parser = argparse.ArgumentParser(description="Updates, look-alikes and repetitions, told apart.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pred", type=Path, help="receives what happened to each pair, one line each")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--commit", default="", help="what the report calls the code that was measured")
    asked = parser.parse_args()
    predicted: list[dict[str, str]] = []
    report: dict[str, Any] = {
        "command": "python benchmarks/updates.py DIR --json",
        "machine": f"{platform.platform()}, {os.cpu_count()} processors",
        "python": platform.python_version(),
        "commit": asked.commit,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "readers": measure(list(of_readers("first_reader", "second_reader")), []),
        "third_reader": measure(list(of_readers("third_reader")), []),
        "pairs": measure(list(of_folder(asked.folder)), predicted),
    }
    memories = asked.folder.parent / "code_memory" / "memories.jsonl"
    if memories.exists():
        report["random_pairs_of_one_project"] = at_random(memories)
    if asked.pred:
        asked.pred.write_text("".join(f"{json.dumps(line)}\n" for line in predicted), encoding="utf-8")
    json.dump(report, sys.stdout, indent=1 if asked.json else None)
    print()


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def of_folder(folder: Path) -> Iterator[Pair]:
    for p in lines(folder / "pairs.jsonl"):
        yield Pair(
            p["pair_id"], p["label"], p["subtype"], "fact", p["old"], p["new"], p["probe"], p["probe_gold"]
        )


def of_readers(*names: str) -> Iterator[Pair]:
    for name in names:
        for p in lines(READERS / f"{name}.jsonl"):
            old, new = ({"date": p[f"{side}_date"], "text": p[side]} for side in ("old", "new"))
            gold = "new" if p["label"] == "update" else ""
            yield Pair(p["id"], p["label"], p["kind"], p["type"], old, new, p["ask"], gold)


def measure(pairs: list[Pair], predicted: list[dict[str, str]]) -> dict[str, Any]:
    """Writes and asks every pair; what became of those of each label."""
    became: dict[str, Counter[str]] = defaultdict(Counter)
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    cosines: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        app = App.open(Settings(home=Path(folder)))
        embedder = app.embedder.get(60)
        for pair in pairs:
            label, top = happened(app, pair)
            became[pair.label][label] += 1
            predicted.append({"pair_id": pair.pair_id, "label": label, "probe_top": top})
            if pair.gold:
                asked[pair.label] += 1
                right[pair.label] += top == pair.gold or (pair.label == "duplicate" and top != "none")
            if pair.label == "update" and embedder is not None:
                vectors = embedder.embed([pair.old["text"], pair.new["text"]])
                cosines.append(similar_within(vectors, -1.0, 1)[0][0][1])
        app.close()
    return {
        "pairs": len(pairs),
        "became": {label: dict(sorted(counts.items())) for label, counts in sorted(became.items())},
        **shares(became),
        "probe_right": {label: f"{right[label]}/{asked[label]}" for label in sorted(asked)},
        "updates_below_cosine": {str(floor): sum(c < floor for c in cosines) for floor in FLOORS},
    }


def shares(became: Mapping[str, Counter[str]]) -> dict[str, float]:
    updates, others = became["update"], became["distinct"] + became["duplicate"]
    return {
        "others_closed": others["update"],
        "updates_closed": round(updates["update"] / max(1, updates.total()), 3),
        "updates_closed_or_proposed": round(
            (updates["update"] + updates["proposed"]) / max(1, updates.total()), 3
        ),
        "others_proposed": round(others["proposed"] / max(1, others.total()), 3),
    }


def happened(app: App, pair: Pair) -> tuple[str, str]:
    """What the second write did, and which of the two the probe finds first."""
    session = Session(Launch(agent="benchmark", project=f"benchmark/{pair.pair_id}"), app)
    ids: dict[str, str] = {}
    status = ""
    for side, said in (("old", pair.old), ("new", pair.new)):
        arguments = {"type": pair.type, "content": said["text"], "valid_from": said["date"]}
        written = called(session, "memory_write", arguments)
        ids.setdefault(written["id"], side)
        status = str(written["status"])
    hits = called(session, "memory_search", {"query": pair.probe, "k": 5})["hits"]
    return _LABELS.get(status, "distinct"), ids[hits[0]["id"]] if hits else "none"


def called(session: Session, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    outcome = session.call(tool, arguments)
    if outcome.structured is None:
        raise RuntimeError(f"{tool}: {outcome.text}")
    return outcome.structured


def at_random(path: Path) -> dict[str, Any]:
    """What a thousand pairs of memories of one scope each come to, and how long a comparison takes."""
    scopes: dict[str, list[str]] = defaultdict(list)
    for memory in lines(path):
        scopes[str(memory["scope"])].append(str(memory["text"]))
    pairs = [pair for texts in scopes.values() for pair in itertools.combinations(texts, 2)]
    chosen = random.Random(1).sample(pairs, min(RANDOM_PAIRS, len(pairs)))
    verdicts = Counter(compare(Text(old), Text(new)).verdict.value for old, new in chosen)
    started = time.perf_counter()
    for old, new in chosen:
        compare(Text(old), Text(new))
    taken = 1e6 * (time.perf_counter() - started) / len(chosen)
    return {"pairs": len(chosen), **dict(sorted(verdicts.items())), "microseconds_a_pair": round(taken, 1)}


if __name__ == "__main__":
    main()
