"""How well search finds the right memory, on sets in a folder of your own, through the public calls.

    python benchmarks/retrieval.py DIR [--json] [--embedder minilm|off] [--mode hybrid] [--set NAME]
                                       [--commit HASH]

DIR holds a folder a set: `corpus.jsonl` (turns: id, text, date, scope, session, speaker, role) or
`memories.jsonl` (id, text, date, scope, kind), and `queries.jsonl` (qid, query, gold, category, scope;
perhaps avoid, as_of, answerable). A scope is a project. Everything is loaded in date order by memory_write,
then asked by memory_search with default settings. Beside each figure stands that of plain BM25 over the same
texts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m3_memory.app import App
from m3_memory.config import Settings
from m3_memory.domains.retrieval.model import SearchMode
from m3_memory.kernel.limits import MAX_CONTENT_CHARACTERS
from m3_memory.kernel.ranking import Bm25, Document, TermStatistics, inverse_frequency
from m3_memory.kernel.vocabulary import MEMORY_TYPES
from m3_memory.launch import Launch
from m3_memory.surfaces.session import Session

DEPTH = 50
CUTS = (1, 5, 10, 20)
NO_SCOPE = "everything"

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Set:
    """One evaluation set: what is remembered, what else lies in the store, and what is asked."""

    name: str
    corpus: list[Record]
    noise: list[Record]
    queries: list[Record]
    scoped: bool

    def scope_of(self, record: Record) -> str:
        return str(record["scope"]) if self.scoped else NO_SCOPE


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall of memory_search on sets in a folder of your own.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--embedder", choices=("minilm", "off"), default="minilm")
    parser.add_argument("--mode", choices=tuple(SearchMode), default=SearchMode.HYBRID)
    parser.add_argument("--set", action="append", dest="only", default=[])
    parser.add_argument("--commit", default="", help="what the report calls the code that was measured")
    asked = parser.parse_args()
    options = f"--embedder {asked.embedder} --mode {asked.mode}"
    report: dict[str, Any] = {
        "command": f"python benchmarks/retrieval.py DIR --json {options}",
        "machine": f"{platform.platform()}, {os.cpu_count()} processors",
        "python": platform.python_version(),
        "commit": asked.commit,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    for found in sets(asked.folder):
        if not asked.only or found.name in asked.only:
            report[found.name] = measure(found, asked.embedder, asked.mode)
            if not asked.json:
                print(
                    found.name, json.dumps(report[found.name]["ours"]), json.dumps(report[found.name]["bm25"])
                )
    if asked.json:
        json.dump(report, sys.stdout, indent=1)
        print()


def sets(folder: Path) -> Iterator[Set]:
    """Every set below the folder; memories of several scopes also all in one store, among others' facts."""
    for questions in sorted(folder.glob("*/queries.jsonl")):
        home = questions.parent
        sources = [path for name in ("corpus.jsonl", "memories.jsonl") if (path := home / name).exists()]
        if not sources:
            continue
        corpus, queries = list(lines(sources[0])), list(lines(questions))
        scoped = all("scope" in record for record in corpus)
        yield Set(home.name, corpus, [], queries, scoped)
        if sources[0].name == "memories.jsonl":
            noise = [record for path in sorted(folder.glob("*/observations.jsonl")) for record in lines(path)]
            yield Set(f"{home.name}_noise", corpus, noise, queries, scoped=False)


