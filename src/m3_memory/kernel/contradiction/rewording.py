"""Two texts in different words: an update needs evidence of the same subject, and of a change."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from m3_memory.kernel.contradiction.cues import BESIDE
from m3_memory.kernel.contradiction.evidence import NEAR, SPECIFIC
from m3_memory.kernel.contradiction.parallel import conflict
from m3_memory.kernel.contradiction.reading import VALUES
from m3_memory.kernel.contradiction.verdict import Comparison, Verdict
from m3_memory.kernel.contradiction.words import ORDERS

if TYPE_CHECKING:
    from m3_memory.kernel.contradiction.evidence import Evidence

PROPOSES = 1.5


def reworded(seen: Evidence) -> Comparison:
    """What the evidence comes to."""
    against = _against(seen)
    if against:
        return Comparison(Verdict.DISTINCT, against, *seen.values)
    if _is_same(seen) and not seen.changes:
        return Comparison(Verdict.DUPLICATE, "same_statement")
    values = seen.values if seen.kind else (seen.retires, "")
    points = _points(seen)
    if points < PROPOSES or not (seen.changes or seen.kind or seen.retires or seen.denies):
        return Comparison(Verdict.DISTINCT, "other_attribute", *values)
    if points >= _closes_at(seen):
        return Comparison(Verdict.UPDATE, "value_changed" if seen.kind else "retired", *values)
    return Comparison(Verdict.UNSURE, "may_have_changed", *values)


def _points(seen: Evidence) -> float:
    """How much speaks for another value of the same attribute of the same subject.

    The weights are those of a logistic regression over pairs of three writers, tried on a fourth's, rounded.
    """
    nearer = max(seen.subject, seen.its_subject)
    names = sum(seen.old.kinds[key] in _NAMING for key in seen.shared)
    points = 0.5 * (nearer + seen.its_subject) + seen.covered + seen.covers + 0.25 * min(names, 3)
    if seen.changes:
        points += 1.5 * nearer
    elif seen.kind == "name":
        points -= 1.5
    if seen.retires:
        points += 2.5 * seen.covered
    points -= not seen.kind
    return points - (points >= PROPOSES and _is_told_apart(seen))


_NAMING = SPECIFIC | {"word"}


def _closes_at(seen: Evidence) -> float:
    """From how many points on nothing that may be true beside the old text is told; infinity if never.

    What says much more than the new text is never closed by it: the rest may hold.
    """
    says_more = seen.old.weight > 2 * seen.new.weight + 4
    if says_more or _starts_elsewhere(seen) or not _is_about_the_same(seen):
        return inf
    if not (seen.changes or seen.retires):
        return 2.0 if _is_another_value(seen) else inf
    is_told = seen.retires or seen.kind not in _LOOSE or _ends_what_was_said(seen)
    return 3.0 if is_told else inf


_LOOSE = frozenset({"", "name", "date"})
"""Kinds of which two may be told of one subject: a date tells of another event as well."""


def _ends_what_was_said(seen: Evidence) -> bool:
    """Whether all that stands near a denial or a word of ending was said before: `no longer on Sundays` ends
    less than what is done.
    """
    tokens = seen.new.tokens
    ends = {at for at, token in enumerate(tokens) if token.kind == "negation" or at in seen.new.endings}
    near = {place for at in ends for place in range(max(0, at - NEAR), min(len(tokens), at + NEAR + 1))}
    told = seen.new.content & {tokens[place].key for place in near - ends}
    return bool(ends) and "changed" not in seen.cues and told <= seen.shared


def _is_another_value(seen: Evidence) -> bool:
    """Whether both say a value of one kind of one subject, and the new text nothing else of its own."""
    if seen.kind in _LOOSE | {"code"} or min(seen.subject, seen.its_subject) < 0.5 or seen.covered < 0.5:
        return False
    added = {seen.new.kinds[key] for key in seen.new.content - seen.shared}
    return added <= VALUES | {"state"} and not _is_told_apart(seen)


def _is_told_apart(seen: Evidence) -> bool:
    """Whether a word that both say has a word of its own before it in each: "web route", "app route"."""
    before = [
        {
            token.key: earlier.key
            for earlier, token in pairwise(reading.tokens)
            if earlier.key in reading.content and reading.kinds[earlier.key] not in VALUES
        }
        for reading in (seen.old, seen.new)
    ]
    return any(
        not {before[0][key], before[1][key]} & seen.shared
        for key in seen.shared & before[0].keys() & before[1].keys()
    )


def _is_same(seen: Evidence) -> bool:
    """Whether both say the same: every value, name and denial of one stands in the other, in the same order
    where order tells, and most of the words.
    """
    old, new = seen.old, seen.new
    telling = {k for reading in (old, new) for k, kind in reading.kinds.items() if kind in _TELLING}
    if not telling <= seen.shared or old.negations != new.negations or old.keys & ORDERS != new.keys & ORDERS:
        return False
    names = [[t.key for t in r.tokens if t.key in seen.shared and _is_name(seen, t.key)] for r in (old, new)]
    if [*dict.fromkeys(names[0])] != [*dict.fromkeys(names[1])]:
        return False
    others = len((old.content | new.content) - seen.shared)
    return others <= _FEW and seen.covers >= _MOST and min(seen.subject, seen.its_subject) >= _MOST


_FEW, _MOST = 2, 0.65
_TELLING = VALUES | SPECIFIC | {"state"}


def _is_name(seen: Evidence, key: str) -> bool:
    return seen.old.kinds[key] in SPECIFIC or seen.new.kinds[key] in SPECIFIC


def _is_about_the_same(seen: Evidence) -> bool:
    """Whether two words at least are shared that are no values, or all of the old text's: one alone names a
    subject, and no attribute.
    """
    told = {key for key, kind in seen.old.kinds.items() if kind not in VALUES}
    verbs = {token.key for token in seen.old.tokens if token.kind == "light"}
    return told <= seen.shared or len(told & seen.shared) + len(verbs & seen.new.keys) >= 2


def _starts_elsewhere(seen: Evidence) -> bool:
    """Whether the old text begins with a name that the new one does not say."""
    return any(
        seen.old.kinds.get(token.key) in SPECIFIC and token.key not in seen.new.content
        for token in seen.old.tokens[: min(seen.old.boundary, 3)]
    )


def _against(seen: Evidence) -> str:
    """Why both may stand; "" if nothing says so."""
    old, new = seen.old, seen.new
    if seen.cues & BESIDE:
        return "stands_beside"
    if "condition" in old.cues & new.cues and seen.kind in SPECIFIC:
        return "other_condition"
    if conflict(old, new):
        return "other_qualifier"
    if _starts_elsewhere(seen) and not seen.changes:
        return "other_subject"
    return ""
