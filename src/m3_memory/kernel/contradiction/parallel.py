"""Two texts written alike: what stands in the slots at which they differ decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.kernel.contradiction.evidence import CHANGES, ENDS, about_equal
from m3_memory.kernel.contradiction.reading import CONTENT, QUANTITIES, VALUES
from m3_memory.kernel.contradiction.verdict import Comparison, Verdict
from m3_memory.kernel.contradiction.words import MANY_VALUED, OPPOSED, PAST, SINGLE_VALUED

if TYPE_CHECKING:
    from m3_memory.kernel.contradiction.alignment import Alignment, Slot
    from m3_memory.kernel.contradiction.reading import Reading, Token

_MULTIPLE = frozenset({"also", "plan", "exception", "past", "measured"})


def parallel(old: Reading, new: Reading, alignment: Alignment) -> Comparison:
    """What one text is to another of the same build."""
    slots = [slot for slot in alignment.slots if _tells(slot, old.keys & new.keys)]
    if not slots:
        return _nothing_differs(old, new, alignment.slots)
    values = _said(slots[-1].old), _said(slots[-1].new)
    if (new.cues - old.cues) & _MULTIPLE or (old.cues - new.cues) & {"exception", "past"}:
        return Comparison(Verdict.DISTINCT, "stands_beside", *values)
    if any(slot.in_subject for slot in slots):
        if (
            len(slots) == 1
            and _kind(slots[0]) == "number"
            and not (conflict(old, new) or _numbers(old, slots[0]))
        ):
            return Comparison(Verdict.UNSURE, "number_in_subject", *values)
        return Comparison(Verdict.DISTINCT, "other_subject", *values)
    if len(slots) > 1:
        return _several(old, new, slots)
    return _one(old, new, slots[0], values)


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
    if any(_verb(slot.old) and _verb(slot.new) for slot in slots):
        return Comparison(Verdict.UNSURE, "verb_changed")
    if any(_counts(token) for slot in slots for token in (*slot.old, *slot.new)):
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
    if any(not slot.old or not slot.new for slot in slots) or conflict(old, new):
        return Comparison(Verdict.DISTINCT, "other_attribute", *values)
    if kinds & VALUES and not new.cues & CHANGES:
        return Comparison(Verdict.DISTINCT, "other_attribute", *values)
    return Comparison(Verdict.UNSURE, "several_differ", *values)


def _one(old: Reading, new: Reading, slot: Slot, values: tuple[str, str]) -> Comparison:
    kind = _kind(slot)
    if kind in ("negation", "state"):
        return Comparison(Verdict.UPDATE, "negated" if kind == "negation" else "state_changed", *values)
    if not any(map(_counts, slot.old)) or not any(map(_counts, slot.new)):
        says_less = any(map(_counts, slot.old))
        return Comparison(Verdict.UNSURE if says_less else Verdict.DISTINCT, "other_detail", *values)
    has_cue = bool((new.cues - old.cues) & CHANGES)
    if not has_cue and _verb_of(old) in PAST:
        return Comparison(Verdict.UNSURE, "other_event", *values)
    is_typed = kind in _CHANGING and (has_cue or _verb_of(old) not in MANY_VALUED)
    if is_typed or kind in QUANTITIES:
        return Comparison(Verdict.UPDATE, "value_changed", *values)
    return _words(old, new, slot, has_cue)


_CHANGING = frozenset({"number", "clock", "path", "date", "day"})


def _words(old: Reading, new: Reading, slot: Slot, has_cue: bool) -> Comparison:
    """What words in the place of others come to."""
    values = _said(slot.old), _said(slot.new)
    if conflict(old, new) or _elsewhere(old, slot):
        return Comparison(Verdict.DISTINCT, "other_qualifier", *values)
    if _verb_of(old) in MANY_VALUED and not (new.cues - old.cues) & ENDS:
        return Comparison(Verdict.DISTINCT, "stands_beside", *values)
    if not has_cue and (_narrows(old, slot) or _other_values(slot) or _participles(old, slot)):
        return Comparison(Verdict.DISTINCT, "other_attribute", *values)
    counts = _told(slot.old), _told(slot.new)
    if not has_cue and (max(counts) > _FEW or _verb(slot.old) or _verb(slot.new)):
        return Comparison(Verdict.DISTINCT, "other_attribute", *values)
    ends_so = slot.old[-1] == old.tokens[-1] and _is_said_to_be(old)
    if not (has_cue or _is_said_to_be(old) or _verb_of(old) in SINGLE_VALUED or _uses(old)):
        return Comparison(Verdict.DISTINCT, "stands_beside", *values)
    is_alike = counts[0] == counts[1] and (_follows_boundary(old, slot) or ends_so)
    if has_cue or (is_alike and not _uses(old) and not _one_is_a_value(slot) and not _describes(old, slot)):
        return Comparison(Verdict.UPDATE, "value_changed", *values)
    return Comparison(Verdict.UNSURE, "word_changed", *values)


_FEW = 2


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


def _verb_of(old: Reading) -> str:
    """The verb of a statement; with `is`, the participle that follows if one does."""
    verb = [token.text.lower() for token in old.tokens[old.boundary : old.boundary + 2]]
    is_passive = len(verb) > 1 and verb[0] in _COPULAS and verb[1].endswith(("ed", "en", "lt", "pt", "nt"))
    return verb[is_passive] if verb else ""


def _is_said_to_be(old: Reading) -> bool:
    return any(token.text.lower() in _COPULAS for token in old.tokens[old.boundary : old.boundary + 1])


_COPULAS = frozenset("is are was were be".split())


def _follows_boundary(old: Reading, slot: Slot) -> bool:
    """Whether nothing but small words stands between the verb and what differs."""
    start = old.tokens.index(slot.old[0])
    between = old.tokens[old.boundary + 1 : start]
    return not any(_counts(token) and token.text.lower() != _verb_of(old) for token in between)


def _narrows(old: Reading, slot: Slot) -> bool:
    """Whether the slot holds the verb, or says what for: then it tells of another attribute."""
    start = old.tokens.index(slot.old[0])
    return start <= old.boundary < start + len(slot.old) or old.tokens[start - 1].key in _PURPOSE


_PURPOSE = frozenset("for of per dure when if".split())


def _other_values(slot: Slot) -> bool:
    """Whether both sides hold values, of different kinds."""
    old, new = ({token.kind for token in side if token.kind in VALUES} for side in (slot.old, slot.new))
    return bool(old and new and old != new)


def _numbers(old: Reading, slot: Slot) -> bool:
    """Whether the number tells one of several apart, as in "door 17": it follows the word for them."""
    start = old.tokens.index(slot.old[0])
    return start > 0 and old.tokens[start - 1].kind in CONTENT and old.tokens[start - 1].kind not in VALUES


def _participles(old: Reading, slot: Slot) -> bool:
    """Whether both sides say what is done with the subject: of that several things hold side by side."""
    done = [side[0].text.lower().endswith("ed") for side in (slot.old, slot.new) if len(side) == 1]
    return _is_said_to_be(old) and done == [True, True]


def _one_is_a_value(slot: Slot) -> bool:
    """Whether one side holds a number or its like and the other words: they may tell of two attributes."""
    return len({any(token.kind in VALUES for token in side) for side in (slot.old, slot.new)}) > 1


def _describes(old: Reading, slot: Slot) -> bool:
    """Whether plain words say what the subject is like: of that several things hold side by side."""
    is_bare = old.tokens[old.tokens.index(slot.old[0]) - 1].text.lower() in _COPULAS
    return is_bare and all(token.text.islower() for token in (*slot.old, *slot.new))


def _uses(old: Reading) -> bool:
    """Whether the statement is that something is used: it may be one of several."""
    return _verb_of(old) in ("use", "uses")


def _said(tokens: tuple[Token, ...]) -> str:
    return " ".join(token.text for token in tokens)
