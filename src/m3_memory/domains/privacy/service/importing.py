"""Import: ordinary writes by the caller, in chunks, of what a file says; done twice it changes nothing."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from m3_memory.domains.memories.model import Draft, WriteStatus
from m3_memory.domains.memories.service.edges import LinkRequest, linked
from m3_memory.domains.memories.service.targets import targets
from m3_memory.domains.memories.service.trusting import set_trust_all
from m3_memory.domains.memories.service.writes import add_all, operation, prepare_all
from m3_memory.domains.privacy.model import EdgeLine, ImportResult, MemoryLine, Problem
from m3_memory.domains.privacy.service.files import entries_of
from m3_memory.domains.privacy.service.known import ask, known_as
from m3_memory.errors import (
    DamagedExport,
    DeadlinePassed,
    InvalidArgument,
    M3Error,
    Missing,
    Tombstoned,
    Unavailable,
)
from m3_memory.kernel.ids import new_id
from m3_memory.kernel.normal import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.domains.privacy.model import Entry

CHUNK = 500
"""Entries of one transaction at most."""

LONGEST_TEXT_CHARACTERS = 5_000_000
"""Of an import within one call; files of any size are for the command."""

_NAMED = 20
"""So many problems and warnings are named."""

_LEAST_SECONDS = 2.0
"""Time that must be left for another chunk to be begun, and for one to be stored."""


_COUNTS = (
    *("imported", "accepted", "unchanged", "duplicates", "for_review"),
    *("edges", "edges_without_ends", "refused", "malformed"),
)
_CHANGES = ("imported", "accepted", "for_review", "edges")


@dataclass(slots=True)
class _Tally:
    """What came of entries, so far: counts by their names in the result."""

    counts: Counter[str] = field(default_factory=Counter[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    warnings: list[str] = field(default_factory=list[str])
    stored_as: dict[str, str] = field(default_factory=dict[str, str])

    def refuse(self, line: int, error: M3Error) -> None:
        self.counts["refused"] += 1
        self.problems.append(Problem(line, error.code, error.message))

    def settle(self, memory: MemoryLine, stored_as: str) -> None:
        """Notes under which id a memory of the file stands, for the edges to it."""
        if stored_as != memory.id:
            self.stored_as[memory.id] = stored_as

    def add(self, other: _Tally) -> None:
        self.counts += other.counts
        self.problems = (self.problems + other.problems)[:_NAMED]
        self.warnings = (self.warnings + other.warnings)[:_NAMED]
        self.stored_as |= other.stored_as


def import_text(ctx: Context, data: str, *, dry_run: bool) -> ImportResult:
    """Imports what a text says. Raises InvalidArgument for one that is too long or no export at all."""
    if len(data) > LONGEST_TEXT_CHARACTERS:
        raise InvalidArgument(
            f"data has {len(data):,} characters; one call takes {LONGEST_TEXT_CHARACTERS:,}",
            "send it in several parts, line by line, or run m3 import FILE",
        )
    written = data.encode("utf-8", "surrogatepass")
    lines = (line + b"\n" for line in written.split(b"\n"))
    return import_entries(ctx, entries_of(lines), hashlib.sha256(written).hexdigest(), dry_run=dry_run)


def import_entries(ctx: Context, entries: Iterable[Entry], digest: str, *, dry_run: bool) -> ImportResult:
    """Writes entries as the caller's own, chunk by chunk; what a chunk brought stays if a later one fails.

    Ids and world times are kept; audience, agent, store time and trust are the caller's and the store's. A
    memory that is here, and ever said what the file says, changes nothing; with another text it becomes a
    question for a person. `digest` names the file in the one event of the import. A dry run stores nothing,
    and judges each chunk as if those before it were not there. Raises DamagedExport where no line could be
    read, and what a write raises, where the first chunk fails.
    """
    run = _Run(ctx, digest, dry_run)
    given, begun = iter(entries), False
    while chunk := list(islice(given, CHUNK)):
        try:
            if begun and ctx.seconds_left() < _LEAST_SECONDS:
                raise DeadlinePassed("the call's time is up", "")
            run.take(chunk)
        except Unavailable as error:
            if not begun:
                raise
            return run.result(f"before line {chunk[0].line}: {error.message}; import again for the rest")
        begun = True
    found = run.result()
    if found.malformed and not any(getattr(found, name) for name in _COUNTS if name != "malformed"):
        raise DamagedExport(
            f"of {found.malformed:,} lines none can be read ({found.problems[0].message}): none is stored",
            "name a file that m3 export wrote",
        )
    return found


class _Run:
    """One import under way."""

    def __init__(self, ctx: Context, digest: str, dry_run: bool) -> None:
        self._ctx = ctx
        self._digest = digest
        self._dry_run = dry_run
        self._trust_state = "accepted" if ctx.caller.is_operator else "candidate"
        self._operation_id = new_id(ctx.clock.now())
        self._noted = False
        self._total = _Tally()

    def take(self, chunk: Sequence[Entry]) -> None:
        """Stores one chunk, or nothing of it."""
        found = _Tally()
        found.problems = [entry for entry in chunk if isinstance(entry, Problem)]
        found.counts["malformed"] = len(found.problems)
        waiting: dict[str, MemoryLine] = {}
        drafts = self._prepared([entry for entry in chunk if isinstance(entry, MemoryLine)], found, waiting)
        edges = [entry for entry in chunk if isinstance(entry, EdgeLine)]
        noted = self._noted
        if drafts or edges or waiting:
            with (self._ctx.rehearsal if self._dry_run else self._ctx.write)() as writer:
                op = operation(self._ctx, writer, self._operation_id)
                self._store(op, drafts, found)
                _accept(op, waiting, found)
                self._link(op, edges, found)
                if not noted and any(found.counts[name] for name in _CHANGES):
                    op.record("import", "", 0, reason=f"sha256:{self._digest}")
                    noted = True
        self._noted = noted
        self._total.add(found)

    def result(self, stopped: str | None = None) -> ImportResult:
        """What came of all chunks so far."""
        total = self._total
        return ImportResult(
            self._digest,
            self._trust_state,
            *(total.counts[name] for name in _COUNTS),
            problems=total.problems,
            warnings=total.warnings,
            dry_run=self._dry_run,
            stopped=stopped,
        )

    def _prepared(
        self, memories: Sequence[MemoryLine], found: _Tally, waiting: dict[str, MemoryLine]
    ) -> list[tuple[MemoryLine, Draft]]:
        """Drafts of what is not known to be here already; errors are told.

        What an operator's file says and is known comes to `waiting`, by its id: it may be a candidate.
        """
        said = [(memory, content_hash(memory.request.content)) for memory in memories]
        with self._ctx.read() as reader:
            known = known_as(reader, self._ctx.caller, said)
        unknown: list[MemoryLine] = []
        for memory, (stored_as, says_it) in zip(memories, known, strict=True):
            if says_it:
                found.counts["unchanged"] += 1
                found.settle(memory, stored_as)
                if self._ctx.caller.is_operator:
                    waiting[stored_as] = memory
            else:
                unknown.append(memory)
        requests = [memory.request for memory in unknown]
        seconds = 0.0 if self._dry_run else max(0.0, self._ctx.seconds_left() - _LEAST_SECONDS)
        drafts: list[tuple[MemoryLine, Draft]] = []
        for memory, draft in zip(unknown, prepare_all(self._ctx, requests, seconds), strict=True):
            if isinstance(draft, Draft):
                pinned = memory.pinned and self._ctx.caller.is_operator
                drafts.append((memory, replace(draft, trust_state=self._trust_state, pinned=pinned)))
            else:
                found.refuse(memory.line, draft)
        return drafts

    def _store(self, op: Operation, drafts: Sequence[tuple[MemoryLine, Draft]], found: _Tally) -> None:
        """Adds what is new under ids that no memory has; asks a person about what differs from it."""
        known = known_as(op.writer, op.caller, [(memory, draft.content_hash) for memory, draft in drafts])
        fresh: dict[str, tuple[MemoryLine, Draft]] = {}
        others: list[tuple[MemoryLine, Draft, str]] = []
        for (memory, draft), (stored_as, says_it) in zip(drafts, known, strict=True):
            found.settle(memory, stored_as)
            if says_it:
                found.counts["unchanged"] += 1
            elif says_it is None and stored_as not in fresh:
                fresh[stored_as] = memory, draft
            else:
                others.append((memory, draft, stored_as))
        self._add(op, fresh, found)
        for memory, draft, stored_as in others:
            try:
                found.counts["for_review" if ask(op, self._digest, draft, stored_as) else "unchanged"] += 1
            except (InvalidArgument, Tombstoned) as error:
                found.refuse(memory.line, error)

    def _add(self, op: Operation, fresh: dict[str, tuple[MemoryLine, Draft]], found: _Tally) -> None:
        results = add_all(op, [(draft, id_) for id_, (_, draft) in fresh.items()], sightings=False)
        for (memory, draft), result in zip(fresh.values(), results, strict=True):
            if isinstance(result, M3Error):
                found.refuse(memory.line, result)
            elif result.status is WriteStatus.DUPLICATE:
                found.counts["duplicates"] += 1
                found.settle(memory, result.id)
            else:
                found.counts["imported"] += 1
                found.warnings += [f"line {memory.line}: {warning}" for warning in draft.warnings]

    def _link(self, op: Operation, edges: Sequence[EdgeLine], found: _Tally) -> None:
        stored_as = self._total.stored_as | found.stored_as
        requests = [
            LinkRequest(
                stored_as.get(edge.from_id, edge.from_id), stored_as.get(edge.to_id, edge.to_id), edge.type
            )
            for edge in edges
        ]
        for edge, result in zip(edges, linked(op, requests, current=False), strict=True):
            match result:
                case Missing():
                    found.counts["edges_without_ends"] += 1
                case M3Error():
                    found.refuse(edge.line, result)
                case _:
                    found.counts["edges" if result.status == "linked" else "unchanged"] += 1


def _accept(op: Operation, waiting: Mapping[str, MemoryLine], found: _Tally) -> None:
    """Trusts the candidates that say what a person's file says."""
    for target in targets(op.writer, op.caller, [*waiting]):
        if isinstance(target, M3Error) or target.belief.trust_state != "candidate":
            continue
        memory = waiting[target.belief.memory_id]
        if target.version.content_hash != content_hash(memory.request.content):
            continue
        found.counts["unchanged"] -= 1
        try:
            set_trust_all(op, [(target, "accepted")], "a person imported it")
            found.counts["accepted"] += 1
        except M3Error as error:
            found.refuse(memory.line, error)
