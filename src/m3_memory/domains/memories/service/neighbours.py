"""The check of every new statement against what stands, and what its own batch adds to that."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import Standing
from m3_memory.domains.memories.queries.tombstones import Tombstone
from m3_memory.domains.memories.service import tombstones
from m3_memory.domains.memories.service.nearness import near_now, near_within
from m3_memory.domains.memories.service.succession import current_successors, every_successor
from m3_memory.errors import SupersededValue
from m3_memory.kernel.clock import FOREVER, plus
from m3_memory.kernel.contradiction import EXEMPT_TYPES, Comparison, Statement, Verdict, compare, decide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from m3_memory.domains.memories.model import Draft
    from m3_memory.domains.memories.service.operations import Operation
    from m3_memory.kernel.caller import Caller
    from m3_memory.storage.database import Reader

SHOWN_CHARACTERS = 2_000
"""How much of a memory an answer shows."""

RETURN_SECONDS = 7 * 24 * 60 * 60
"""A value that comes back so soon after it was superseded may come from another branch of the work."""

_ANY = "fact"
"""A rejected value is one in every type: its paraphrase is looked for as if all were of this one."""

_Place: TypeAlias = "tuple[int, str, str, str]"
"""Audience, variant, type, and the hash of what is said."""

Found: TypeAlias = "tuple[Standing, Comparison]"
"""A memory that stands, and what the new statement is to it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft as the decision sees it: where it would stand, and as which memory ("" for one to come).

    `now` is since when it holds if its writer named no start. `replaced` is the memory whose place its writer
    gives it: with that it is not compared. `stands` is one whose memory stands already; `beside` are memories
    that the same call changes: a machine ends none of them by it.
    """

    draft: Draft
    memory_id: str
    audience: int
    now: str = ""
    replaced: str = ""
    stands: bool = False
    beside: frozenset[str] = frozenset()

    @property
    def valid_from(self) -> str:
        return self.draft.valid_from or self.now

    def settled(self, finding: Finding) -> Proposal:
        """As it is stored: until a newer one begins, as candidate where a person has to agree."""
        trust_state = "candidate" if finding.protected else self.draft.trust_state
        settled = replace(self, draft=replace(self.draft, trust_state=trust_state))
        return settled.until(finding.before.statement.valid_from) if finding.before else settled

    def until(self, end: str) -> Proposal:
        """The same, holding no longer than until then."""
        return replace(self, draft=replace(self.draft, valid_to=min(self.draft.valid_to, end)))

    @property
    def statement(self) -> Statement:
        draft = self.draft
        return Statement(
            *(self.memory_id, draft.type, draft.normal_hash, self.valid_from, draft.valid_to),
            *(draft.title, draft.content),
        )

    @property
    def standing(self) -> Standing:
        draft = self.draft
        return Standing(
            self.audience, draft.variant, draft.trust_state, self.statement, draft.pinned, self.now
        )

    def place(self, digest: str) -> _Place:
        return self.audience, self.draft.variant, self.draft.type, digest


@dataclass(frozen=True, slots=True)
class Finding:
    """What a new statement is to what stands.

    `ends` are memories whose place it takes, or `protected` ones where only a person may end some of them;
    `unsure` those it may contradict; `before` is a newer one at whose beginning it ends, `elsewhere` what
    another audience of the caller holds, or its own as another type.
    """

    repeats: str = ""
    ends: tuple[Found, ...] = ()
    protected: tuple[Found, ...] = ()
    unsure: tuple[Found, ...] = ()
    before: Standing | None = None
    elsewhere: tuple[Found, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What stands near the proposals of one batch, read by a few questions for all of them."""

    reader: Reader
    caller: Caller
    standing: dict[_Place, list[Standing]]
    superseded: dict[_Place, list[str]]
    buried: dict[tuple[int, str], Tombstone]
    near: dict[str, list[Standing]]
    """By a proposal's memory: what is near it in meaning."""
    earlier: dict[str, list[str]]
    """By a proposal's memory: those of the batch, ahead of it, that are near it."""
    added: dict[str, Standing] = field(default_factory=dict[str, Standing])
    ended: dict[str, str] = field(default_factory=dict[str, str])
    """Memories that the batch ends, and when."""

    def add(self, proposal: Proposal, finding: Finding = Finding()) -> None:
        """From now on the batch's later proposals are compared with this one too."""
        self.added[proposal.memory_id] = proposal.standing
        self.standing[proposal.place(proposal.draft.normal_hash)].append(proposal.standing)
        self.ended.update({old.statement.memory_id: proposal.valid_from for old, _ in finding.ends})

    def repeated_by(self, proposal: Proposal) -> str:
        """The id of the memory, other than the proposal's own, that says it word for word; "" if none does.

        A candidate counts for candidates only: what nobody sees by default answers no direct write. For what
        replaces a memory only one counts that holds as long as it would.
        """
        return decide(proposal.statement, [o.statement for o in self._same(proposal)]).duplicate_of

    def check(self, op: Operation, proposal: Proposal) -> Finding:
        """The check every statement passes before it is stored.

        Raises Tombstoned for what a person rejected, in other words too, with an event of the attempt;
        SupersededValue for what was superseded, unless the draft reasserts it.
        """
        near = self._near(proposal)
        self._refuse_buried(op, proposal, near)
        compared = {
            o.statement.memory_id: o for o in (*self._same(proposal), *self._comparable(proposal, near))
        }
        new = proposal.statement
        decision = decide(new, [o.statement for o in compared.values()], self.reader.now)
        if decision.duplicate_of and self._is_enough(proposal, compared[decision.duplicate_of]):
            return Finding(decision.duplicate_of)
        self._refuse_superseded(proposal)
        updates = [(compared[memory_id], why) for memory_id, why in decision.updates]
        unsure = [(compared[memory_id], why) for memory_id, why in decision.unsure]
        ends, doubted = self._told_apart(op, proposal, updates)
        before = self._bound(proposal, near, compared.get(decision.bounded_by))
        if before and proposal.stands:
            why = compare(before.statement, new)
            if doubt := _doubt(op, why, pinned=proposal.draft.pinned):
                doubted.append((before, doubt))
                before = None
        waits = any(needs_person(op.caller, proposal.draft, old.trust_state) for old, _ in ends)
        return Finding(
            ends=() if waits else tuple(ends),
            protected=tuple(ends) if waits else (),
            unsure=(*unsure, *doubted),
            before=before,
            elsewhere=tuple(self._elsewhere(proposal, near)),
        )

    def _near(self, proposal: Proposal) -> list[Standing]:
        own = {proposal.memory_id, proposal.replaced}
        earlier = (self.added.get(other) for other in self.earlier.get(proposal.memory_id, ()))
        near = [*self.near.get(proposal.memory_id, ()), *(other for other in earlier if other)]
        return [other for other in near if other.statement.memory_id not in own]

    def _same(self, proposal: Proposal) -> list[Standing]:
        """What says the same word for word, as far as this proposal is compared with it."""
        said = self.standing.get(proposal.place(proposal.draft.normal_hash), ())
        return [other for other in self._comparable(proposal, said) if self._is_enough(proposal, other)]

    def _bound(self, proposal: Proposal, near: Sequence[Standing], bound: Standing | None) -> Standing | None:
        """The first that begins later and contradicts it, planned or past ones too."""
        new = proposal.statement
        later = {
            other.statement.memory_id: other
            for other in self._in_place(proposal, near)
            if other.statement.valid_from > new.valid_from and other.statement.normal_hash != new.normal_hash
        }
        first = later.get(
            decide(new, [other.statement for other in later.values()], self.reader.now).bounded_by
        )
        found = [one for one in (bound, first) if one]
        return min(found, key=lambda one: one.statement.valid_from, default=None)

    def _comparable(self, proposal: Proposal, others: Iterable[Standing]) -> Iterator[Standing]:
        """Those in the proposal's place that hold when it begins, or now, as the batch leaves them."""
        moments = proposal.valid_from, self.reader.now
        return (o for o in self._in_place(proposal, others) if o.statement.holds_at(*moments))

    def _in_place(self, proposal: Proposal, others: Iterable[Standing]) -> Iterator[Standing]:
        """Those in the proposal's place, as the batch leaves them."""
        draft = proposal.draft
        for one in others:
            other = self._as_left(one)
            said = other.statement
            if (other.audience, other.variant, said.type) != (proposal.audience, draft.variant, draft.type):
                continue
            if other.trust_state == "rejected" or (other.is_candidate and draft.trust_state != "candidate"):
                continue
            if said.memory_id in {proposal.memory_id, proposal.replaced} - {""}:
                continue
            yield other

    def _as_left(self, other: Standing) -> Standing:
        """A memory as the batch leaves it so far."""
        said = other.statement
        end = self.ended.get(said.memory_id, said.valid_to)
        return replace(other, statement=replace(said, valid_to=end)) if end < said.valid_to else other

    @staticmethod
    def _is_enough(proposal: Proposal, other: Standing) -> bool:
        """Whether a memory that says the same can stand for the proposal: as long, if that replaces one."""
        new, said = proposal.statement, other.statement
        return not proposal.replaced or (said.valid_from <= new.valid_from and new.valid_to <= said.valid_to)

    def _refuse_buried(self, op: Operation, proposal: Proposal, near: Sequence[Standing]) -> None:
        key = proposal.audience, proposal.draft.normal_hash
        buried = self.buried.get(key)
        if buried is None:
            rejected = {o.statement.memory_id: o for o in near if o.trust_state == "rejected"}
            untitled = [replace(o.statement, title="", type=_ANY) for o in rejected.values()]
            said = decide(replace(proposal.statement, title="", type=_ANY), untitled).duplicate_of
            if not said:
                return
            own = rejected[said].audience, rejected[said].statement.normal_hash
            (buried,) = tombstones.tombstoned(self.reader, [own])
            if not buried:  # it was lifted
                return
        raise tombstones.refused(op, [buried])[0]

    def _told_apart(
        self, op: Operation, proposal: Proposal, updates: Sequence[Found]
    ) -> tuple[list[Found], list[Found]]:
        """Of the memories it would end those that it does end, and those that are for a person to decide."""
        returned = self._returned(proposal, [old.statement.memory_id for old, _ in updates])
        ends: list[Found] = []
        unsure: list[Found] = []
        for old, why in updates:
            if old.statement.memory_id in returned:
                unsure.append((old, why.unsure("value_returned")))
            elif old.statement.memory_id in proposal.beside:
                unsure.append((old, why.unsure("same_time")))
            elif doubt := _doubt(op, why, pinned=old.pinned):
                unsure.append((old, doubt))
            else:
                ends.append((old, why))
        return ends, unsure

    def _returned(self, proposal: Proposal, memory_ids: Sequence[str]) -> set[str]:
        """Those of the memories that took the place, lately, of one that said what is proposed."""
        if not memory_ids or proposal.draft.reassert:
            return set()
        since = plus(self.reader.now, -RETURN_SECONDS)
        new = proposal.statement
        return {
            successor
            for successor, before in queries.said_before(self.reader, memory_ids, since)
            if compare(before, new).verdict is Verdict.DUPLICATE
        }

    def _elsewhere(self, proposal: Proposal, near: Iterable[Standing]) -> Iterator[Found]:
        """What is said about the same in other audiences of the caller, or as another type."""
        new = proposal.statement
        for other in near:
            is_same = (other.audience, other.statement.type) == (proposal.audience, new.type)
            if is_same or other.trust_state in ("rejected", "candidate"):
                continue
            why = compare(other.statement, new)
            if why.verdict is not Verdict.DISTINCT and other.statement.holds_at(
                new.valid_from, self.reader.now
            ):
                yield other, why

    def _refuse_superseded(self, proposal: Proposal) -> None:
        """Raises SupersededValue for a value that a current memory took the place of.

        Not where that memory, or the value's own, is the proposal's or the one it replaces.
        """
        draft, own = proposal.draft, {proposal.memory_id, proposal.replaced}
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
                    f" the current one is {current.memory_id}: {shown_text(current.content)}",
                    "if it holds again, memory_write it with reassert=true or with the valid_from it holds"
                    " from",
                )


