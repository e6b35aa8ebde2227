"""Two texts in different words: an update needs evidence of the same subject, and of a change."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from m3_memory.kernel.contradiction.evidence import CHANGES, SPECIFIC, weight
from m3_memory.kernel.contradiction.parallel import conflict
from m3_memory.kernel.contradiction.reading import QUANTITIES, VALUES
from m3_memory.kernel.contradiction.verdict import Comparison, Verdict
from m3_memory.kernel.contradiction.words import ORDERS

if TYPE_CHECKING:
    from m3_memory.kernel.contradiction.evidence import Evidence

_BESIDE = frozenset({"also", "plan", "exception", "past", "measured"})


def reworded(seen: Evidence) -> Comparison:
    """What the evidence comes to."""
    against = _against(seen)
    if against:
        return Comparison(Verdict.DISTINCT, against, *seen.values)
    changes = bool(seen.cues & CHANGES)
    if _is_same(seen) and not changes:
        return Comparison(Verdict.DUPLICATE, "same_statement")
    if max(seen.subject, seen.its_subject) < (0.5 if seen.retires else 0.6):
        return Comparison(Verdict.DISTINCT, "other_subject", *_values(seen))
    if _ends_something_else(seen):
        return Comparison(Verdict.DISTINCT, "other_attribute", *_values(seen))
    strength = _strength(seen)
    if _closes(seen, strength, changes):
        return Comparison(Verdict.UPDATE, "value_changed" if seen.kind else "retired", *_values(seen))
    least = (
        PROPOSES_CHANGE
        if seen.cues & CHANGES - {"retired"} and max(seen.subject, seen.its_subject) >= 0.8
        else PROPOSES
    )
    if strength >= least and (changes or seen.kind or seen.retires or seen.flips):
        return Comparison(Verdict.UNSURE, "may_have_changed", *_values(seen))
    return Comparison(Verdict.DISTINCT, "other_attribute", *_values(seen))


def _closes(seen: Evidence, strength: float, changes: bool) -> bool:
    """Whether it is certain enough that subject and attribute are the same and that the value is another.

    What says much more than the new text is never closed by it: the rest may hold.
    """
    says_more = seen.old.weight > 2 * seen.new.weight + 4
    if says_more or _starts_elsewhere(seen) or not _is_about_the_same(seen):
        return False
    is_ended = seen.old.content <= seen.shared and seen.cues & ENDED and seen.its_subject >= 0.9
    if is_ended or (strength >= ANOTHER_VALUE and _is_another_value(seen)):
        return True
    if seen.kind in SPECIFIC and not seen.retires and seen.new.negations > seen.old.negations:
        return False
    if not (changes or seen.retires):
        least = 0.6 if seen.covered >= 0.85 else 0.9
        return (
            strength >= CLOSES_DENIED and min(seen.subject, seen.its_subject) >= least and seen.kind in TYPED
        )
    if max(seen.subject, seen.its_subject) < 0.8 or seen.subject + seen.its_subject < 0.8:
        return strength >= 5 and min(seen.subject, seen.its_subject) >= 0.6
    if seen.kind or seen.retires:
        return strength >= (CLOSES_DENIED if seen.kind == "name" and not seen.retires else CLOSES)
    return seen.flips and seen.covered >= 0.65 and strength >= CLOSES_DENIED


def _is_another_value(seen: Evidence) -> bool:
    """Whether both say a value of one kind of one subject, and the new text nothing else of its own."""
    if seen.kind not in TYPED | {"path"} or min(seen.subject, seen.its_subject) < 0.5 or seen.covered < 0.5:
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


ENDED = frozenset({"retired", "correction"})
CLOSES, CLOSES_DENIED, ANOTHER_VALUE = 3.0, 3.4, 2.3
PROPOSES, PROPOSES_CHANGE = 2.1, 2.0


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
    covered = weight(old, seen.shared) / max(old.weight, new.weight)
    others = len((old.content | new.content) - seen.shared)
    least = 0.65 if others <= _FEW else 0.78
    return others <= 2 * _FEW and covered >= least and min(seen.subject, seen.its_subject) >= 0.65


_FEW = 2
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


def _ends_something_else(seen: Evidence) -> bool:
    """Whether the new text denies something, and nothing of what the old one says."""
    denies = seen.new.negations > seen.old.negations
    return denies and seen.said == 0 and not seen.retires and seen.kind not in TYPED


def _starts_elsewhere(seen: Evidence) -> bool:
    """Whether the old text begins with a name that the new one does not say."""
    return any(
        seen.old.kinds.get(token.key) in SPECIFIC and token.key not in seen.new.content
        for token in seen.old.tokens[: min(seen.old.boundary, 3)]
    )


def _values(seen: Evidence) -> tuple[str, str]:
    return seen.values if seen.kind else (seen.retires, "")


def _against(seen: Evidence) -> str:
    """Why both may stand; "" if nothing says so."""
    old, new = seen.old, seen.new
    if seen.cues & _BESIDE or ("cause" in seen.cues and not seen.cues & CHANGES):
        return "stands_beside"
    if "condition" in old.cues & new.cues and seen.kind in SPECIFIC:
        return "other_condition"
    if conflict(old, new):
        return "other_qualifier"
    if _starts_elsewhere(seen) and not seen.cues & CHANGES:
        return "other_subject"
    return ""


def _strength(seen: Evidence) -> float:
    strength = _KINDS.get(seen.kind, 1.5 if seen.kind else 0.0)
    if seen.flips and seen.kind != "state" and seen.covered >= 0.55:
        strength += 1.5
    if seen.retires:
        strength += 1.5
    if seen.cues & CHANGES:
        strength += 1.7 if "correction" in seen.cues and seen.covered >= 0.6 else 1
    if not seen.retires and "retired" in seen.cues and seen.its_subject >= 0.8:
        strength += 0.5
    return strength + 2 * (seen.covered - 0.4) + (seen.subject - 0.5) + (seen.its_subject - 0.5)


TYPED = QUANTITIES | {"state", "clock", "day", "number"}
_KINDS = dict.fromkeys(TYPED, 2.0) | {"date": 1.5, "name": 0.9}
