"""Many items in one call: in chunks, each a transaction of its own, each item's outcome in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

from m3_memory.errors import EmbedderUnavailable, InvalidInput, M3Error, Missing, Refused, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from m3_memory.context import Context

CHUNK_ROWS = 500
"""Rows of one transaction: short enough that others are served in between."""

_OWN_FAULT = (InvalidInput, Refused, Missing, EmbedderUnavailable)
"""What is wrong with one item, and no reason to stop the others."""

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Given = ParamSpec("Given")


def only(outcomes: Sequence[Outcome | M3Error]) -> Outcome:
    """The outcome of a batch of one; raises it where it is an error."""
    (outcome,) = outcomes
    if isinstance(outcome, M3Error):
        raise outcome
    return outcome


def tried(perform: Callable[Given, Outcome], *given: Given.args, **named: Given.kwargs) -> Outcome | M3Error:
    """What a function returns, or the error it raises if that is the fault of what it was given."""
    try:
        return perform(*given, **named)
    except _OWN_FAULT as error:
        return error


def in_chunks(
    ctx: Context,
    items: Sequence[Item | M3Error],
    perform: Callable[[Sequence[Item]], Sequence[Outcome | M3Error]],
    key: Callable[[Item], Hashable] | None = None,
) -> list[Outcome | M3Error]:
    """What came of each item, in order. An item that is an error already stays one.

    `perform` does one chunk, wholly or not at all, and gives an outcome for each of its items, of which no
    two have one `key`. Where the store fails it, or the call's time is up, that chunk and
    all after it are errors in their places; if nothing was done by then, that error is raised.
    """
    outcomes: list[Outcome | M3Error] = []
    for chunk in _chunks(items, key):
        try:
            outcomes += _performed(ctx, chunk, perform)
        except Unavailable as error:
            if all(isinstance(outcome, M3Error) for outcome in outcomes):
                raise
            rest = items[len(outcomes) :]
            return outcomes + [item if isinstance(item, M3Error) else _undone(error) for item in rest]
    return outcomes


def _chunks(
    items: Sequence[Item | M3Error], key: Callable[[Item], Hashable] | None
) -> Iterator[Sequence[Item | M3Error]]:
    start, seen = 0, set[object]()
    for place, item in enumerate(items):
        name = place if key is None or isinstance(item, M3Error) else key(item)
        if name in seen or place - start == CHUNK_ROWS:
            yield items[start:place]
            start, seen = place, set[object]()
        seen.add(name)
    yield items[start:]


def _performed(
    ctx: Context,
    chunk: Sequence[Item | M3Error],
    perform: Callable[[Sequence[Item]], Sequence[Outcome | M3Error]],
) -> list[Outcome | M3Error]:
    fit = [item for item in chunk if not isinstance(item, M3Error)]
    if not fit:
        return [item for item in chunk if isinstance(item, M3Error)]
    ctx.ensure_time()
    done = iter(perform(fit))
    return [item if isinstance(item, M3Error) else next(done) for item in chunk]


def _undone(error: M3Error) -> M3Error:
    return type(error)(f"this item was left undone: {error.message}", "send it again")
