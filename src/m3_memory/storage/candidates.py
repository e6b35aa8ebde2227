"""Candidate sources over visible(): every one works on the full visible set and never narrows afterwards."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from m3_memory.kernel.ranking import Document, TermStatistics, document, inverse_frequency
from m3_memory.storage.predicates import visible
from m3_memory.storage.sql import any_of, sql
from m3_memory.storage.transaction import number, text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from m3_memory.storage.database import Reader
    from m3_memory.storage.predicates import View

SMALL = 500
"""Up to this many visible rows all are scored; above, words choose candidates first."""

CANDIDATES = 100
COMMON_SHARE = 0.1
"""A word that more than this share of documents holds does not choose candidates by itself."""

POSTINGS = 20_000
"""Entries of the word index that choosing candidates may touch, the rarest words first."""


def documents(reader: Reader, items: Sequence[int], terms: Sequence[str]) -> dict[int, Document]:
    """Items as these terms see them, from their kept tokens without the audience that stands first."""
    if not items:
        return {}
    found = reader.rows(sql("SELECT item, tokens FROM search_documents WHERE") + any_of("item", tuple(items)))
    wanted = frozenset(terms)
    return {number(item): document(text(tokens).split(" ")[1:], wanted) for item, tokens in found}


def worded(reader: Reader, view: View, terms: Sequence[str]) -> tuple[dict[int, Document], TermStatistics]:
    """The best visible items by these terms, as the terms see them, and how common the terms are.

    Up to SMALL visible rows the statistics are those of the visible rows themselves, the same on every
    engine.
    """
    shown = reader.rows(sql("SELECT item FROM") + visible(view) + sql("LIMIT ?", SMALL + 1))
    if len(shown) <= SMALL:
        everything = documents(reader, [number(row[0]) for row in shown], terms)
        return everything, _counted(everything.values())
    known = reader.dialect.term_statistics(reader, view, terms)
    return documents(reader, _chosen(reader, view, terms, known), terms), known


def rarest_first(terms: Sequence[str], known: TermStatistics) -> list[str]:
    """The terms that any document holds, by how much they tell."""
    held = (term for term in terms if known.documents_with.get(term))
    return sorted(held, key=lambda term: (-inverse_frequency(term, known), term))


def selective(terms: Sequence[str], known: TermStatistics) -> list[str]:
    """The terms that choose candidates: rarest first within the postings allowed, common ones only alone."""
    chosen, spent = list[str](), 0
    for term in rarest_first(terms, known):
        holding = known.documents_with[term]
        common = holding > COMMON_SHARE * known.documents or spent + holding > POSTINGS
        if chosen and common:
            break
        chosen.append(term)
        spent += holding
    return chosen


def _chosen(reader: Reader, view: View, terms: Sequence[str], known: TermStatistics) -> list[int]:
    """Items that hold the selective terms. If those stand in no visible row, the next rarest one chooses."""
    chosen = selective(terms, known)
    found = reader.dialect.text_candidates(reader, view, chosen, CANDIDATES)
    for term in rarest_first(terms, known)[len(chosen) :]:
        if found:
            break
        found = reader.dialect.text_candidates(reader, view, [term], CANDIDATES)
    return found


def _counted(found: Collection[Document]) -> TermStatistics:
    total = sum(each.length for each in found)
    holding = Counter(term for each in found for term in each.held)
    return TermStatistics(len(found), total / len(found) if found else 0.0, holding)