def neighbours(reader: Reader, caller: Caller, proposals: Iterable[Proposal]) -> Neighbours:
    """What is compared with these proposals. Records of events are compared with nothing."""
    every = [*proposals]
    keys = list(dict.fromkeys((p.audience, p.draft.normal_hash) for p in every))
    buried = zip(keys, tombstones.tombstoned(reader, keys, caller), strict=True)
    stones = {key: stone for key, stone in buried if stone}
    standing, superseded = defaultdict[_Place, list[Standing]](list), defaultdict[_Place, list[str]](list)
    found = Neighbours(reader, caller, standing, superseded, stones, {}, {})
    _add_near(found, every)
    compared = [proposal for proposal in every if proposal.draft.type not in EXEMPT_TYPES]
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


def _doubt(op: Operation, why: Comparison, *, pinned: bool) -> Comparison | None:
    """Why a machine leaves it to a person to end a memory that a newer one contradicts; None: it may."""
    return why.unsure("pinned") if pinned else why if op.contradiction == "propose" else None


def needs_person(caller: Caller, draft: Draft, trust_state: str) -> bool:
    """Whether a draft may end a memory of this trust state only by a person's word."""
    return draft.trust_state == "candidate" or (trust_state == "verified" and not caller.is_operator)


def shown_text(content: str) -> str:
    """A memory's text, as far as an answer has room for it."""
    if len(content) <= SHOWN_CHARACTERS:
        return content
    return f"{content[:SHOWN_CHARACTERS]}… (all {len(content):,} characters: memory_get)"


