"""Candidate sources over visible(): every one works on the full visible set and never narrows afterwards."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, LiteralString

from m3_memory.kernel.ranking import Document, TermStatistics, document, inverse_frequency
from m3_memory.kernel.turn import speaker_mark
from m3_memory.storage.predicates import visible
from m3_memory.storage.sql import Sql, any_of, sql
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A visible item as a question's terms see it, and where it stands: in a conversation, if it has one."""

    document: Document
    memory_id: str
    type: str
    conversation_id: str
    valid_from: str


@dataclass(frozen=True, slots=True)
class Worded:
    """What words find: the best visible items, how common the terms are, and which of them name a speaker."""

    found: dict[int, Candidate]
    known: TermStatistics
    names: frozenset[str]


def candidates(
    reader: Reader, view: View, items: Sequence[int], terms: Sequence[str]
) -> dict[int, Candidate]:
    """Those of the items that are visible, as these terms see them, from their kept tokens without the
    audience that stands first.
    """
    if not items:
        return {}
    wanted, pairs = frozenset(terms), list(pairwise(terms))
    found = reader.rows(
        sql(
            "SELECT said.item, said.tokens, visible.memory_id, visible.type, visible.conversation_id,"
            " visible.valid_from FROM search_documents AS said CROSS JOIN"
        )
        + visible(view)
        + sql("WHERE visible.item = said.item AND")
        + any_of("said.item", tuple(items))
        + sql("AND")
        + any_of("visible.item", tuple(items))
    )
    return {
        number(item): Candidate(document(text(tokens).split(" ")[1:], wanted, pairs), *map(text, where))
        for item, tokens, *where in found
    }


def beside(reader: Reader, view: View, items: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The visible turns right before and after each of these in its conversation, by when they were said.

    Items of no conversation are left out.
    """
    if not items:
        return {}
    found = reader.rows(
        sql("SELECT here.item,")
        + _next_turn(view, "<", "DESC")
        + sql(",")
        + _next_turn(view, ">", "ASC")
        + sql("FROM (SELECT visible.item, visible.conversation_id, visible.valid_from FROM")
        + visible(view)
        + sql("WHERE visible.conversation_id <> '' AND")
        + any_of("visible.item", tuple(items))
        + sql(") AS here")
    )
    return {number(row[0]): tuple(number(item) for item in row[1:] if item is not None) for row in found}


def _next_turn(view: View, than: LiteralString, way: LiteralString) -> Sql:
    return (
        sql("(SELECT visible.item FROM")
        + visible(view)
        + Sql(
            "WHERE visible.conversation_id = here.conversation_id AND visible.conversation_id <> ''"
            f" AND (visible.valid_from, visible.item) {than} (here.valid_from, here.item)"
            f" ORDER BY visible.valid_from {way}, visible.item {way} LIMIT 1)"
        )
    )


def worded(reader: Reader, view: View, terms: Sequence[str]) -> Worded:
    """The best visible items by these terms, as the terms see them, and how common the terms are.

    Up to SMALL visible rows the statistics are those of the visible rows themselves, the same on every
    engine.
    """
    marks = {speaker_mark(term): term for term in terms}
    shown = reader.rows(sql("SELECT item FROM") + visible(view) + sql("LIMIT ?", SMALL + 1))
    if len(shown) <= SMALL:
        found = candidates(reader, view, [number(row[0]) for row in shown], terms)
        documents = [each.document for each in found.values()]
        said_by = frozenset[str]().union(*(each.marks for each in documents))
        known = _counted(documents)
    else:
        known = reader.dialect.term_statistics(reader, view, [*terms, *marks])
        said_by = frozenset(known.documents_with)
        found = candidates(reader, view, _chosen(reader, view, terms, known), terms)
    return Worded(found, known, frozenset(term for mark, term in marks.items() if mark in said_by))


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
