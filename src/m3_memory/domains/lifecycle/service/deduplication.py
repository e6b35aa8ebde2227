"""Near-duplicates: found by meaning, told apart by their texts, put to a person; nothing is ended here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.lifecycle import queries
from m3_memory.domains.lifecycle.model import DedupGroup, DedupResult, Scanned
from m3_memory.domains.memories.model.review import Act, Plan, PlanStep, Question, ReviewKind, mark_of
from m3_memory.domains.memories.service.endings import pinned_among
from m3_memory.domains.memories.service.operations import operation
from m3_memory.domains.memories.service.reviews import ask_all, believed
from m3_memory.kernel.contradiction import EXEMPT_TYPES, Verdict, compare
from m3_memory.storage import embeddings
from m3_memory.storage.neighbourhood import NEIGHBOURS_AT_ONCE, nearest_all
from m3_memory.storage.predicates import Filter, view_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from m3_memory.context import Context
    from m3_memory.domains.memories.model import Belief
    from m3_memory.domains.memories.service.targets import Target
    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View

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
    degraded: list[str] = []
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, Filter(excluded_types=tuple(sorted(EXEMPT_TYPES))))
        scanned = queries.scan(reader, view, MAX_SCANNED + 1)
        if len(scanned) > MAX_SCANNED:
            del scanned[MAX_SCANNED:]
            degraded.append(f"only the newest {MAX_SCANNED:,} memories were compared")
        pairs = sorted(_near(ctx, reader, view, scanned, threshold))
        if more := pairs[limit or MAX_PAIRS :]:
            del pairs[limit or MAX_PAIRS :]
            degraded.append(f"{len(more)} more pairs: ask again once these are decided")
        found = list(_compared(reader, pairs))
    questions = [(place, question) for place, (_, question) in enumerate(found) if question]
    groups, new = [group for group, _ in found], 0
    if questions and not dry_run:
        with ctx.write() as writer:
            asked = ask_all(operation(ctx, writer), [question for _, question in questions])
        for (place, _), each in zip(questions, asked, strict=True):
            groups[place] = replace(groups[place], review_id=each.review_id)
            new += each.is_new
    return DedupResult(len(groups), groups, threshold, len(scanned), new, degraded)


def _near(
    ctx: Context, reader: Reader, view: View, scanned: Sequence[Scanned], threshold: float
) -> Iterator[tuple[float, str, str]]:
    """Every two of one place that are near: the negated cosine, and the newer's id before the older's."""
    space = embeddings.newest_space(reader)
    by_item = {each.item: each for each in scanned}
    for start in range(0, len(scanned) if space else 0, NEIGHBOURS_AT_ONCE):
        ctx.ensure_time()
        part = [each.item for each in scanned[start : start + NEIGHBOURS_AT_ONCE]]
        vectors = embeddings.first_vectors(reader, space or 0, part)
        near = nearest_all(reader, view, space or 0, list(vectors.values()), NEAREST, threshold)
        for item, found in zip(vectors, near, strict=True):
            for other, score in found:
                if other < item and other in by_item and by_item[other].place == by_item[item].place:
                    yield -round(score, 6), by_item[item].memory_id, by_item[other].memory_id


def _compared(
    reader: Reader, pairs: Sequence[tuple[float, str, str]]
) -> Iterator[tuple[DedupGroup, Question | None]]:
    """What to tell of each pair, and what to ask of it where its texts say the same."""
    ids = sorted({memory_id for _, *both in pairs for memory_id in both})
    found, pinned = believed(reader, ids), pinned_among(reader, ids)

    def rank(of: Target) -> tuple[bool, bool, int, str, str]:
        """Which of two stays: the first in this order."""
        belief, said = of.belief, of.version
        is_verified, is_pinned = belief.trust_state == "verified", belief.memory_id in pinned
        return not is_verified, not is_pinned, -len(said.content), belief.recorded_from, said.memory_id

    for score, *both in pairs:
        two = [found[memory_id] for memory_id in both]
        older, newer = (
            of.version for of in sorted(two, key=lambda of: (of.belief.recorded_from, of.belief.item))
        )
        kept, other = sorted(two, key=rank)
        compared = compare(older, newer)
        group = DedupGroup(
            *(kept.belief.memory_id, other.belief.memory_id),
            *(kept.version.title, other.version.title),
            *(round(-score, 4), compared.verdict.value, compared.reason),
        )
        is_protected = not all(rank(other)[:2])
        is_mergeable = compared.verdict is Verdict.DUPLICATE and not is_protected
        yield group, _question(kept.belief, other.belief, group) if is_mergeable else None


def _question(kept: Belief, other: Belief, group: DedupGroup) -> Question:
    """Whether to merge the two as they stand now; asked once about these two texts."""
    marks = {belief.memory_id: mark_of(belief) for belief in (kept, other)}
    return Question(
        kind=ReviewKind.DUPLICATE,
        audience=kept.audience,
        memories=(group.a, group.b),
        evidence={"reason": f"they say the same: {group.reason}", "cosine": group.score},
        plan=Plan((PlanStep(Act.MERGE, group.b, group.a),), marks),
        derived_from=("duplicate", *sorted(f"{memory_id} {mark}" for memory_id, mark in marks.items())),
    )
