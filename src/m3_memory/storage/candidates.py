"""Candidate sources over visible(): every one works on the full visible set and never narrows afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.kernel.ranking import TermStatistics, inverse_frequency
from m3_memory.storage.predicates import visible
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View

SMALL = 500
"""Up to this many visible rows all are scored; above, words choose candidates first."""

CANDIDATES = 300
COMMON_SHARE = 0.1
"""A word that more than this share of documents holds does not choose candidates by itself."""

POSTINGS = 50_000
"""Entries of the word index that choosing candidates may touch, the rarest words first."""


def documents(reader: Reader, items: Sequence[int]) -> dict[int, list[str]]:
    """The kept tokens of items, without the audience that stands first."""
    found = reader.rows(sql("SELECT item, tokens FROM search_documents WHERE") + any_of("item", tuple(items)))
    return {number(row[0]): text(row[1]).split(" ")[1:] for row in found}


def worded(reader: Reader, view: View, terms: Sequence[str]) -> tuple[dict[int, list[str]], TermStatistics]:
    """Visible items that hold some of the terms, with their tokens, and how common the terms are.

    Up to SMALL visible rows the statistics are those of the visible rows themselves, the same on every
    engine.
    """
    items = [
        number(row[0])
        for row in reader.rows(sql("SELECT item FROM") + visible(view) + sql("LIMIT ?", SMALL + 1))
    ]
    if len(items) <= SMALL:
        everything = documents(reader, items)
        return everything, _counted(everything, terms)
    known = reader.dialect.term_statistics(reader, view, terms)
    chosen = selective(terms, known)
    return documents(reader, reader.dialect.text_candidates(reader, view, chosen, CANDIDATES)), known


def selective(terms: Sequence[str], known: TermStatistics) -> list[str]:
    """The terms that choose candidates: rarest first within the postings allowed, common ones only alone."""
    rarest = sorted(
        (term for term in terms if known.documents_with.get(term)),
        key=lambda term: (-inverse_frequency(term, known), term),
    )
    chosen, spent = list[str](), 0
    for term in rarest:
        holding = known.documents_with[term]
        common = holding > COMMON_SHARE * known.documents or spent + holding > POSTINGS
        if chosen and common:
            break
        chosen.append(term)
        spent += holding
    return chosen


def _counted(tokens: dict[int, list[str]], terms: Sequence[str]) -> TermStatistics:
    held = [frozenset(words) for words in tokens.values()]
    total = sum(map(len, tokens.values()))
    return TermStatistics(
        len(tokens),
        total / len(tokens) if tokens else 0.0,
        {term: sum(term in words for words in held) for term in terms},
    )
