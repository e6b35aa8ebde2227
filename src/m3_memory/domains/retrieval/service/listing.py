"""Listing what is visible, page by page: every row once, whatever is written meanwhile."""

from __future__ import annotations

import hmac
from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.catalog.answers import fitting
from m3_memory.domains.retrieval import queries
from m3_memory.domains.retrieval.model import ListResults, Place
from m3_memory.domains.retrieval.service.marks import marked_rows
from m3_memory.errors import InvalidArgument
from m3_memory.storage.predicates import view_of

if TYPE_CHECKING:
    from m3_memory.context import Context
    from m3_memory.domains.retrieval.model import ListRequest
    from m3_memory.storage.database import Reader

CONTENT_CHARACTERS = 400
"""So much of a content stands in a list; `memory_get` has the rest."""

_DIGEST_CHARACTERS = 16


def list_memories(ctx: Context, request: ListRequest) -> ListResults:
    """A page of what the filters leave; with the first one, how many rows that is.

    Page after page gives every memory exactly once that is there from the first page to the last: what is
    written meanwhile is left out, what is changed meanwhile is shown as it is, at the place it had. Raises
    InvalidArgument for a cursor of another list.
    """
    with ctx.read() as reader:
        view = view_of(reader, ctx.caller, request.filter)
        as_listed_at, after = _read(reader, request)
        page = queries.page(reader, view, request, after, as_listed_at, request.limit + 1)
        items = [item for _, item in page[: request.limit]]
        rows = marked_rows(reader, view, items, CONTENT_CHARACTERS)
        shown = fitting([rows[item] for item in items])
        total, by_type = None, None
        if after is None:
            total, newest = queries.counted(reader, view, request)
            as_listed_at = "" if request.filter.known_at else newest
            by_type = queries.counted_by_type(reader, view, request) if request.counts else None
        more = len(page) > len(shown)
        cursor = _cursor(reader, request, as_listed_at, page[len(shown) - 1][0]) if more else None
    return ListResults(list(shown), list(view.audiences), total, cursor, by_type)


def _cursor(reader: Reader, request: ListRequest, as_listed_at: str, last: Place) -> str:
    """When the list was begun, where the page ended, and a digest of this and all that was asked."""
    parts = "~".join((as_listed_at, *last))
    same = replace(request, limit=0, cursor="", counts=False)
    digest = hmac.digest(reader.secret_key, f"{parts} {same!r}".encode(errors="replace"), "sha256").hex()
    return f"{parts}~{digest[:_DIGEST_CHARACTERS]}"


def _read(reader: Reader, request: ListRequest) -> tuple[str, Place | None]:
    """When the list was begun, and where the last page ended; nothing for the first page."""
    if not request.cursor:
        return "", None
    parts = request.cursor.split("~")
    if len(parts) == len(Place._fields) + 2:
        begun, after = parts[0], Place(*parts[1:-1])
        if _cursor(reader, request, begun, after) == request.cursor:
            return begun, after
    raise InvalidArgument(
        "the cursor is none that this list gave",
        "pass it on whole, with the filters and the store of the first page, or begin without one",
    )