def _add_near(found: Neighbours, proposals: Sequence[Proposal]) -> None:
    """What is near each proposal in meaning: memories that stand, and earlier ones of the same batch."""
    drafts = near_now(found.reader, found.caller, [proposal.draft for proposal in proposals])
    items = sorted({item for draft in drafts for item in draft.near.items})
    standing: dict[int, Standing] = {}
    for part in queries.in_parts(items):
        standing |= queries.standing_at(found.reader, part)
    for place, (draft, others) in enumerate(zip(drafts, near_within(drafts), strict=True)):
        memory_id = proposals[place].memory_id
        near = [standing[item] for item in draft.near.items if item in standing]
        found.near[memory_id] = [*near, *_that_follow(found.reader, near)]
        found.earlier[memory_id] = [proposals[other].memory_id for other in sorted(others) if other < place]


def _that_follow(reader: Reader, near: Sequence[Standing]) -> list[Standing]:
    """What took, or is to take, the place of those of these that end."""
    known = {other.statement.memory_id for other in near}
    ending = [other.statement.memory_id for other in near if other.statement.valid_to < FOREVER]
    then = {new for old in ending for new in every_successor(reader, old)} - known
    items = [belief.item for belief in queries.open_beliefs_of(reader, sorted(then)).values()]
    return [*queries.standing_at(reader, sorted(items)).values()]
