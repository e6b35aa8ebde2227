"""Confidence: how much speaks for a memory, counted from who wrote it and from who agreed since.

It is never stored, and nothing that a writer says of itself raises it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model.record import Confidence, ConfidencePart, Marks
from m3_memory.kernel.caller import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from m3_memory.domains.memories.queries.ledger import Provenance, Voice
    from m3_memory.storage.database import Reader

OPERATOR_PRIOR = 0.9
AGENT_PRIOR = 0.7
"""What an agent of full trust starts with; one of less trust by so much less."""

UNKNOWN_PRIOR = 0.4
_LABELS = (
    ("source", "it names a source of its own", -0.05),
    ("model_id", "a model is named as its author", -0.05),
    ("variant", "it belongs to an experiment", -0.1),
)
AGREEMENT, MOST_AGREEMENT = 0.05, 0.2
DOUBT, MOST_DOUBT = -0.1, -0.3
_USUAL = {"source": ("", "agent")}


def explained(reader: Reader, memory_ids: Sequence[str]) -> dict[str, Confidence]:
    """The confidence in what each memory says by its last version, part by part; two questions for all.

    An agreement counts if it came from another agent and another conversation than the statement; each agent
    counts once, with its trust then. So does each agent that spoke against it. What was said of an earlier
    text does not count.
    """
    voices = queries.voices(reader, memory_ids)
    return {
        each.memory_id: _confidence(
            [
                _prior(each),
                *(
                    ConfidencePart(what, amount)
                    for name, what, amount in _LABELS
                    if getattr(each, name) not in _USUAL.get(name, ("",))
                ),
                *_heard(each, voices.get(each.memory_id, ())),
            ]
        )
        for each in queries.provenance(reader, memory_ids)
    }


def disputes(reader: Reader, memory_ids: Sequence[str]) -> dict[str, list[str]]:
    """For each of these memories that is in an open conflict: the other sides."""
    return queries.open_conflicts(reader, memory_ids)


def marks_of(reader: Reader, memory_ids: Sequence[str]) -> dict[str, Marks]:
    """What is said of each memory today besides what it says; three questions for all."""
    others, known = queries.open_conflicts(reader, memory_ids), explained(reader, memory_ids)
    return {id_: Marks(others.get(id_, []), known.get(id_)) for id_ in memory_ids}


def _confidence(parts: list[ConfidencePart]) -> Confidence:
    return Confidence(round(min(1.0, max(0.0, sum(part.amount for part in parts))), 3), parts)


def _prior(of: Provenance) -> ConfidencePart:
    if of.agent_id == OPERATOR:
        return ConfidencePart("a person wrote it", OPERATOR_PRIOR)
    if of.trust is None:
        return ConfidencePart("its writer is unknown", UNKNOWN_PRIOR)
    weight = "" if of.trust == 1.0 else f", whose trust is {of.trust:g}"
    return ConfidencePart(f"agent {of.agent_id} wrote it{weight}", round(AGENT_PRIOR * of.trust, 3))


def _heard(of: Provenance, voices: Sequence[Voice]) -> list[ConfidencePart]:
    agreeing = {
        voice.agent_id: voice.trust
        for voice in sorted(voices, key=lambda voice: voice.trust)
        if voice.agrees and voice.agent_id != of.agent_id and voice.conversation_id != of.written_in
    }
    doubting = {voice.agent_id for voice in voices if not voice.agrees}
    gained = min(MOST_AGREEMENT, sum(AGREEMENT * trust for trust in agreeing.values()))
    lost = max(MOST_DOUBT, DOUBT * len(doubting))
    told = ((len(agreeing), "agreed", gained), (len(doubting), "found it misleading", lost))
    return [
        ConfidencePart(f"{count} {'agent' if count == 1 else 'agents'} {what}", round(amount, 3))
        for count, what, amount in told
        if count
    ]
