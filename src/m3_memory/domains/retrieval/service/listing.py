"""Listing what is visible, page by page: every row once, whatever is written meanwhile."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

from m3_memory.catalog.answers import fitting
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import ListResults
from m3_memory.domains.retrieval.queries import Place
from m3_memory.errors import InvalidArgument
from m3_memory.storage.predicates import view_of

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import ListRequest

CONTENT_CHARACTERS = 400
"""So much of a content stands in a list; `memory_get` has the rest."""

_DIGEST_CHARACTERS = 12


class _Cursor(NamedTuple):
    """Where a page ended. `asked` tells the list it belongs to, `as_listed_at` when that was begun."""

    asked: str
    as_listed_at: str
    recorded_from: str
    memory_id: str


def list_memories(ctx: Context, request: ListRequest) -> ListResults:
    """A page of what the filters leave; with the first one, how many rows that is.

    Page after page gives every memory exactly once that is there from the first page to the last: what is
    written meanwhile is left out, what is changed meanwhile is shown as it is, at the place it had. Raises
    InvalidArgument for a cursor of another list.
    """
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, request.filter)
        asked = _digest(reader.origin, request)
        begun = _read(request.cursor, asked) if request.cursor else None
        after = Place(begun.recorded_from, begun.memory_id) if begun else None
        as_listed_at = begun.as_listed_at if begun else ""
        page = queries.page(reader, view, request, after, as_listed_at, request.limit + 1)
        items = [item for _, item in page[: request.limit]]
        rows = queries.rows(reader, view, items, CONTENT_CHARACTERS)
        shown = fitting([rows[item] for item in items])
        more = len(page) > len(shown)
        if more and not begun and not request.filter.known_at:
            as_listed_at = queries.newest_place(reader, view, request)
        total = None if begun else queries.counted(reader, view, request)
        by_type = queries.counted_by_type(reader, view, request) if request.counts and not begun else None
    last = page[len(shown) - 1][0] if more else None
    return ListResults(
        memories=list(shown),
        scope=list(view.audiences),
        total=total,
        cursor=_written(_Cursor(asked, as_listed_at, *last)) if last else None,
        by_type=by_type,
    )


def _digest(origin: str, request: ListRequest) -> str:
    """What tells a list from others: the store and all that was asked for but the page."""
    same = replace(request, limit=0, cursor="", counts=False)
    return hashlib.sha256(f"{origin} {same!r}".encode()).hexdigest()[:_DIGEST_CHARACTERS]


def _written(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(json.dumps(cursor, separators=(",", ":")).encode()).decode()


def _read(text: str, asked: str) -> _Cursor:
    try:
        parts = json.loads(base64.b64decode(text, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise _no_cursor() from None
    if not isinstance(parts, list):
        raise _no_cursor()
    texts = [part for part in cast("list[object]", parts) if isinstance(part, str) and _is_plain(part)]
    if len(texts) != len(_Cursor._fields):
        raise _no_cursor()
    cursor = _Cursor(*texts)
    if cursor.asked != asked:
        raise InvalidArgument(
            "the cursor belongs to another list",
            "give the filters and the store of the first page, or no cursor",
        )
    return cursor


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _no_cursor() -> InvalidArgument:
    return InvalidArgument("the cursor is none that a list gave", "pass it on whole, or begin without one")
