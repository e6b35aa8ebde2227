"""Near-duplicates: found by meaning, told apart by their texts, put to a person; nothing is ended here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.lifecycle import queries
from m3_memory.domains.lifecycle.model import DedupGroup, DedupResult, Pair, Scanned
from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, Question, ReviewKind
from m3_memory.domains.memories.service import reviews
from m3_memory.domains.memories.service.operations import operation
from m3_memory.kernel.contradiction import EXEMPT_TYPES, Verdict, compare
from m3_memory.storage import embeddings
from m3_memory.storage.neighbourhood import NEIGHBOURS_AT_ONCE, nearest_all
from m3_memory.storage.predicates import Filter, view_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.context import Context
    from m3_memory.storage.database import Reader

MAX_SCANNED = 20_000
"""So many memories, the newest, are compared by one call."""

MAX_PAIRS = 500
"""So many pairs, the nearest, are in one answer, and put to a person by one call."""

NEAREST = 10
"""So many of the nearest of each memory are looked at."""


def dedup(ctx: Context, threshold: float, limit: int, *, dry_run: bool) -> DedupResult:
    """Pairs of visible memories of one audience, type and variant at this cosine or nearer.

    What `compare` calls duplicates is put to a person, once, unless that is a dry run: to merge them into
    the one that is verified, pinned, richer or older. One that is protected is never to be merged away.
    """
    with ctx.read() as reader:
        scanned, degraded = _scanned(ctx, reader)
        pairs = sorted(_pairs(ctx, reader, scanned, threshold), key=_nearest_first)
    shown = pairs[: limit or MAX_PAIRS]
    if len(pairs) > len(shown):
        degraded.append(f"{len(pairs) - len(shown)} more pairs: ask again once these are decided")
    asked = {} if dry_run else _asked(ctx, [pair for pair in shown if _is_mergeable(pair)])
    return DedupResult(
        count=len(shown),
        groups=[_told(pair, asked) for pair in shown],
        threshold=threshold,
        scanned=len(scanned),
        applied=sum(is_new for _, is_new in asked.values()),
        degraded=degraded,
    )


def _scanned(ctx: Context, reader: Reader) -> tuple[list[Scanned], list[str]]:
    view = view_of(reader, ctx.caller, Filter(excluded_types=tuple(sorted(EXEMPT_TYPES))))
    found = queries.scan(reader, view, MAX_SCANNED + 1)
    older = [f"only the newest {MAX_SCANNED:,} memories were compared"] if len(found) > MAX_SCANNED else []
    return found[:MAX_SCANNED], older


def _pairs(ctx: Context, reader: Reader, scanned: Sequence[Scanned], threshold: float) -> Iterator[Pair]:
    space = embeddings.newest_space(reader)
    view = view_of(reader, ctx.caller, Filter(excluded_types=tuple(sorted(EXEMPT_TYPES))))
    by_item = {each.item: each for each in scanned}
    for start in range(0, len(scanned) if space else 0, NEIGHBOURS_AT_ONCE):
        ctx.ensure_time()
        part = [each.item for each in scanned[start : start + NEIGHBOURS_AT_ONCE]]
        vectors = embeddings.first_vectors(reader, space or 0, part)
        near = nearest_all(reader, view, space or 0, list(vectors.values()), NEAREST, threshold)
        for item, found in zip(vectors, near, strict=True):
            one = by_item[item]
            for other, score in found:
                if other < item and other in by_item and by_item[other].place == one.place:
                    yield _pair(one, by_item[other], score)


def _nearest_first(pair: Pair) -> tuple[float, int, int]:
    return -round(pair.score, 6), -pair.kept.item, -pair.other.item


def _pair(one: Scanned, other: Scanned, score: float) -> Pair:
    older, newer = sorted((one, other), key=lambda each: (each.recorded_from, each.item))
    kept, merged = sorted((one, other), key=lambda each: each.rank)
    return Pair(kept, merged, score, compare(older, newer))


def _is_mergeable(pair: Pair) -> bool:
    return pair.found.verdict is Verdict.DUPLICATE and not pair.other.is_protected


def _asked(ctx: Context, pairs: Sequence[Pair]) -> dict[tuple[str, str], reviews.Asked]:
    """The question about each pair, and whether it is new."""
    if not pairs:
        return {}
    with ctx.write() as writer:
        asked = reviews.ask_all(operation(ctx, writer), [_question(pair) for pair in pairs])
    return {
        (pair.kept.memory_id, pair.other.memory_id): each for pair, each in zip(pairs, asked, strict=True)
    }


def _question(pair: Pair) -> Question:
    """Whether to merge the two as they stand now; asked once about these two texts."""
    marks = {each.memory_id: f"{each.version}@{each.recorded_from}" for each in (pair.kept, pair.other)}
    named = sorted(f"{memory_id} {mark}" for memory_id, mark in marks.items())
    return Question(
        kind=ReviewKind.DUPLICATE,
        audience=pair.kept.audience,
        memories=(pair.kept.memory_id, pair.other.memory_id),
        evidence={"reason": f"they say the same: {pair.found.reason}", "cosine": round(pair.score, 4)},
        plan=Plan((PlanStep(Act.MERGE, pair.other.memory_id, pair.kept.memory_id),), marks),
        derived_from=("duplicate", *named),
    )


def _told(pair: Pair, asked: dict[tuple[str, str], reviews.Asked]) -> DedupGroup:
    question = asked.get((pair.kept.memory_id, pair.other.memory_id))
    return DedupGroup(
        a=pair.kept.memory_id,
        b=pair.other.memory_id,
        title_a=pair.kept.title,
        title_b=pair.other.title,
        score=round(pair.score, 4),
        verdict=pair.found.verdict.value,
        reason=pair.found.reason,
        review_id=question.review_id if question else None,
    )
