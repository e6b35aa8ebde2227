"""Two texts written alike: what stands in the slots at which they differ decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.kernel.contradiction.cues import BESIDE, CHANGES, ENDS
from m3_memory.kernel.contradiction.evidence import about_equal
from m3_memory.kernel.contradiction.reading import CONTENT, QUANTITIES, VALUES
from m3_memory.kernel.contradiction.verdict import Comparison, Verdict
from m3_memory.kernel.contradiction.words import MANY_VALUED, OPPOSED, PAST, SINGLE_VALUED

if TYPE_CHECKING:
    from m3_memory.kernel.contradiction.alignment import Alignment, Slot
    from m3_memory.kernel.contradiction.reading import Reading, Token


def parallel(old: Reading, new: Reading, alignment: Alignment) -> Comparison:
    """What one text is to another of the same build."""
    slots = [slot for slot in alignment.slots if _tells(slot, old.keys & new.keys)]
    if not slots:
        return _nothing_differs(old, new, alignment.slots)
    values = _said(slots[-1].old), _said(slots[-1].new)
    if (new.cues - old.cues) & BESIDE or (old.cues - new.cues) & {"exception", "past"}:
        return Comparison(Verdict.DISTINCT, "stands_beside", *values)
    if any(slot.in_subject for slot in slots):
        return _other_subject(old, new, slots, values)
    if len(slots) > 1:
        return _several(old, new, slots)
    return _one(old, new, slots[0], values)


def _other_subject(old: Reading, new: Reading, slots: list[Slot], values: tuple[str, str]) -> Comparison:
    """Another subject, but for a number that counts its things: `two approvals are needed`."""
    counts = [_kind(slot) for slot in slots] == ["number"] and not _numbers(old, slots[0])
    if counts and not conflict(old, new):
        return Comparison(Verdict.UNSURE, "number_in_subject", *values)
    return Comparison(Verdict.DISTINCT, "other_subject", *values)


def _tells(slot: Slot, shared: frozenset[str]) -> bool:
    """Whether a slot says different things; function words, cues and words that only moved say none."""
    if len(slot.old) == len(slot.new) == 1 and slot.old[0].kind == slot.new[0].kind:
        kind = slot.old[0].kind
        if kind in QUANTITIES and about_equal(kind, slot.old[0].key, slot.new[0].key):
            return False
    return any(_counts(token) and token.key not in shared for token in (*slot.old, *slot.new))


def _counts(token: Token) -> bool:
    return token.kind in CONTENT or token.kind == "negation" or token.key in OPPOSED


def _nothing_differs(old: Reading, new: Reading, slots: tuple[Slot, ...]) -> Comparison:
    if old.cues - new.cues - CHANGES or new.cues - old.cues - CHANGES:
        return Comparison(Verdict.DISTINCT, "other_tense")
    differing = [token for slot in slots for token in (*slot.old, *slot.new)]
    if any(map(_counts, differing)) or any(_verb(slot.old) and _verb(slot.new) for slot in slots):
        return Comparison(Verdict.DISTINCT, "other_order")
    return Comparison(Verdict.DUPLICATE, "same_statement")


def _several(old: Reading, new: Reading, slots: list[Slot]) -> Comparison:
    values = _said(slots[0].old), _said(slots[0].new)
    kinds = {_kind(slot) for slot in slots}
    if kinds <= (VALUES - {"date", "day", "path", "code"}) | {"negation", "state"}:
        is_told = bool((new.cues - old.cues) & CHANGES)
        return Comparison(Verdict.UPDATE if is_told else Verdict.UNSURE, "values_changed", *values)
    if "state" in kinds and all(_kind(slot) == "state" or not slot.old for slot in slots):
        return Comparison(Verdict.UNSURE, "state_changed", *values)
    return Comparison(Verdict.DISTINCT, "other_attribute", *values)


def _one(old: Reading, new: Reading, slot: Slot, values: tuple[str, str]) -> Comparison:
    kind = _kind(slot)
    if kind in ("negation", "state"):
        return Comparison(Verdict.UPDATE, "negated" if kind == "negation" else "state_changed", *values)
    if not any(map(_counts, slot.old)) or not any(map(_counts, slot.new)):
        return Comparison(Verdict.DISTINCT, "other_detail", *values)
    has_cue = bool((new.cues - old.cues) & CHANGES)
    if not has_cue and old.verb in PAST:
        return Comparison(Verdict.UNSURE, "other_event", *values)
    is_typed = kind in _CHANGING and (has_cue or old.verb not in MANY_VALUED)
    if is_typed or kind in QUANTITIES:
        return Comparison(Verdict.UPDATE, "value_changed", *values)
    return _words(old, new, slot, has_cue)


_CHANGING = frozenset({"number", "clock", "path", "date", "day"})


def _words(old: Reading, new: Reading, slot: Slot, has_cue: bool) -> Comparison:
    """What words in the place of others come to."""
    values = _said(slot.old), _said(slot.new)
    if conflict(old, new) or _elsewhere(old, slot):
        return Comparison(Verdict.DISTINCT, "other_qualifier", *values)
    if old.verb in MANY_VALUED and not (new.cues - old.cues) & ENDS:
        return Comparison(Verdict.DISTINCT, "stands_beside", *values)
    if has_cue:
        holds_verb = old.tokens.index(slot.old[0]) <= old.boundary and "retired" not in new.cues
        return Comparison(Verdict.UNSURE if holds_verb else Verdict.UPDATE, "value_changed", *values)
    if not _is_object(old, slot):
        return Comparison(Verdict.DISTINCT, "other_attribute", *values)
    if _is_only_object(old, slot):
        return Comparison(Verdict.UPDATE, "value_changed", *values)
    return Comparison(Verdict.UNSURE, "word_changed", *values)


def _is_object(old: Reading, slot: Slot) -> bool:
    """Whether both sides hold a word or two of which the subject may have one at a time: not the verb, no
    purpose, no value beside a word, no two things that are done with it.
    """
    start, sides = old.tokens.index(slot.old[0]), (slot.old, slot.new)
    kinds = [frozenset(token.kind for token in side if token.kind in VALUES) for side in sides]
    if (
        start <= old.boundary
        or old.tokens[start - 1].key in _PURPOSE
        or (all(kinds) and kinds[0] != kinds[1])
    ):
        return False
    if any(_verb(side) or _told(side) > _FEW for side in sides):
        return False
    if old.is_said_to_be:
        return not all(len(side) == 1 and side[0].text.endswith("ed") for side in sides)
    return old.verb in SINGLE_VALUED | _USES


_FEW = 2
_PURPOSE = frozenset("for of per dure when if".split())
_USES = frozenset({"use", "uses"})


def _is_only_object(old: Reading, slot: Slot) -> bool:
    """Whether it stands next to the verb, or ends what the subject is said to be; what plain words say the
    subject is like, and what it uses, may hold beside others.
    """
    before = old.tokens[old.boundary + 1 : old.tokens.index(slot.old[0])]
    follows = not any(_counts(token) and token.text.lower() != old.verb for token in before)
    describes = before == () and old.is_said_to_be and all(t.text.islower() for t in (*slot.old, *slot.new))
    one_is_a_value = len({any(t.kind in VALUES for t in side) for side in (slot.old, slot.new)}) > 1
    is_placed = follows or (slot.old[-1] == old.tokens[-1] and old.is_said_to_be)
    is_alike = _told(slot.old) == _told(slot.new) and not one_is_a_value
    return is_placed and is_alike and not describes and old.verb not in _USES


def _told(tokens: tuple[Token, ...]) -> int:
    return sum(map(_counts, tokens))


def _verb(tokens: tuple[Token, ...]) -> bool:
    return any(token.kind == "light" for token in tokens)


def _kind(slot: Slot) -> str:
    """The kind of what differs: of both sides' first telling tokens if they agree; "word" otherwise."""
    first, second = ([t for t in side if _counts(t)] for side in (slot.old, slot.new))
    kinds = {token.kind for token in (*first, *second)}
    if kinds == {"negation"}:
        return "negation"
    if kinds == {"state"} and len({token.key.split(":")[0] for token in (*first, *second)}) > 1:
        return "word"
    if len(first) == len(second) == 1 and len(kinds) == 1:
        return first[0].kind
    return "word"


def conflict(old: Reading, new: Reading) -> bool:
    """Whether each text names a member of one group of qualifiers that the other does not."""
    return any(
        members - new.qualifiers[group] and new.qualifiers[group] - members
        for group, members in old.qualifiers.items()
        if group in new.qualifiers
    )


def _elsewhere(old: Reading, slot: Slot) -> bool:
    """Whether a value stands outside the slot: then the slot says where or whose."""
    inside = {token.key for token in slot.old}
    return any(t.kind in VALUES and t.key not in inside for t in old.tokens[old.boundary :])


def _numbers(old: Reading, slot: Slot) -> bool:
    """Whether the number tells one of several apart, as in "door 17": it follows the word for them."""
    start = old.tokens.index(slot.old[0])
    return start > 0 and old.tokens[start - 1].kind in CONTENT and old.tokens[start - 1].kind not in VALUES


def _said(tokens: tuple[Token, ...]) -> str:
    return " ".join(token.text for token in tokens)
