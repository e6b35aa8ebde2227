"""Answers about many items: an entry for each, and no more detail than one answer carries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from m3_memory.catalog.answers import LIST_BYTES, size_bytes
from m3_memory.domains.memories.model import (
    ChangeResult,
    Conflict,
    UpdateResult,
    VectorStatus,
    WriteResult,
    WriteStatus,
)
from m3_memory.errors import M3Error, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class ItemError:
    """Why one item of many was not done."""

    code: str
    message: str | None = None
    hint: str | None = None


@dataclass(frozen=True)
class ItemResult:
    """What came of one item of many: as the tool for one answers, without what there is nothing to say of;
    or the error it came to.
    """

    id: str | None = None
    status: str | None = None
    version: int | None = None
    changed: list[str] | None = None
    vector: VectorStatus | None = None
    type: str | None = None
    superseded: list[str] | None = None
    conflicts: list[Conflict] | None = None
    review_id: str | None = None
    warnings: list[str] | None = None
    error: ItemError | None = None


@dataclass(frozen=True)
class BulkWritten:
    """The answer to many writes, in their order."""

    results: list[ItemResult]
    created: int
    duplicates: int
    failed: int
    warnings: list[str] = field(default_factory=list[str])

    def headline(self) -> str:
        return f"Created {self.created}, duplicates {self.duplicates}, failed {self.failed}"


@dataclass(frozen=True)
class BulkChanged:
    """The answer to many changes, in their order; `failed` are those refused for another reason."""

    results: list[ItemResult]
    succeeded: int
    not_found: int
    no_change: int
    failed: int
    total: int
    mode: str
    warnings: list[str] = field(default_factory=list[str])

    def headline(self) -> str:
        refused = f", failed {self.failed}" if self.failed else ""
        return (
            f"Succeeded {self.succeeded} of {self.total}, not found {self.not_found},"
            f" unchanged {self.no_change}{refused}"
        )


def written(outcomes: Sequence[WriteResult | M3Error], warnings: Sequence[str]) -> BulkWritten:
    """The answer to many writes."""
    results, left_out = _brief([_item(outcome) for outcome in outcomes])
    duplicates = sum(result.status == WriteStatus.DUPLICATE for result in results)
    failed = sum(result.error is not None for result in results)
    return BulkWritten(
        results=results,
        created=len(results) - duplicates - failed,
        duplicates=duplicates,
        failed=failed,
        warnings=[*warnings, *left_out],
    )


def changed(outcomes: Sequence[ChangeResult | M3Error], warnings: Sequence[str], mode: str) -> BulkChanged:
    """The answer to many changes of one kind, the `mode`."""
    results, left_out = _brief([_item(outcome) for outcome in outcomes])
    not_found = sum(isinstance(outcome, NotFound) for outcome in outcomes)
    no_change = sum(result.status == "unchanged" for result in results)
    errors = sum(result.error is not None for result in results)
    return BulkChanged(
        results=results,
        succeeded=len(results) - errors - no_change,
        not_found=not_found,
        no_change=no_change,
        failed=errors - not_found,
        total=len(results),
        mode=mode,
        warnings=[*warnings, *left_out],
    )


def _item(outcome: WriteResult | ChangeResult | M3Error) -> ItemResult:
    match outcome:
        case M3Error():
            return ItemResult(error=ItemError(outcome.code, outcome.message, outcome.hint))
        case WriteResult():
            own = ItemResult(outcome.id, outcome.status, vector=outcome.vector, type=outcome.type)
        case ChangeResult():
            own = ItemResult(
                outcome.id, outcome.status, outcome.version, outcome.changed or None, outcome.vector
            )
    if isinstance(outcome, WriteResult | UpdateResult):
        own = replace(own, superseded=outcome.superseded or None, conflicts=outcome.conflicts or None)
    return replace(own, review_id=outcome.review_id, warnings=outcome.warnings or None)


def _brief(items: Sequence[ItemResult]) -> tuple[list[ItemResult], tuple[str, ...]]:
    """The items, without the details for which one answer has no room, and what is said of that."""
    shown: list[ItemResult] = []
    spent, left_out = 0, 0
    for item in items:
        details = (item.error, item.conflicts, item.warnings)
        cost = size_bytes(details) if any(details) else 0
        if spent + cost <= LIST_BYTES:
            spent += cost
            shown.append(item)
        else:
            left_out += 1
            error = ItemError(item.error.code) if item.error else None
            shown.append(replace(item, error=error, conflicts=None, warnings=None))
    if not left_out:
        return shown, ()
    return shown, (f"no room for the warnings, conflicts and errors of {left_out} items; send fewer at once",)
