"""What new statements are compared with: what stands, and what their own batch adds to it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Standing
from m3_memory.domains.memories.service.succession import current_successors
from m3_memory.errors import SupersededValue
from m3_memory.kernel.contradiction import EXEMPT_TYPES, Statement, Verdict, decide

if TYPE_CHECKING:
    from collections.abc import Iterable

    from m3_memory.domains.memories.model import Draft
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader

SHOWN_CHARACTERS = 2_000
"""How much of a memory an error shows."""

_Place: TypeAlias = "tuple[int, str, str, str]"
"""Audience, variant, type, and the hash of what is said."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft as the decision sees it: where it would stand, and as which memory ("" for one to come).

    `now` is since when it holds if its writer named no start.
    """

    draft: Draft
    memory_id: str
    audience: int
    now: str = ""

    @property
    def valid_from(self) -> str:
        return self.draft.valid_from or self.now

    @property
    def statement(self) -> Statement:
        draft = self.draft
        return Statement(self.memory_id, draft.type, draft.normal_hash, self.valid_from, draft.valid_to)

    def place(self, digest: str) -> _Place:
        return self.audience, self.draft.variant, self.draft.type, digest


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What stands near the proposals of one batch, read by two questions for all of them."""

    reader: Reader
    caller: Caller
    standing: dict[_Place, list[Standing]]
    superseded: dict[_Place, list[str]]

    def add(self, proposal: Proposal) -> None:
        """From now on the batch's later proposals are compared with this one too."""
        draft = proposal.draft
        found = Standing(
            proposal.audience, draft.variant, draft.trust_state == "candidate", proposal.statement
        )
        self.standing[proposal.place(draft.normal_hash)].append(found)

    def repeated_by(self, proposal: Proposal, *, for_all_of_it: bool = False) -> str:
        """The id of the memory, other than the proposal's own, that says what it says; "" if none does.

        A candidate counts for candidates only: what nobody sees by default answers no direct write. With
        `for_all_of_it` only a memory counts that holds as long as the draft would.
        """
        draft, new = proposal.draft, proposal.statement
        near = [
            other.statement
            for other in self.standing.get(proposal.place(draft.normal_hash), ())
            if (draft.trust_state == "candidate" or not other.is_candidate)
            and other.statement.holds_at(new.valid_from, self.reader.now)
        ]
        if for_all_of_it:
            near = [s for s in near if s.valid_from <= new.valid_from and new.valid_to <= s.valid_to]
        decision = decide(new, near)
        return decision.of if decision.verdict is Verdict.DUPLICATE else ""

    def check(self, proposal: Proposal) -> str:
        """The check every statement passes before it is stored: the id of the memory it repeats, or "".

        Raises SupersededValue unless the draft reasserts the value.
        """
        repeated = self.repeated_by(proposal)
        if not repeated:
            self.refuse_superseded(proposal)
        return repeated

    def refuse_superseded(self, proposal: Proposal, replaced: str = "") -> None:
        """Raises SupersededValue for a value that a current memory took the place of.

        Not where that memory, or the value's own, is the proposal's or the one `replaced` by it.
        """
        draft, own = proposal.draft, {proposal.memory_id, replaced}
        if draft.reassert or draft.type in EXEMPT_TYPES:
            return
        for old in self.superseded.get(proposal.place(draft.content_hash), ()):
            for successor in current_successors(self.reader, self.caller, old):
                current = queries.version_of(self.reader, successor.item)
                ends = bool(own & {old, successor.memory_id}) or current.content_hash == draft.content_hash
                if ends or (draft.names_start and draft.valid_from > successor.valid_from):
                    continue
                raise SupersededValue(
                    "this value was superseded;"
                    f" the current one is {current.memory_id}: {_shown(current.content)}",
                    "if it holds again, memory_write it with reassert=true or with the valid_from it holds"
                    " from",
                )


def neighbours(reader: Reader, caller: Caller, proposals: Iterable[Proposal]) -> Neighbours:
    """What is compared with these proposals. Records of events are compared with nothing."""
    compared = [proposal for proposal in proposals if proposal.draft.type not in EXEMPT_TYPES]
    found = Neighbours(reader, caller, defaultdict(list), defaultdict(list))
    if not compared:
        return found
    audiences = sorted({proposal.audience for proposal in compared})
    normal_hashes = sorted({proposal.draft.normal_hash for proposal in compared})
    for other in queries.standing_with(reader, audiences, normal_hashes):
        said = other.statement
        found.standing[other.audience, other.variant, said.type, said.normal_hash].append(other)
    content_hashes = sorted({p.draft.content_hash for p in compared if not p.draft.reassert})
    for audience, variant, type_, digest, old in queries.superseded_with(reader, audiences, content_hashes):
        found.superseded[audience, variant, type_, digest].append(old)
    return found


def _shown(content: str) -> str:
    if len(content) <= SHOWN_CHARACTERS:
        return content
    return f"{content[:SHOWN_CHARACTERS]}… (all {len(content):,} characters: memory_get)"
