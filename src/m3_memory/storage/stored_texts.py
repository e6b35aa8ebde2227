"""Whether what is derived from every version's text is what the text gives, page by page."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from m3_memory.kernel.normal import content_hash, is_normal_hash
from m3_memory.storage.reindex import document
from m3_memory.storage.sql import sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from m3_memory.storage.database import Reader
    from m3_memory.storage.sql import Value

_PAGE = 50
"""Texts are long: so many versions are held in memory at once."""


class _Stored(NamedTuple):
    item: Value
    type: Value
    title: Value
    content: Value
    content_hash: Value
    normal_hash: Value
    metadata: Value
    audience: Value
    tokens: Value
    token_count: Value


def differences(reader: Reader) -> list[tuple[str, str, int]]:
    """(part, what is wrong, of how many versions) of the whole store."""
    wrong = Counter[tuple[str, str]]()
    for stored in _versions(reader):
        wrong.update((part, what) for part, what, agrees in _CHECKS if not _holds(agrees, stored))
    return [(part, what, count) for (part, what), count in wrong.items()]


def _versions(reader: Reader) -> Iterator[_Stored]:
    after = -1
    while page := reader.rows(
        sql(
            "SELECT i.item, i.type, i.title, i.content, i.content_hash, i.normal_hash, i.metadata,"
            " i.audience, d.tokens, d.token_count FROM memory_items AS i LEFT JOIN search_documents AS d"
            " ON d.item = i.item WHERE i.item > ? ORDER BY i.item LIMIT ?",
            after,
            _PAGE,
        )
    ):
        for row in page:
            yield _Stored(*row)
        after = number(page[-1][0])


def _holds(agrees: Callable[[_Stored], bool], stored: _Stored) -> bool:
    """Whether a version agrees; a value that is not even of its column's type does not."""
    try:
        return agrees(stored)
    except (ValueError, TypeError, AssertionError, RecursionError):
        return False


def _has_its_words(stored: _Stored) -> bool:
    if stored.tokens is None and stored.token_count is None:
        return True  # counted with the versions without their words
    there = (stored.item, stored.tokens, stored.token_count)
    says = stored.title, stored.content
    marked = document(stored.item, stored.type, *says, stored.metadata, stored.audience)
    return there in (marked, document(stored.item, "", *says, "{}", stored.audience))  # older ones: no marks


_CHECKS: tuple[tuple[str, str, Callable[[_Stored], bool]], ...] = (
    (
        "rows",
        "versions whose content is not the one that was hashed",
        lambda stored: stored.content_hash == content_hash(text(stored.content)),
    ),
    (
        "rows",
        "versions whose normal form is not the one that was hashed",
        lambda stored: is_normal_hash(stored.normal_hash, text(stored.content)),
    ),
    (
        "rows",
        "versions whose metadata is no JSON object",
        lambda stored: isinstance(json.loads(text(stored.metadata)), dict),
    ),
    ("index", "versions whose words are not those of their text", _has_its_words),
)