def lines(path: Path) -> Iterator[Record]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def measure(of: Set, embedder: str, mode: str) -> dict[str, Any]:
    """Loads and asks one set; figures of ours and of plain BM25 on the same questions."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        app = App.open(Settings(home=home) if embedder == "minilm" else Settings(home=home, embedder="off"))
        app.embedder.get(60)
        sessions = _Sessions(app)
        started = time.perf_counter()
        known = load(of, sessions)
        loaded = time.perf_counter()
        ranked = {str(q["qid"]): ask(of, sessions, known, q, mode) for q in of.queries}
        answered = time.perf_counter()
        app.close()
    floor = plain(of)
    return {
        "memories": len(of.corpus) + len(of.noise),
        "questions": len(of.queries),
        "load_seconds": round(loaded - started, 1),
        "milliseconds_a_question": round(1000 * (answered - loaded) / max(1, len(of.queries)), 1),
        "ours": figures(of.queries, ranked),
        "bm25": figures(of.queries, floor),
        "by_category": {
            name: figures([q for q in of.queries if q.get("category") == name], ranked)
            for name in sorted({str(q.get("category")) for q in of.queries})
        },
    }


class _Sessions:
    """One session a scope over one installation, each in a project of its own."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._open: dict[str, Session] = {}

    def call(self, scope: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if scope not in self._open:
            self._open[scope] = Session(Launch(agent="benchmark", project=f"benchmark/{scope}"), self._app)
        outcome = self._open[scope].call(tool, arguments)
        if outcome.structured is None:
            raise RuntimeError(f"{tool}: {outcome.text}")
        return outcome.structured


def load(of: Set, sessions: _Sessions) -> dict[str, str]:
    """Writes everything in date order; from the store's ids to the set's."""
    known: dict[str, str] = {}
    for record in sorted([*of.corpus, *of.noise], key=lambda record: str(record.get("date") or "")):
        for arguments in writing(record):
            written = sessions.call(of.scope_of(record), "memory_write", arguments)
            known.setdefault(written["id"], str(record["id"]))
    return known


def writing(record: Record) -> Iterator[dict[str, Any]]:
    """A turn or a memory as arguments of memory_write; one longer than a memory may be, as several."""
    arguments: dict[str, Any] = {"valid_from": record.get("date") or ""}
    text = str(record["text"])
    text += f" [photo: {record['image_caption']}]" if record.get("image_caption") else ""
    if "kind" in record or not (record.get("role") or record.get("speaker")):
        kind = str(record.get("kind", "fact"))
        arguments["type"] = kind if kind in MEMORY_TYPES else "note"
    else:
        text = f"{record['speaker']}: {text}" if record.get("speaker") else text
        arguments |= {"type": "conversation", "conversation_id": str(record.get("session") or "")}
        arguments |= {"metadata": {"role": record["role"]}} if record.get("role") else {}
    for start in range(0, len(text), MAX_CONTENT_CHARACTERS):
        yield arguments | {"content": text[start : start + MAX_CONTENT_CHARACTERS]}


def ask(of: Set, sessions: _Sessions, known: Mapping[str, str], query: Record, mode: str) -> list[str]:
    """The set's ids of the best memories for a question."""
    arguments = {"query": query["query"], "k": DEPTH, "search_mode": mode, "as_of": query.get("as_of") or ""}
    found = sessions.call(of.scope_of(query), "memory_search", arguments)
    return [known[hit["id"]] for hit in found["hits"]]


def plain(of: Set) -> dict[str, list[str]]:
    """Plain BM25 (k1 1.2, b 0.75; words lower-cased, stop words dropped, not stemmed) inside the scope."""
    indexes: dict[str, _Plain] = {}
    texts: dict[str, list[Record]] = defaultdict(list)
    for record in [*of.corpus, *of.noise]:
        texts[of.scope_of(record)].append(record)
    for scope, records in texts.items():
        indexes[scope] = _Plain(records)
    return {str(q["qid"]): indexes[of.scope_of(q)].best(str(q["query"])) for q in of.queries}


_STOP = frozenset(
    "a an and are as at be by did do does for from had has have how i in is it its my of on or our s t that"
    " the their them they this to was we were what when where which who why will with you your".split()
)


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z0-9_]+", text.lower()) if word not in _STOP]


class _Plain:
    def __init__(self, records: Sequence[Record]) -> None:
        fields = ("speaker", "text", "image_caption")
        self._ids = [str(record["id"]) for record in records]
        self._counts = [Counter(_words(" ".join(str(r.get(f) or "") for f in fields))) for r in records]
        holding = Counter(word for counts in self._counts for word in counts)
        self._lengths = [max(1, counts.total()) for counts in self._counts]
        self._usual = sum(self._lengths) / max(1, len(records))
        self._known = TermStatistics(len(records), self._usual, holding)

    def best(self, query: str) -> list[str]:
        words = frozenset(_words(query))
        weights = {word: inverse_frequency(word, self._known) for word in sorted(words)}
        bm25 = Bm25(weights, self._usual, k1=1.2, b=0.75)
        scores: list[tuple[float, int]] = []
        for place, (counts, length) in enumerate(zip(self._counts, self._lengths, strict=True)):
            held = {word: counts[word] for word in weights if counts[word]}
            scores.append((bm25.score(Document(length, ((length, held),))), place))
        ranked = sorted((pair for pair in scores if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
        return [self._ids[place] for _, place in ranked[:DEPTH]]


def figures(queries: Iterable[Record], ranked: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Recall at CUTS, MRR, nDCG@10 over answerable questions; stale over those that name out-of-date ids."""
    scored: dict[str, list[float]] = defaultdict(list)
    for query in queries:
        gold = list(dict.fromkeys(query.get("gold") or []))
        found = list(dict.fromkeys(ranked[str(query["qid"])]))
        if not gold:
            scored["abstained"].append(float(not found))
        elif query.get("answerable") is not False:
            _score(scored, found, gold, query.get("avoid") or [])
    return {"n": len(scored["MRR"])} | {name: round(sum(v) / len(v), 4) for name, v in scored.items() if v}


def _score(scored: dict[str, list[float]], found: list[str], gold: list[str], avoid: Sequence[str]) -> None:
    right = set(gold)
    for cut in CUTS:
        scored[f"R@{cut}"].append(len(right.intersection(found[:cut])) / len(right))
    scored["any@10"].append(float(bool(right.intersection(found[:10]))))
    first = next((place for place, name in enumerate(found) if name in right), None)
    scored["MRR"].append(0.0 if first is None else 1 / (first + 1))
    gained = sum(1 / math.log2(place + 2) for place, name in enumerate(found[:10]) if name in right)
    scored["nDCG@10"].append(gained / sum(1 / math.log2(place + 2) for place in range(min(10, len(right)))))
    if old := set(avoid) - right:
        bad = next((place for place, name in enumerate(found) if name in old), None)
        scored["stale"].append(float(bad is not None and (first is None or bad < first)))


if __name__ == "__main__":
    main()
