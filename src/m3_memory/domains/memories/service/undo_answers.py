"""What an undo answers: what was taken back, what stays, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from m3_memory.domains.memories import queries
from m3_memory.domains.memories.model import State
from m3_memory.domains.memories.service.undoing import last_belief, turned, turns

if TYPE_CHECKING:
    from m3_memory.domains.memories.service.undo_plan import Kept, Plan
    from m3_memory.domains.memories.service.undoing import Turn
    from m3_memory.storage.database import Reader

SHOWN = 100
"""So many memories and obstacles an answer names; it counts all."""

SHOWN_CHARACTERS = 80
"""How much of a memory's text stands in a list."""

_STATE_FIELDS = frozenset(State.__dataclass_fields__)


@dataclass(frozen=True)
class UndoneMemory:
    """What becomes of one memory. `effect`: withdrawn, restored, reverted (to what it said before), or
    unchanged where only edges of it are closed or reopened.
    """

    id: str
    effect: str
    events: list[int]
    text: str


@dataclass(frozen=True)
class KeptChange:
    """A change that stays, and what is in its way: an event, or a memory that says the same."""

    event: int
    kind: str
    memory_id: str
    agent_id: str
    why: str
    by_event: int | None = None
    by_kind: str | None = None
    by_agent_id: str | None = None
    by_memory_id: str | None = None


@dataclass(frozen=True)
class UndoResult:
    """The answer to an undo: what was, or in a preview would be, taken back, and what stays."""

    status: str
    withdrawn: int
    restored: int
    reverted: int
    edges_closed: int
    edges_reopened: int
    already_undone: int
    kept_total: int
    memories: list[UndoneMemory]
    kept: list[KeptChange] = field(default_factory=list[KeptChange])
    operation_id: str | None = None
    warnings: list[str] = field(default_factory=list[str])

    def headline(self) -> str:
        counted = ((self.withdrawn, "withdrawn"), (self.restored, "restored"), (self.reverted, "reverted"))
        edges = ((self.edges_closed, "edges closed"), (self.edges_reopened, "edges reopened"))
        told = ", ".join(f"{count} {what}" for count, what in (*counted, *edges) if count) or "nothing"
        kept = f"; {self.kept_total} kept" if self.kept_total else ""
        return f"{'Would undo' if self.status == 'preview' else 'Undone'}: {told}{kept}"


def told(reader: Reader, planned: Plan, status: str, operation_id: str = "") -> UndoResult:
    """The answer to an undo of this plan; read before it is carried out."""
    changing = turns(planned)
    effects = [_effect(planned, turn.memory_id) for turn in changing]
    edges = [thing for thing in planned.stages if not isinstance(thing, str)]
    blocked = planned.blocked
    return UndoResult(
        status=status,
        withdrawn=effects.count("withdrawn"),
        restored=effects.count("restored"),
        reverted=effects.count("reverted"),
        edges_closed=sum(planned.past.open_row(edge) is not None for edge in edges),
        edges_reopened=sum(planned.stages[edge].row is not None for edge in edges),
        already_undone=len(planned.kept) - len(blocked),
        kept_total=len(blocked),
        memories=[_undone(reader, planned, turn) for turn in changing[:SHOWN]],
        kept=[_kept(kept) for kept in blocked[:SHOWN]],
        operation_id=operation_id or None,
        warnings=_warnings(planned, len(changing)),
    )


def _effect(planned: Plan, memory_id: str) -> str:
    now, then = turned(planned, memory_id)
    if now and then:
        return "reverted"
    return "withdrawn" if now else "restored" if then else "unchanged"


def _undone(reader: Reader, planned: Plan, turn: Turn) -> UndoneMemory:
    return UndoneMemory(
        turn.memory_id,
        _effect(planned, turn.memory_id),
        [act.sequence for act in turn.undone],
        _text(reader, planned, turn.memory_id),
    )


def _text(reader: Reader, planned: Plan, memory_id: str) -> str:
    """What the memory says once it is done, or said last, in one short line."""
    now, then = turned(planned, memory_id)
    belief = then or now or last_belief(planned, memory_id)
    if belief.trust_state == "rejected":
        return ""
    version = queries.version_of(reader, belief.item)
    line = " ".join((version.title or version.content).split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"


def _kept(kept: Kept) -> KeptChange:
    act, obstacle, by = kept.act, kept.obstacle, kept.obstacle.act
    return KeptChange(
        act.sequence,
        act.kind,
        act.memory_id,
        act.agent_id,
        obstacle.why,
        by.sequence if by else None,
        by.kind if by else None,
        by.agent_id if by else None,
        obstacle.memory_id or None,
    )


def _warnings(planned: Plan, changed: int) -> list[str]:
    found: list[str] = []
    left = len(planned.left) + sum(bool(_STATE_FIELDS & {*act.reason.split(",")}) for act in planned.undone)
    if left:
        found.append(f"{left} changes of importance, pin or refresh stay: those keep no past")
    for count, what in ((changed, "memories"), (len(planned.blocked), "kept changes")):
        if count > SHOWN:
            found.append(f"the first {SHOWN} of {count:,} {what} are listed")
    return found
